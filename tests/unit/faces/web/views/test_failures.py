"""Pages of errors."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from asgi.browsing import Pages
from commonplace.domain.errors import IndexingError, KnowledgeError, NotFoundError
from commonplace.faces.web import app
from commonplace.faces.web.views.failures import error_page, waiting_page


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    place = tmp_path_factory.mktemp("failures")
    (place / "base").mkdir()
    with Pages(place, place / "base") as served:
        yield served


def test_an_error_says_what_is_wrong_what_to_do_and_what_is_near(pages: Pages) -> None:
    error = NotFoundError("No <page>.", kind="document", hint="Look & see.", nearest=["a b", "<c>", 'd"', "e/f"])
    answer = error_page(pages.request(), error, 404, "/p/@two/")
    page = answer.body.decode()

    assert answer.status == 404
    assert "<p>No &lt;page&gt;.</p>" in page
    assert "Look &amp; see." in page
    assert '<a dir="auto" href="/p/@two/a%20b">a b</a>' in page
    assert '<a dir="auto" href="/p/@two/%3Cc%3E">&lt;c&gt;</a>' in page
    assert '<a dir="auto" href="/p/@two/d%22">d&#34;</a>' in page
    assert '<a dir="auto" href="/p/@two/e/f">e/f</a>' in page


@pytest.mark.parametrize(
    ("status", "heading"),
    [
        (404, "Not found"),
        (403, "Not allowed"),
        (400, "This did not work"),
        (500, "Something went wrong"),
        (503, "Something went wrong"),
    ],
)
def test_the_heading_says_of_what_kind_it_is(pages: Pages, status: int, heading: str) -> None:
    answer = error_page(pages.request(), KnowledgeError("x"), status)
    assert answer.status == status
    assert f"<h1>{heading}</h1>" in answer.body.decode()


@pytest.mark.parametrize("nearest", ["abc", "", 5, []])
def test_near_names_are_shown_only_if_they_are_names(pages: Pages, nearest: str | int | list[str]) -> None:
    error = NotFoundError("x", kind="document", nearest=nearest)
    assert "Near names" not in error_page(pages.request(), error, 404).body.decode()


@pytest.mark.parametrize(("done", "total", "shown"), [(0, 0, "being built. "), (1, 20_000, ": 1 of 20,000 files")])
def test_a_page_that_waits_loads_itself_again(pages: Pages, done: int, total: int, shown: str) -> None:
    answer = waiting_page(pages.request(), IndexingError("Wait.", done=done, total=total))

    assert answer.status == 503
    assert (answer.headers["refresh"], answer.headers["retry-after"]) == ("2", "2")
    assert answer.headers["cache-control"] == "no-store"
    assert shown in answer.body.decode()
    assert ("<progress" in answer.body.decode()) is (total > 0)


def _base(place: Path) -> Path:
    base = place / "base"
    for folder in ("guide", "secret", "node_modules"):
        (base / folder).mkdir(parents=True)
        (base / folder / "x.md").write_text("# Canary7\n")
    (base / ".commonplaceignore").write_text("/secret/\n")
    (base / "map.png").write_bytes(b"png")
    (base / "Home.md").write_text(
        "# Harbour\n\n[Ropes](guide/ropes.md#big%20ones), [[Crew]], ![](map.png) <script>1</script>\n"
    )
    (base / "guide/ropes.md").write_text("---\ntitle: Ropes\n---\nOf hemp, see [home](../Home.md).\n")
    return base


def test_before_the_first_index_files_tell_what_they_can_and_nothing_is_called_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "UNFINISHED_SECONDS", 0.01)
    base = _base(tmp_path)
    with Pages(tmp_path, base, synced=False) as served:
        home = served.get("/")
        assert (home.status, home.headers["cache-control"], home.headers["refresh"]) == (503, "no-store", "10")
        for part in (
            "is being built",
            "Harbour</h1>",
            'href="/p/guide/ropes#big-ones"',
            'href="/p/Crew"',
            'src="/files/map.png"',
        ):
            assert part in home.text, part
        assert "<script>1" not in home.text
        assert 'class="wanted' not in home.text
        page = served.get("/p/guide/ropes")
        assert ("Ropes</h1>" in page.text, "Of hemp" in page.text, 'href="/p/Home"' in page.text) == (True, True, True)
        top = served.get("/tree/").text
        assert ("guide/" in top, "secret" in top, "node_modules" in top) == (True, False, False)
        folder = served.get("/tree/guide/")
        assert (folder.headers["refresh"], 'href="/p/guide/ropes"' in folder.text) == ("2", True)
        for url in (
            "/p/Crew",
            "/p/../x",
            "/tree/nowhere/",
            "/tree/secret/",
            "/p/secret/x",
            "/p/node_modules/x",
            "/files/secret/x.md",
            "/tags",
            "/p/Home?at=2020-01-01",
            "/p/@other/x",
            "/history/Home",
        ):
            answer = served.get(url)
            assert answer.status == (404 if "@other" in url else 503), url
            assert "Canary7" not in answer.text, url
        assert (served.get("/raw/guide/ropes").status, "Of hemp" in served.get("/raw/guide/ropes").text) == (200, True)
        assert (served.get("/recent").status, served.get("/raw/secret/x").status) == (200, 503)
        assert served.get("/suggest?q=hemp").status == 200
        assert served.get("/files/map.png").body == b"png"
        search = served.get("/search?q=hemp")
        assert (search.status, "still being built" in search.text) == (200, True)
        served.application.sync()
        assert served.get("/").status == 200
        assert "<mark>hemp</mark>" in served.get("/search?q=hemp").text


def test_what_needs_the_whole_index_waits_for_it_a_short_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "UNFINISHED_SECONDS", 60.0)
    with Pages(tmp_path, _base(tmp_path), synced=False) as served, ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(served.get, path) for path in ("/wanted", "/graph", "/findings", "/tags")]
        served.application.sync()
        assert [answer.result().status for answer in asked] == [200] * 4
