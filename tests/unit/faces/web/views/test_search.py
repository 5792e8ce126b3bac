"""The page of a search, what is shown while somebody types, and the marks in both."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from asgi.browsing import Pages
from cases import each_case
from commonplace.domain.errors import InvalidInputError, KnowledgeError, NotFoundError
from commonplace.faces.web.exchange import View
from commonplace.faces.web.views.search import PAGE_SIZE, SUGGESTED, marker, search, suggest
from support import new_repo

TODAY = datetime.now(UTC).date().isoformat()
FILES = {
    "tea/green.md": f"---\ntitle: Green <tea>\ntype: guide\ntags: [leaf]\nupdated: {TODAY}\n---\n"
    "## Water\n\nPour the water at 70 degrees.\n",
    "tea/black.md": "---\ntype: note\nupdated: 2001-02-03\n---\n# Black tea\n\nBoiling water.\n",
    "zh.md": "# 绿茶\n\n绿茶要用七十度的水。\n",
    "cafe.md": "# Cafe\u0301\n\nNot tea.\n",
    **{f"many/{number:02}.md": f"# M{number}\n\nquokka\n" for number in range(PAGE_SIZE + 1)},
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    place = tmp_path_factory.mktemp("search")
    for path, text in FILES.items():
        file = place / "base" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (place / "two").mkdir()
    (place / "two" / "x.md").write_text("# X\n\nWater.\n")
    with Pages(place, place / "base", place / "two") as served:
        yield served


def hits(page: str) -> list[str]:
    """The URLs of what was found, best first."""
    return re.findall(r'<li><h2><a dir="auto" href="([^"]*)"', page)


def test_a_hit_shows_its_section_with_the_words_marked_and_nothing_else_as_html(pages: Pages) -> None:
    page = pages.view(search, q="degrees tea")

    assert hits(page)[0] == "/p/tea/green"
    assert 'href="/p/tea/green">Green &lt;<mark>tea</mark>&gt;</a>' in page
    assert '<a dir="auto" href="/p/tea/green#water">Water</a>: Pour the water at 70 <mark>degrees</mark>.' in page
    assert "found by words" in page


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ("water type:note", {"/p/tea/black"}),
        ("water type:NOTE", {"/p/tea/black"}),
        ("water tag:leaf", {"/p/tea/green"}),
        ("water in:tea", {"/p/tea/green", "/p/tea/black"}),
        ("water in:te", set[str]()),
        ("water in:/", {"/p/tea/green", "/p/tea/black", "/p/@two/x"}),
        ("water base:two", {"/p/@two/x"}),
        ("water base:none", set[str]()),
        (f"water after:{TODAY}", {"/p/tea/green"}),
        ("water before:2001-02-03", {"/p/tea/black"}),
        ("type:guide", {"/p/tea/green"}),
        ("七十度", {"/p/zh"}),
        ("cafe", {"/p/cafe"}),
    ],
)
def test_operators_narrow_what_is_found(pages: Pages, q: str, found: set[str]) -> None:
    today = {"/p/@two/x"} if q.startswith("water after") else set[str]()
    assert set(hits(pages.view(search, q=q))) - today == found


@pytest.mark.parametrize(
    "q",
    ["\0", '"', '"' * 500, "-", "((", "a" * 5_000, "in:../..", "after:2024-99-99", "tag:", "🚀", "<i>", "*", "OR"],
)
@pytest.mark.parametrize("view", [search, suggest])
def test_any_text_is_a_query(pages: Pages, view: View, q: str) -> None:
    page = pages.view(view, q=q)
    assert "<i>" not in page


def test_without_a_query_the_latest_pages_are_shown(pages: Pages) -> None:
    page = pages.view(search)
    assert "Recently changed" in page
    assert hits(page)
    assert "Narrow down" not in page
    assert pages.view(suggest).count('href="/p/') == SUGGESTED


def test_a_long_answer_has_pages(pages: Pages) -> None:
    first, second = pages.view(search, q="quokka"), pages.view(search, q="quokka", page="2")

    assert (len(hits(first)), len(hits(second))) == (PAGE_SIZE, 1)
    assert not set(hits(first)) & set(hits(second))
    assert 'href="/search?q=quokka&amp;page=2"' in first
    assert pages.location(search, q="quokka", page="100000") == "/search?q=quokka&page=2"
    assert pages.location(search, q="type:note", page="100000") == "/search?q=type%3Anote&page=1"
    assert pages.view(suggest, q="quokka").count('href="/p/many/') == SUGGESTED


@pytest.mark.parametrize("q", ["after:x", "water before:2026-02-30", "after:2026-1-1"])
def test_a_day_that_is_none_is_said_instead_of_left_out(pages: Pages, q: str) -> None:
    page = pages.view(search, q=q)

    assert "is not a day. Write one as" in page
    assert hits(page) == []


def test_a_base_that_is_not_there_is_said_instead_of_words_that_no_page_has(pages: Pages) -> None:
    page = pages.view(search, q="Water base:foo")

    assert "There is no base &#39;foo&#39; here. Bases: base, two." in page
    assert "No page contains" not in page
    assert "There is no base" in pages.view(suggest, q="Water base:foo")
    assert len(hits(pages.view(search, q="Water base:two"))) == 1


def test_a_snippet_has_no_signs_of_markup(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    text = "> [!warning]- Mind\n> ==the tide==\n\n- [x] paid[^1] a[0] 1 == 2\n"
    (tmp_path / "base" / "a.md").write_text(f"# A\n\n{text}")
    with Pages(tmp_path, tmp_path / "base") as pages:
        page = pages.view(search, q="tide")

    assert "Mind the <mark>tide</mark> paid a[0] 1 == 2</p>" in page


def test_facets_count_what_is_found_and_narrow_it(pages: Pages) -> None:
    chips = dict(
        re.findall(r'class="chip" href="([^"]*)">[^<]* <span class="count">(\d+)<', pages.view(search, q="water"))
    )

    assert chips["/search?q=base%3Atwo%20water"] == "1"
    assert chips["/search?q=type%3Aguide%20water"] == "1"
    assert chips["/search?q=in%3Atea%20water"] == "2"
    narrowed = pages.view(search, q="type:guide water")
    assert "type%3Aguide%20type%3Aguide" not in narrowed
    assert 'href="/search?q=water">type:guide' in narrowed


@dataclass(frozen=True)
class Then:
    """A base with a past, beside one without."""

    pages: Pages
    first: str
    """The commit before the last."""


@pytest.fixture(scope="module")
def then(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Then]:
    place = tmp_path_factory.mktemp("then")
    files: dict[str, str | bytes] = {
        "tea/green.md": "---\ntags: [leaf]\n---\n# Green\n\n## Water\n\nPour the water at 70 degrees.\n",
        "kettle.md": "# Kettle\n\nA copper kettle for water.\n",
        **{f"many/{number:02}.md": f"# M{number}\n\nwater\n" for number in range(PAGE_SIZE)},
    }
    repo = new_repo(place / "base", files)
    first = repo.git("rev-parse", "HEAD")
    repo.git("rm", "--quiet", "kettle.md")
    repo.commit("Now", **{"tea/green.md": "# Green\n\n## Water\n\nPour the water at 80 degrees.\n"})
    (place / "plain").mkdir()
    (place / "plain" / "x.md").write_text("# X\n\nWater.\n")
    with Pages(place, repo.path, place / "plain") as served:
        yield Then(served, first)


def test_a_search_of_the_past_answers_from_it_says_so_and_leads_to_it(then: Then) -> None:
    page = then.pages.view(search, q="water degrees", at=then.first)

    assert "From the past" in page
    assert f'href="/commit/{then.first}"' in page
    assert f'href="/p/tea/green?at={then.first}#water">' in page
    assert "Pour the <mark>water</mark> at 70" in page
    assert "80 <mark>degrees" not in page
    assert f"/p/kettle?at={then.first}" in hits(then.pages.view(search, q="kettle", at=then.first))
    assert "/p/@plain/x" not in page, "what has no past is not searched in it"
    now = then.pages.view(search, q="water degrees kettle")
    assert "From the past" not in now
    assert "/p/kettle" not in hits(now)
    assert 'name="at"' not in now


def test_every_link_of_a_search_of_the_past_stays_there_but_the_one_to_the_present(then: Then) -> None:
    page = then.pages.view(search, q="in:tea water", at=then.first) + then.pages.view(search, q="water", at=then.first)

    links = re.findall(r'href="(/search\?q=[^"]*)"', page)
    leaving = [link for link in links if f"&amp;at={then.first}" not in link]
    assert leaving == ["/search?q=in%3Atea%20water", "/search?q=water"]
    assert f"/search?q=water&amp;at={then.first}&amp;page=2" in links
    assert f"/search?q=tag%3Aleaf%20water&amp;at={then.first}" in links
    assert f'<input type="hidden" name="at" value="{then.first}">' in page
    assert f'placeholder="Search as of {then.first}"' in page


def test_what_is_typed_is_looked_for_at_the_same_moment(then: Then) -> None:
    assert "/p/kettle" not in then.pages.view(suggest, q="ket")
    assert f'data-url="/p/kettle?at={then.first}"' in then.pages.view(suggest, q="ket", at=then.first)
    listed = [then.pages.view(search, q="in:/", at=then.first, page=page) for page in ("1", "2")]
    assert sum(f"/p/kettle?at={then.first}" in hits(page) for page in listed) == 1


@pytest.mark.parametrize(("at", "error"), [("nonsense", InvalidInputError), ("1999-01-01", NotFoundError)])
@pytest.mark.parametrize("view", [search, suggest])
def test_a_moment_that_is_none_is_refused(then: Then, view: View, at: str, error: type[KnowledgeError]) -> None:
    with pytest.raises(error):
        view(then.pages.request(q="water", at=at))


@each_case(
    ("words", "text", "marked"),
    [
        ("tea", "Tea, TEA and teapot; steam", "<mark>Tea</mark>, <mark>TEA</mark> and <mark>teapot</mark>; steam"),
        ("te", "te tea", "<mark>te</mark> tea"),
        ("what is the best tea of all", "the tea", "the <mark>tea</mark>"),
        ("the", "the tea", "<mark>the</mark> tea"),
        ("cafés", "Cafe\u0301s", "<mark>Cafe\u0301s</mark>"),
        ("cafe\u0301s", "cafés", "<mark>cafés</mark>"),
        ("cafe", "Cafe\u0301 and CAFÉ", "<mark>Cafe\u0301</mark> and <mark>CAFÉ</mark>"),
        ("straße", "STRASSE", "<mark>STRASSE</mark>"),
        ('"green tea"', "green & tea", "<mark>green</mark> &amp; <mark>tea</mark>"),
        ("-tea leaf", "tea leaf", "tea <mark>leaf</mark>"),
        ("绿茶", "喝绿茶。", "喝<mark>绿茶</mark>。"),
        ("الميناء", "الميناء القديم، ميناء", "<mark>الميناء</mark> القديم، <mark>ميناء</mark>"),
        ("<b>", "<b>", "&lt;<mark>b</mark>&gt;"),
        ("", "tea", "tea"),
        ("tea", "", ""),
    ],
)
def test_the_words_of_a_query_are_marked_and_the_rest_is_escaped(words: str, text: str, marked: str) -> None:
    assert marker(words)(text) == marked
