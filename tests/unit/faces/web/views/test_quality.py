"""Wanted pages, broken links, orphans and findings."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from asgi.browsing import Pages
from commonplace.domain.errors import NotFoundError
from commonplace.faces.web.exchange import View
from commonplace.faces.web.views.quality import MAX_SOURCES, PAGE_SIZE, broken, findings, orphans, wanted

FILES: dict[str, str | bytes] = {
    "recipe.md": "# Recipe\n\n[[recipee]] [[a <b>]] [[bad#no-such-part]]\n",
    "bad.md": "---\ntitle: [\n---\n# Bad\n",
    "worse.md": b"# Worse \xff\n",
    **{f"n/{number:03}.md": f"# N{number}\n\n[[recipee]] [[w{number:03}]]\n" for number in range(PAGE_SIZE)},
    "n/000.md": "---\nsee: '[[recipee]]'\n---\n# N0\n\n[[recipee]] [[w000]]\n\n[[recipee|again]]\n"
    "![[recipee.png]] [[recipee#x]]\n",
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    place = tmp_path_factory.mktemp("quality")
    for path, text in FILES.items():
        file = place / "base" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
    (place / "two").mkdir()
    (place / "two" / "x.md").write_text("# X\n\n[[gone]]\n")
    with Pages(place, place / "base", place / "two") as served:
        yield served


def rows(page: str) -> list[str]:
    """The items of a list."""
    return page.partition('<ul class="plain documents">')[2].partition("</ul>")[0].split("<li>")[1:]


def test_the_most_wanted_page_comes_first_with_some_of_those_that_want_it(pages: Pages) -> None:
    first, *others = rows(pages.view(wanted))

    assert 'href="/wanted/recipee">recipee</a>' in first
    assert f"{PAGE_SIZE + 1} pages" in first
    assert first.count('href="/p/') == MAX_SOURCES
    assert len(others) == PAGE_SIZE - 1
    assert "a &lt;b&gt;" in "".join(others)


def test_a_broken_link_names_what_its_writer_may_have_meant(pages: Pages) -> None:
    assert 'Near names: <a dir="auto" href="/p/recipe">recipe</a>' in rows(pages.view(broken))[0]
    assert "Near:" not in pages.view(wanted)


def test_every_place_of_a_broken_link_is_counted_and_named(pages: Pages) -> None:
    first = next(row for row in rows(pages.view(broken)) if "recipee</a>" in row)
    assert '<a dir="auto" href="/p/n/000">N0</a> (front matter, lines 6, 8 and 9)' in first
    assert f", {PAGE_SIZE + 1 - MAX_SOURCES} more" in first
    assert f"{PAGE_SIZE + 4} names in {2 * PAGE_SIZE + 7} links" in " ".join(pages.view(wanted).split())
    shown = next(row for row in rows(pages.view(findings, severity="warning")) if "&#39;recipee&#39;" in row)
    assert "leads nowhere. 4 places: front matter, lines 6, 8 and 9." in shown


def test_a_missing_file_is_called_a_file(pages: Pages) -> None:
    every = [*rows(pages.view(broken)), *rows(pages.view(broken, page="2"))]
    (row,) = [row for row in every if "recipee.png</a>" in row]
    assert '<span class="count">· a file</span>' in row
    assert "Near:" not in row


def test_findings_of_a_small_base_leave_nothing_out(pages: Pages) -> None:
    assert pages.view(findings) == pages.view(findings, more="1")


def test_where_several_bases_are_served_each_row_names_its_own(pages: Pages) -> None:
    assert all("in <bdi>base</bdi>" in row for row in rows(pages.view(findings)))
    assert "in <bdi>two</bdi>" in rows(pages.view(wanted, page="2"))[-1]


def test_a_name_that_is_wanted_leads_to_what_is_known_of_it(pages: Pages) -> None:
    assert pages.location(wanted, "recipee") == "/p/recipee"
    assert pages.location(wanted, "recipe") == "/p/recipe"
    assert pages.location(wanted, "@two/gone") == "/p/@two/gone"
    assert pages.location(wanted, "//far.example") == "/p///far.example"
    with pytest.raises(NotFoundError):
        wanted(pages.request("@none/x"))


@pytest.mark.parametrize("view", [wanted, broken, orphans, findings])
def test_a_page_beyond_the_last_is_the_last(pages: Pages, view: View) -> None:
    last, beyond = pages.view(view, page="4" if view is findings else "2"), pages.view(view, page="100000")
    assert rows(last) == rows(beyond)
    assert rows(beyond)


def test_orphans_are_the_pages_that_none_links_to(pages: Pages) -> None:
    page = pages.view(orphans)
    assert f"{PAGE_SIZE + 3} pages" in page
    assert len(rows(page)) == PAGE_SIZE
    assert 'href="/p/@two/x"' in pages.view(orphans, page="2")


def test_findings_are_gravest_first_and_counted_by_their_severity(pages: Pages) -> None:
    page = pages.view(findings)
    severities = [row.partition("severity-")[2].partition('"')[0] for row in rows(page)]
    order = ["error", "warning", "info"]

    assert severities == sorted(severities, key=order.index)
    for severity in set(severities):
        shown = pages.view(findings, severity=severity)
        assert {row.partition("severity-")[2].partition('"')[0] for row in rows(shown)} == {severity}
        assert f'severity={severity}&more=1">{severity} <span class="count">' in page
    assert "Nothing is wrong." in pages.view(findings, severity="no-such")
