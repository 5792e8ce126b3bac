"""Files beside the documents: how a browser gets them, and the list of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from asgi.browsing import Pages
from commonplace.domain.errors import NotFoundError
from commonplace.faces.web.views.files import MAX_FILES, SANDBOX, attachments, file
from layers import write_cascade
from support import GitRepo, new_repo


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> GitRepo:
    return new_repo(
        tmp_path_factory.mktemp("files") / "base",
        {
            "a.md": "# A\n\n![[p.PNG]] and [x](<sub/page one.html>)\n",
            "p.PNG": b"\x89PNG",
            "draw.svg": "<svg><script>1</script></svg>",
            "paper.pdf": b"%PDF",
            "sub/page one.html": "<script>1</script>",
            "sub/b.md": "# B\n",
            "no-suffix": "x",
        },
    )


@pytest.fixture(scope="module")
def pages(repo: GitRepo) -> Iterator[Pages]:
    with Pages(repo.path.parent, repo.path) as served:
        yield served


@pytest.mark.parametrize(
    ("path", "kind", "policy", "disposition"),
    [
        ("p.PNG", "image/png", SANDBOX, None),
        ("draw.svg", "image/svg+xml", SANDBOX, None),
        ("paper.pdf", "application/pdf", None, None),
        ("sub/page one.html", "application/octet-stream", None, "attachment"),
        ("no-suffix", "application/octet-stream", None, "attachment"),
        ("a.md", "application/octet-stream", None, "attachment"),
    ],
)
def test_a_browser_shows_only_media_and_no_script_of_them_runs(
    pages: Pages, repo: GitRepo, path: str, kind: str, policy: str | None, disposition: str | None
) -> None:
    answer = file(pages.request(path))

    assert answer.body == (repo.path / path).read_bytes()
    assert answer.content_type == kind
    assert answer.headers.get("content-security-policy") == policy
    assert answer.headers.get("content-disposition") == disposition


@pytest.mark.parametrize("path", ["", "none.png", "../x", ".git/config", "sub", "\0", "@none/p.PNG", "x" * 2_000])
def test_what_is_no_file_of_the_folder_is_not_found(pages: Pages, path: str) -> None:
    with pytest.raises(NotFoundError):
        file(pages.request(path))


def test_the_list_names_each_file_with_the_pages_that_use_it(pages: Pages) -> None:
    rows = {
        row.partition('"')[0]: row.partition("</li>")[0]
        for row in pages.view(attachments).split('<li><a dir="auto" href="')[1:]
    }

    assert list(rows) == [
        "/files/draw.svg",
        "/files/no-suffix",
        "/files/p.PNG",
        "/files/paper.pdf",
        "/files/sub/page%20one.html",
    ]
    assert 'used by <a dir="auto" href="/p/a">a.md</a>' in rows["/files/p.PNG"]
    assert 'used by <a dir="auto" href="/p/a">a.md</a>' in rows["/files/sub/page%20one.html"]
    assert "no page uses it" in rows["/files/draw.svg"]


@pytest.mark.parametrize("count", [0, MAX_FILES, MAX_FILES + 1])
def test_the_list_says_that_it_is_cut_only_where_it_is(tmp_path_factory: pytest.TempPathFactory, count: int) -> None:
    place = tmp_path_factory.mktemp("many")
    folder = place / "base"
    folder.mkdir()
    for number in range(count):
        (folder / f"{number}.txt").touch()
    with Pages(place, folder) as served:
        page = served.view(attachments)

    assert page.count('<a dir="auto" href="/files/') == min(count, MAX_FILES)
    assert ("The first 500" in page) is (count > MAX_FILES)
    assert ("There are none." in page) is (count == 0)


def test_a_file_whose_text_is_withheld_is_given_only_for_its_layer(tmp_path_factory: pytest.TempPathFactory) -> None:
    place = tmp_path_factory.mktemp("withheld")
    layers = {
        "mine": (2, {"c.md": "# C\n\n## Phones {#phones override=none}\n"}),
        "team": (1, {"c.md": "# C\n\n## Phones\n\nsecret\n", "d.md": "# D\n"}),
    }
    with Pages(place, manifest=write_cascade(place, layers)) as served:
        assert served.location(file, "@team/c.md") == "/p/@team/c"
        assert b"secret" in file(served.request("@team/c.md", layer="team")).body
        assert file(served.request("@team/d.md")).body == b"# D\n"
