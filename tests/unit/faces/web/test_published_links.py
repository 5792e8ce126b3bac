"""Files of published pages, and links between them: relative, and only to what is published."""

from __future__ import annotations

import pytest

from commonplace.faces.web.published_links import Outputs, relative_url

PAGES = [
    "Home.md",
    "a b.md",
    "c # d?.md",
    "guide/index.md",
    "guide/README.md",
    "guide/x.md",
    "guide/X.md",
    "-/x.md",
    "note.txt",
]


def outputs(hidden: frozenset[str] = frozenset()) -> Outputs:
    return Outputs(PAGES, "Home.md", "base", lambda path: path == "pic.png", hidden)


def test_each_page_has_a_file_of_its_own_also_where_case_does_not_count() -> None:
    files = outputs().pages
    assert files["Home.md"] == "index.html"
    assert files["guide/index.md"] == "guide/index.html"
    assert len({name.casefold() for name in files.values()}) == len(PAGES)
    assert not files["-/x.md"].startswith("-/"), "styles and scripts have this folder"


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("/", ("index.html", "")),
        ("/p/a%20b#part", ("a b.html", "part")),
        ("/p/c%20%23%20d%3F#part", ("c # d?.html", "part")),
        ("/p/@base/a%20b", ("a b.html", "")),
        ("/tags/x/y", ("-/tags/x-y.html", "")),
        ("/section/1.2?from=3", ("-/sections/1.2.html", "3-")),
        ("/files/pic.png", ("pic.png", "")),
        ("/files/secret.png", None),
        ("/p/absent", None),
        ("/edit/a%20b", None),
    ],
)
def test_urls_of_the_server_lead_to_files(url: str, target: tuple[str, str] | None) -> None:
    assert outputs().target(url) == target


def test_links_are_relative_and_links_to_what_is_hidden_tell_nothing() -> None:
    html = (
        '<a href="/p/a%20b">A</a> <a class="x" href="/p/gone">Label</a> <a href="/p/secret">Secret Page</a> '
        '<a href="https://example.org/p/a">web</a> <img src="/files/pic.png" srcset="/files/pic.png 2x">'
    )
    shown = outputs(frozenset(["secret page"])).relinked(html, "guide/x.html")
    assert shown == (
        '<a href="../a%20b.html">A</a> <span class="unpublished">Label</span> '
        '<span class="unpublished">(unpublished page)</span> '
        '<a href="https://example.org/p/a">web</a> <img src="../pic.png" srcset="../pic.png 2x">'
    )


def test_a_picture_that_is_not_published_becomes_its_text() -> None:
    html = (
        '<img alt="A &quot;cup&quot;" src="/files/no.png"><img alt="" src="/files/no.png">'
        '<video poster="/files/no.png"></video>'
    )
    shown = outputs().relinked(html, "guide/x.html")
    assert shown == '<span class="unpublished">A &quot;cup&quot;</span><video ></video>'
    assert "Secret" not in outputs(frozenset(["secret"])).relinked('<img src="/files/no.png" alt="Secret">', "x.html")


def test_a_link_to_rows_of_a_section_leads_to_the_section_and_names_the_rows_for_the_script_alone() -> None:
    html = '<a href="/section/1.2?from=3" data-more="/section/1.2?from=3&amp;fragment=v">7 more</a>'
    assert outputs().relinked(html, "guide/x.html") == (
        '<a href="../-/sections/1.2.html" data-more="../-/sections/1.2.html#3-">7 more</a>'
    )


def test_a_relative_url_is_quoted_and_keeps_its_fragment() -> None:
    assert relative_url("a/b c.html", "a/e.html", "d") == "b%20c.html#d"
    assert relative_url("a/b # c?.html", "a/e.html", "d") == "b%20%23%20c%3F.html#d"
    assert relative_url("b.html", "a/b/c.html") == "../../b.html"
