"""Lines about links that a write redirects: one for each pair of targets."""

from __future__ import annotations

from pathlib import Path

from commonplace.domain.addresses import Address
from commonplace.domain.documents import Link, LinkKind
from commonplace.domain.query import ResolvedLink
from commonplace.faces.redirected_links import (
    kept_title_lines,
    moved_link_lines,
    not_rewritten_lines,
    own_titles,
    redirect_lines,
)
from commonplace.services.writes.links_after import RedirectedLink
from indexed import Indexed


def redirect(source: str, before: str, now: str) -> RedirectedLink:
    link = Link(LinkKind.WIKI, "x", "x")
    resolved_link = ResolvedLink(source=Address(source), link=link, target=Address(before) if before else None)
    return RedirectedLink(resolved_link, Address(now) if now else None)


def test_each_pair_of_targets_is_one_line_with_its_pages_once() -> None:
    links = [
        redirect("c.md", "a.md", "b.md"),
        redirect("c.md", "a.md", "b.md"),
        redirect("d.md", "a.md", "b.md"),
        redirect("c.md", "", "b.md"),
        redirect("e.md", "a.md", ""),
        redirect("e.md", "b.md", "a.md"),
    ]
    assert redirect_lines(links, Address("b.md")) == [
        "Links to a.md now lead here in c.md, d.md",
        "Links that led nowhere now lead here in c.md",
        "Links to a.md now lead nowhere in e.md",
        "Links to b.md now lead to a.md in e.md",
    ]
    assert redirect_lines(links[:1], None, lambda address: f"kb:{address}") == [
        "Links to kb:a.md now lead to kb:b.md in kb:c.md"
    ]
    assert redirect_lines([]) == []


def test_many_pages_are_counted() -> None:
    names = [f"{number}.md" for number in range(7)]
    said = moved_link_lines(names, names[:1])
    assert said[0].endswith("in 0.md, 1.md, 2.md, 3.md, 4.md and 2 more")
    assert said[1] == "Links that led nowhere now lead here in 0.md"
    assert moved_link_lines([], []) == []


def test_pages_that_are_not_utf8_are_named_with_what_to_do() -> None:
    assert not_rewritten_lines([]) == []
    (said,) = not_rewritten_lines(["a.md", "b.md"])
    assert said.startswith("Links were not rewritten in a.md, b.md: not UTF-8, and never changed. Convert")
    assert not_rewritten_lines(["a.md"], would=True)[0].startswith("Links would not be rewritten in a.md: not UTF-8")


def test_titles_by_which_links_name_a_page_are_told_as_kept(tmp_path: Path) -> None:
    graph = {"logseq/config.edn": "{}", "pages/a.md": "title:: Alpha\n\n- x\n", "pages/b.md": "- [[Alpha]]\n"}
    with Indexed(tmp_path / "graph", graph) as base:
        titles = own_titles(base.collection, map(Address, ("pages/a.md", "pages/b.md", "pages/none.md")))
        assert kept_title_lines(titles) == [
            "Links name the page's own title, which a move does not change: 'Alpha' (pages/a.md)"
        ]
    wiki = {"tiddlywiki.info": "{}", "tiddlers/A.tid": "title: Alpha\n\nx\n"}
    with Indexed(tmp_path / "wiki", wiki) as base:
        assert own_titles(base.collection, [Address("tiddlers/A.tid")]) == {"tiddlers/A.tid": "Alpha"}
    with Indexed(tmp_path / "plain", {"a.md": "---\ntitle: Alpha\n---\n"}) as base:
        assert own_titles(base.collection, [Address("a.md")]) == {}
        assert kept_title_lines({}) == []
