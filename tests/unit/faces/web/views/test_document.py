"""The page of a document, its source, its preview, and what leads to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from asgi.browsing import Pages
from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.domain.revisions import revision_of
from commonplace.faces.web.shown import PART_BYTES
from commonplace.faces.web.views.document import (
    SHOWN_BACKLINKS,
    document,
    linked_from,
    mentions,
    preview,
    sections,
    source,
)
from commonplace.faces.web.views.files import file
from commonplace.faces.web.views.lists import tree
from support import GitRepo, new_repo

LATIN = b"# Caf\xe9\n\n" + b"\xe9" * 500 + b" the end"
FILES: dict[str, str | bytes] = {
    "plan.md": "---\naliases: [Roadmap]\n---\n# Plan\n\nFirst.\n\n## Next\n\nThen, as [[note]] says. ^then\n",
    "note.md": "# Note\n\nSee [[plan]] and [[nowhere]].\n",
    "talk.md": "# Talk\n\nThe Roadmap is long.\n",
    "latin.md": LATIN,
    "embeds.md": "# Embeds\n\n![[latin]]\n",
    "cjk.md": "x" + "潮" * 400,
    "gone.md": "# Gone\n\nIt was here.\n",
    "old name.md": "# Moved\n\nA text that moves as it is.\n",
    "notes/a.markdown": "# Dotted\n\nWith a longer suffix.\n",
    "notes/b.md": "# B\n",
    "hub.md": "# Hub\n",
    **{
        f"many/{n:03}.md": f"# Note {n:03}\n\nFirst. The [[hub]] of note {n:03}. Last.\n"
        for n in range(SHOWN_BACKLINKS * 5 + 1)
    },
    "huge.md": "# Huge\n\n" + "A line of a long page.\n\n" * 15_000 + "The last line.\n",
}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> GitRepo:
    made = new_repo(tmp_path_factory.mktemp("document") / "base", FILES)
    for path in ("gone.md", "notes/a.markdown"):
        made.git("rm", "--quiet", path)
    made.git("mv", "old name.md", "new.md")
    made.write("huge.md", "# Huge\n")
    made.write("latin.md", "# Now in UTF-8\n")
    made.commit("Remove and move")
    made.write("latin.md", LATIN)
    made.commit("Back")
    return made


@pytest.fixture(scope="module")
def pages(repo: GitRepo) -> Iterator[Pages]:
    with Pages(repo.path.parent, repo.path) as served:
        yield served


@pytest.mark.parametrize(
    ("path", "leads_to"),
    [
        ("plan.md", "/p/plan"),
        ("@base/plan", "/p/plan"),
        ("Roadmap", "/p/plan"),
        ("notes", "/tree/notes/"),
        ("", "/tree/"),
        ("old name", "/p/new"),
    ],
)
def test_another_name_of_a_page_leads_to_its_own_url(pages: Pages, path: str, leads_to: str) -> None:
    assert pages.location(document, path) == leads_to


def test_a_page_shows_its_text_what_links_to_it_and_its_last_commit(pages: Pages) -> None:
    page = pages.view(document, "plan")

    assert "<h1" in page
    assert 'href="/p/note"' in page.partition('class="backlinks"')[2]
    assert "Begin" in page
    assert 'href="/raw/plan"' in page


@pytest.mark.parametrize(
    ("path", "address"), [("gone", "gone.md"), ("gone.md", "gone.md"), ("notes/a.markdown", "notes/a.markdown")]
)
def test_a_page_that_was_removed_says_when_and_offers_its_last_version(
    pages: Pages, repo: GitRepo, path: str, address: str
) -> None:
    answer = document(pages.request(path))

    assert answer.status == 404
    text = answer.body.decode()
    assert "This page was removed" in text
    assert f"<code>{address}</code>" in text
    first = repo.git("rev-list", "--max-parents=0", "HEAD")
    assert f"?at={first}" in text
    assert "It no longer exists." in pages.view(document, path, at=first)


def test_the_old_name_of_a_page_that_was_moved_and_then_deleted_says_who_deleted_it(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", {"old.md": "# Moved\n\nThen deleted.\n", "b.md": "# B\n"})
    repo.git("mv", "old.md", "newer.md")
    repo.commit("Move it")
    repo.git("rm", "--quiet", "newer.md")
    repo.commit("Delete it")
    with Pages(tmp_path, repo.path) as pages:
        text = document(pages.request("old")).body.decode()
    assert "It was renamed to <code>newer.md</code>." in text
    assert ("Delete it" in text, "Move it" in text) == (True, False)
    assert "/history/newer" in text


@pytest.mark.parametrize("path", ["nowhere", "a/b/c", "..", "\0", "x" * 3_000, "潮"])
def test_a_page_that_never_was_is_missing_and_names_who_wants_it(pages: Pages, path: str) -> None:
    answer = document(pages.request(path))

    assert answer.status == 404
    text = answer.body.decode()
    assert "This page does not exist yet" in text
    assert ('href="/p/note"' in text) is (path == "nowhere")


def test_a_version_of_a_page_is_shown_to_its_end_whatever_its_encoding(pages: Pages, repo: GitRepo) -> None:
    first = repo.git("rev-list", "--max-parents=0", "HEAD")
    assert len(LATIN) < len(LATIN.decode("utf-8", "replace").encode())

    assert "the end" in pages.view(document, "latin", at=first)
    assert "the end" in pages.view(document, "latin")
    assert "the end" in pages.view(document, "embeds")


def test_a_large_version_is_shown_in_parts(pages: Pages, repo: GitRepo) -> None:
    first = repo.git("rev-list", "--max-parents=0", "HEAD")
    page = pages.view(document, "huge", at=first)
    count = -(-len(str(FILES["huge.md"])) // PART_BYTES)

    assert "The last line." not in page
    assert f"?at={first}&amp;part=2" in page
    assert "The last line." in pages.view(document, "huge", at=first, part=str(count))


@pytest.mark.parametrize("at", ["before HEAD~0", "today", "v1"])
def test_a_version_is_found_by_every_form_of_a_moment(pages: Pages, repo: GitRepo, at: str) -> None:
    repo.git("tag", "--force", "v1", repo.git("rev-list", "--max-parents=0", "HEAD"))
    moment = f"before {repo.git('rev-parse', 'HEAD')}" if at.startswith("before") else at
    text = pages.view(document, "latin", at=moment)
    assert "An earlier version" in text
    assert ("Now in UTF-8" in text) is at.startswith("before")


def test_another_name_keeps_the_moment_and_an_old_name_is_shown_as_it_was(pages: Pages, repo: GitRepo) -> None:
    first = repo.git("rev-list", "--max-parents=0", "HEAD")
    assert pages.location(document, "Roadmap", at=first) == f"/p/plan?at={first}"
    assert "A text that moves" in pages.view(document, "old name", at=first)


def test_a_page_that_is_gone_is_found_by_the_title_that_it_had(pages: Pages, repo: GitRepo) -> None:
    first = repo.git("rev-parse", "main~2")
    assert pages.location(document, "Dotted", at=first) == f"/p/notes/a.markdown?at={first}"
    assert document(pages.request("Dotted")).status == 404
    assert document(pages.request("Never", at=first)).status == 404
    assert document(pages.request("Dotted", at="nonsense")).status == 404


def test_the_search_box_of_a_version_keeps_its_moment(pages: Pages, repo: GitRepo) -> None:
    first = repo.git("rev-parse", "main~2")
    for path in ("plan", "gone"):
        assert f'<input type="hidden" name="at" value="{first}">' in pages.view(document, path, at=first)
    own = revision_of(LATIN)
    shown = pages.view(document, "latin", at=own)
    assert "An earlier version" in shown
    assert 'name="at"' not in shown, "the revision of one document is no moment of the others"
    assert 'name="at"' not in pages.view(document, "plan")


@pytest.mark.parametrize("at", ["nope", "--all", "0" * 40, "HEAD~99", "\0"])
def test_a_version_that_is_no_commit_is_not_found(pages: Pages, at: str) -> None:
    with pytest.raises((NotFoundError, InvalidInputError)):
        document(pages.request("plan", at=at))


def test_the_source_is_the_file_byte_for_byte(pages: Pages) -> None:
    answer = source(pages.request("latin"))

    assert (answer.body, answer.content_type) == (LATIN, "text/plain; charset=utf-8")
    with pytest.raises(NotFoundError) as caught:
        source(pages.request("plam"))
    assert "plan" in str(caught.value.context["nearest"])


@pytest.mark.parametrize(
    ("fragment", "shown", "left_out"),
    [("next", "Then", "First"), ("^then", "Then", "First"), ("no-such", "First", ""), ("^no", "First", "")],
)
def test_a_preview_shows_the_part_that_is_asked_for(pages: Pages, fragment: str, shown: str, left_out: str) -> None:
    page = pages.view(preview, "plan", fragment=fragment)

    assert shown in page
    assert not left_out or left_out not in page


def test_a_preview_ends_at_a_whole_character_and_shows_short_pages_whole(pages: Pages) -> None:
    assert "\ufffd" not in pages.view(preview, "cjk")
    assert "潮" * 299 in pages.view(preview, "cjk")
    assert "the end" not in pages.view(preview, "latin"), "its text has more bytes than a preview"
    assert "No text." not in pages.view(preview, "notes/b")


def test_every_page_that_links_here_is_listed_with_its_sentence_however_many_they_are(pages: Pages) -> None:
    first = pages.view(document, "hub")
    assert "The hub of note 000." in first
    assert "Note 050" not in first
    assert '<a href="/backlinks/hub?page=2">201 more</a>' in first

    second, last = pages.view(linked_from, "hub", page="2"), pages.view(linked_from, "hub", page="6")
    assert "The hub of note 050." in second
    assert "The hub of note 099." in second
    assert "Note 100" not in second
    assert "The hub of note 250." in last
    assert pages.location(linked_from, "hub", page="7") == "/backlinks/hub?page=6"
    assert "251 pages" in last


def test_pages_that_name_this_one_without_a_link_are_its_mentions(pages: Pages) -> None:
    page, part = pages.view(mentions, "plan"), pages.view(mentions, "plan", fragment="1")

    assert 'href="/p/talk"' in part
    assert 'href="/p/note"' not in part
    assert "<!doctype html>" in page
    assert "<!doctype html>" not in part


def test_each_section_names_who_changed_it_last(pages: Pages) -> None:
    part = pages.view(sections, "plan", fragment="1")
    assert 'href="/p/plan#next">Next</a>' in part
    assert "Test Writer" in part


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Pages, str]]:
    """A base whose first commit has pages, a folder and a picture that are gone or others now."""
    place = tmp_path_factory.mktemp("earlier")
    files: dict[str, str | bytes] = {
        "plan.md": "# Plan\n\n[[other]], [[gone]], [in](old/a.md), [[#Part|below]] ![](p.png)\n\n## Part\n",
        "other.md": "# Other\n",
        "gone.md": "# Gone\n",
        "old/a.md": "# A\n",
        "p.png": b"first",
    }
    repo = new_repo(place / "base", files)
    first = repo.git("rev-parse", "HEAD")
    repo.git("rm", "--quiet", "gone.md", "old/a.md")
    repo.commit("Now", **{"plan.md": "# Plan\n\n[[other]]\n", "p.png": "second", "new/b.md": "# B\n"})
    with Pages(place, repo.path) as served:
        yield served, first


def test_links_of_an_earlier_version_stay_at_its_moment(earlier: tuple[Pages, str]) -> None:
    pages, first = earlier
    shown = pages.view(document, "plan", at=first)
    for path in ("other", "gone", "old/a"):
        assert f'href="/p/{path}?at={first}"' in shown
    assert 'href="#part"' in shown
    assert f'src="/files/p.png?at={first}"' in shown
    assert f'href="/tree/?at={first}"' in shown, "the folders above it"
    assert '<a href="/p/plan">See it as it is now</a>' in shown
    assert "?at=" not in pages.view(document, "plan").partition("<main")[2]
    assert file(pages.request("p.png", at=first)).body == b"first"
    assert file(pages.request("p.png")).body == b"second"
    with pytest.raises(InvalidInputError):
        file(pages.request("p.png", at="nonsense"))


def test_a_folder_is_shown_as_it_was_and_leads_to_what_was_in_it(earlier: tuple[Pages, str]) -> None:
    pages, first = earlier
    then = pages.view(tree, "", at=first)
    assert "From the past" in then
    assert f'href="/tree/old/?at={first}"' in then
    assert "/tree/new/" not in then
    assert f'href="/p/gone?at={first}"' in then
    assert '<a href="/tree/">See it as it is now</a>' in then
    assert f"&amp;at={first}" in then.partition('<a href="/search')[2].partition('"')[0]
    assert f'href="/p/old/a?at={first}"' in pages.view(tree, "old", at=first)
    now = pages.view(tree, "")
    assert "From the past" not in now
    assert "/tree/new/" in now
    assert "/p/gone" not in now
    assert pages.location(document, "new", at="today") == "/tree/new/?at=today"
    with pytest.raises(NotFoundError):
        tree(pages.request("old"))
    with pytest.raises(InvalidInputError):
        tree(pages.request("", at="nonsense"))


@pytest.mark.parametrize(("count", "side"), [(3, "below"), (13, "before")])
def test_the_graph_of_a_page_names_every_neighbour(
    tmp_path_factory: pytest.TempPathFactory, count: int, side: str
) -> None:
    place = tmp_path_factory.mktemp("near")
    others = {f"n{number:02}.md": f"# 茶屋の名前がとても長い頁 {number:02}\n" for number in range(count)}
    links = " ".join(f"[[n{number:02}]]" for number in range(count))
    repo = new_repo(place / "base", {"hub.md": f"# Hub\n\n{links}\n", **others})
    with Pages(place, repo.path) as served:
        graph = served.view(document, "hub").partition('<svg class="local-graph"')[2].partition("</svg>")[0]
    assert graph.count("<text class=") == graph.count("<line ") == count
    assert f'<text class="{side}"' in graph
    assert ">茶屋の名前がとて…</text>" in graph, "nine wide letters have room"
