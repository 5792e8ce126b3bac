"""`[[a|b]]`: the side that exists is the page, and a reader's own side where both or neither do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.markdown.link_sides import PageSide
from commonplace.domain.ports import Index
from commonplace.domain.query import SearchQuery
from commonplace.index import open_index
from indexed import Indexed

FILES = {
    "from.md": (
        "---\nsee: '[[shown|There]]'\n---\n"
        "Read [[There|the text]] now. Then [[the text|There#Top]] again. [[There|Also]] too. [[no page|none]]\n"
        "\n| a |\n|---|\n| [[in a *table*\\|There]] |\n\n![[There|300]] "
        "[[plan.pdf|Plan]] [[Plan|plan.pdf]] [[#Top|x]]\n"
    ),
    "There.md": "# Top\n",
    "Also.md": "also\n",
}
FIRST = ["There.md", "There.md", "There.md", "", "There.md", "There.md", "plan.pdf", "plan.pdf", "from.md"]
"""Targets of the body's links for readers who prefer the first side."""
ELSEWHERE = ["There.md", "There.md", "Also.md", "", "There.md", "There.md", "plan.pdf", "plan.pdf", "from.md"]
"""Targets of the body's links for readers who prefer the last side."""
SIDES = [False, True, False, False, True, False, False, True, False]
"""Whether the last side of each link is the page, for the first readers."""


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Indexed]:
    (tmp_path / "base").mkdir(parents=True)
    (tmp_path / "base" / "plan.pdf").write_bytes(b"pdf")
    with Indexed(tmp_path, FILES) as made:
        yield made


def body_links(index: Index, path: str = "from.md") -> list[str]:
    return [link.target.path if link.target else "" for link in index.links_from(Address(path)) if link.link.span.end]


def test_the_side_that_exists_is_the_page_and_else_the_readers_own(base: Indexed) -> None:
    assert body_links(base.index) == FIRST
    assert body_links(base.index.preferring_last()) == ELSEWHERE
    assert [link.link.page_last for link in base.index.links_from(Address("from.md")) if link.link.span.end] == SIDES


def test_a_document_that_is_not_indexed_is_read_in_the_same_way(base: Indexed) -> None:
    document = base.index.document(Address("from.md"))
    for index in (base.index, base.index.preferring_last()):
        assert index.resolve(document) == index.links_from(Address("from.md"))


def test_backlinks_edges_orphans_and_broken_links_agree_for_each_reader(base: Indexed) -> None:
    last = base.index.preferring_last()
    there = Address("There.md"), Address("Also.md")
    assert [len(base.index.links_to(address)) for address in there] == [6, 0]
    assert [len(last.links_to(address)) for address in there] == [5, 1]
    edges = [[(source.path, target.path) for source, target in index.links()] for index in (base.index, last)]
    assert edges == [[("from.md", "There.md")], [("from.md", "Also.md"), ("from.md", "There.md")]]
    assert [record.address.path for record in base.index.orphans()] == ["Also.md", "from.md"]
    assert [record.address.path for record in last.orphans()] == ["from.md"]
    for address in (None, Address("from.md")):
        assert [link.link.target for link in base.index.broken(address)] == ["no page"]
        assert [link.link.target for link in last.broken(address)] == ["none"]
    assert [link.link.target for link in base.index.links_named(["none", "no page"])] == ["no page"]
    assert [link.link.target for link in last.links_named(["none", "no page"])] == ["none"]
    assert len(base.index.links_named(["none", "no page"], either_side=True)) == 2


def test_the_page_is_chosen_anew_when_a_side_comes_or_goes(base: Indexed) -> None:
    for path, text, first, last in (
        ("none.md", "now\n", "none.md", "none.md"),
        ("no page.md", "now\n", "no page.md", "none.md"),
        ("none.md", None, "no page.md", "no page.md"),
        ("no page.md", None, "", ""),
    ):
        base.write(path, text) if text else (base.folder / path).unlink()
        base.index.update([Address(path)])
        assert (body_links(base.index)[3], body_links(base.index.preferring_last())[3]) == (first, last)
    (base.folder / "plan.pdf").unlink()
    base.index.sync(afresh=True)
    assert body_links(base.index)[6:8] == ["", ""]
    assert [link.link.target for link in base.index.broken()] == ["no page", "plan.pdf", "Plan"]


def test_a_side_that_is_set_holds_for_every_reader(base: Indexed) -> None:
    for side, expected in (
        (PageSide.FIRST, ["There.md", "", "There.md", "", "", "There.md", "plan.pdf", "", "from.md"]),
        (PageSide.LAST, ["", "There.md", "Also.md", "", "There.md", "There.md", "", "plan.pdf", ""]),
    ):
        with closing(open_index(base.store, base.cache, side=side)) as index:
            index.sync()
            assert body_links(index) == expected
            assert body_links(index.preferring_last()) == expected


def test_a_side_that_names_another_collection_counts_as_a_page(base: Indexed) -> None:
    base.write("cross.md", "[[other:There|Also]] [[Also|other:There]] [[nothing|other:There]]\n")
    base.index.update([Address("cross.md")])
    assert [link.link.target for link in base.index.links_into(["other"])] == ["There", "There"]
    assert [link.link.collection for link in base.index.links_from(Address("cross.md"))] == ["other", "", "other"]


def test_the_sentence_of_a_backlink_shows_the_label(base: Indexed) -> None:
    sentences = [link.sentence for link in base.index.links_to(Address("There.md")) if link.link.span.end]
    assert sentences[:3] == ["Read the text now.", "Then the text again.", "Also too."]


def test_each_side_knows_its_bytes() -> None:
    raw = FILES["from.md"].encode()
    for link in read_document(Address("from.md"), raw).links:
        if link.other is None:
            continue
        for other_link in (link, link.other):
            assert raw[other_link.target_span.start : other_link.target_span.end].decode() == other_link.target
        assert not link.page_last
        assert link.other.page_last
        assert link.other.label == link.raw


def test_snippets_show_the_label_on_whichever_side_it_is(tmp_path: Path) -> None:
    text = (
        "Before [[the old quay|Harbour]] and [[Harbour|the new quay]], [[Harbour|Moles]], in `[[a|b]]`;"
        " [[ the pier |Harbour]] of Harbour, | [[a berth\\|Harbour]] |"
    )
    query = SearchQuery(text="before", snippet=200)
    with Indexed(tmp_path, {"from.md": text, "Harbour.md": "x", "Moles.md": "y"}) as base:
        for index, both_exist in ((base.index, "Moles"), (base.index.preferring_last(), "Harbour")):
            (hit,) = index.search(query).hits
            shown = f"Before the old quay and the new quay, {both_exist}, in [[a|b]]; the pier of Harbour, a berth"
            assert hit.sections[0].snippet == shown


def test_links_to_pictures_follow_those_that_come_and_go_after_the_page_was_indexed(tmp_path: Path) -> None:
    page, names = Address("a.md"), ("x.png", "img/y.png")
    with Indexed(tmp_path, {"a.md": "![[x.png]] ![](img/y.png)\n"}) as base:

        def states() -> list[tuple[bool, bool, bool, bool]]:
            base.index.sync()
            targets = {link.target.path for link in base.index.links_from(page) if link.target}
            broken = {link.link.target for link in base.index.broken()}
            alone = {link.link.target for link in base.index.broken(page)}
            linked = (bool(base.index.links_to(Address(name))) for name in names)
            return [(name in targets, name not in broken, name not in alone, next(linked)) for name in names]

        assert states() == [(False,) * 4] * 2
        for name in names:
            base.write(name, b"picture")
        assert states() == [(True,) * 4] * 2
        (base.folder / "x.png").unlink()
        assert states() == [(False,) * 4, (True,) * 4]
        base.write("a.md", "![[x.png]] ![](img/y.png) again\n")  # y.png is there when its link is stored
        assert states() == [(False,) * 4, (True,) * 4]
        (base.folder / "img/y.png").unlink()
        assert states() == [(False,) * 4] * 2
