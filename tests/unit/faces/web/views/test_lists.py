"""Lists of documents by folder, tag, type and time."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from asgi.browsing import Pages
from commonplace.domain.errors import NotFoundError
from commonplace.domain.query import ListQuery
from commonplace.faces.web.exchange import View
from commonplace.faces.web.query_text import read_query
from commonplace.faces.web.views.lists import PAGE_SIZE, tags, timeline, tree, types
from commonplace.services.listing import list_documents

FILES: dict[str, str | bytes] = {
    "latin/README.md": b"# Caf\xe9\n\n" + b"\xe9" * 50 + b" the end",
    "my notes/a.md": "---\ntitle: A <b>\ntype: guide\ntags: [Tea/Green]\n---\n",
    "my notes/b.md": "---\ntype: Guide\ntags: [tea]\ndescription: On & off.\n---\n# B\n",
    "my notes/deep/c.md": "# C #x\n\n#straße\n",
    **{f"many/{number:03}.md": f"---\ntitle: Page {number:03}\ntags: [lots]\n---\n" for number in range(PAGE_SIZE + 1)},
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    place = tmp_path_factory.mktemp("lists")
    for path, text in FILES.items():
        file = place / "base" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
    (place / "empty").mkdir()
    with Pages(place, place / "base", place / "empty") as served:
        yield served


def test_a_folder_shows_its_folders_its_pages_and_its_readme_to_the_end(pages: Pages) -> None:
    page = pages.view(tree, "my notes")
    assert 'href="/tree/my%20notes/deep/"' in page
    assert "A &lt;b&gt;" in page
    assert "On &amp; off." in page
    assert "3 pages" in page
    assert "the end" in pages.view(tree, "latin")


@pytest.mark.parametrize(("path", "count"), [("", 105), ("my notes", 3), ("my notes/deep", 1), ("latin", 1)])
def test_a_search_in_a_folder_finds_its_pages(pages: Pages, path: str, count: int) -> None:
    url = pages.view(tree, path).partition('<a href="/search')[2].partition('"')[0]
    query = {name: values[-1] for name, values in parse_qs(urlsplit(unescape(url)).query).items()}
    read = read_query(query)

    assert read.words == ""
    document_list = list_documents(read.chosen(pages.services.collections), ListQuery(filter=read.filter(), limit=1))
    assert document_list.total == count


@pytest.mark.parametrize("path", ["none", "my notes/a", "..", "\0", "MY NOTES", "@none", "x" * 5_000])
def test_what_is_no_folder_is_not_found(pages: Pages, path: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        tree(pages.request(path))
    assert len(str(caught.value)) < 200


def test_a_long_list_has_pages_and_an_empty_collection_an_empty_one(pages: Pages) -> None:
    first, second = pages.view(tree, "many"), pages.view(tree, "many", page="2")

    assert first.count('href="/p/many/') == PAGE_SIZE
    assert second.count('href="/p/many/') == 1
    assert 'rel="next"' in first
    assert 'rel="next"' not in second
    assert "0 pages" in pages.view(tree, "@empty")


def test_tags_are_a_tree_with_the_tags_above_those_that_are_used(pages: Pages) -> None:
    page = pages.view(tags)

    named = [unquote(part.partition('"')[0]) for part in page.partition("<h1>")[2].split('href="/tags/')[1:]]
    assert [element.casefold() for element in named] == ["lots", "strasse", "tea", "tea/green", "x"]


@pytest.mark.parametrize(("tag", "found"), [("tea", {"A <b>", "B"}), ("TEA/green", {"A <b>"}), ("STRASSE", {"C #x"})])
def test_a_tag_in_any_case_lists_its_pages_and_those_of_the_tags_below(pages: Pages, tag: str, found: set[str]) -> None:
    page = pages.view(tags, tag)
    listed = page.partition('<ul class="plain documents">')[2].partition("</ul>")[0]
    assert {unescape(part.partition("</a>")[0].partition(">")[2]) for part in listed.split("<a ")[1:]} == found
    assert "/feed.atom?tag=" in page


@pytest.mark.parametrize("view", [tags, types])
@pytest.mark.parametrize("name", ["none", "te", "<b>", "\0", "x" * 5_000])
def test_a_tag_or_type_that_no_page_has_is_not_found(pages: Pages, view: View, name: str) -> None:
    with pytest.raises(NotFoundError):
        view(pages.request(name))


def test_types_are_counted_and_lead_to_their_pages(pages: Pages) -> None:
    page = pages.view(types)
    assert 'href="/types/guide"' in page or 'href="/types/Guide"' in page
    assert "B" in pages.view(types, "guide")


def test_the_timeline_is_by_day_newest_first_and_never_missing(pages: Pages) -> None:
    page = pages.view(timeline)
    days = [part.partition("</h2>")[0] for part in page.split("<h2>")[1:]]
    assert days == sorted(days, reverse=True)
    assert page.count('<li><a dir="auto" href=') >= PAGE_SIZE
    assert pages.location(timeline, page="100000") == "?page=2"
    assert "Page 2 of 2" in pages.view(timeline, page="2")
