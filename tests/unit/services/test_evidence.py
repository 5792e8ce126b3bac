"""Sections that answer a question, whole and within a budget."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import InvalidInputError, UnavailableError
from commonplace.domain.query import SearchQuery
from commonplace.services.collections import Collection
from commonplace.services.evidence import EvidenceSection, evidence, fit, gather
from indexed import Indexed

LONG = "\n\n".join(f"Paragraph {number} of something that nobody asked for." for number in range(200))
FILES = {
    "tea.md": "# Tea\n\n## Brewing\n\nSteep oolong for three minutes.\n\n### Water\n\nNinety degrees.\n",
    "coffee.md": f"# Coffee\n\n{LONG}\n\nSteep oolong never in coffee.\n\n{LONG}\n",
    "茶.md": "# 茶\n\n烏龍茶 three 🍵.\n",
}


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    with Indexed(tmp_path_factory.mktemp("evidence"), FILES) as base:
        yield base.collection


def test_a_section_comes_whole_with_the_small_ones_below_it(collection: Collection) -> None:
    first = gather([collection], SearchQuery(text="steep oolong minutes"), "keyword")[0]
    assert (first.record.address.path, first.path) == ("tea.md", ("Tea", "Brewing"))
    assert first.text.startswith("Steep oolong for three minutes.")
    assert "Ninety degrees." in first.text
    assert first.anchors[:2] == ("brewing", "water")


def test_the_best_sections_come_first_and_no_text_comes_twice(collection: Collection) -> None:
    sections = gather([collection], SearchQuery(text="oolong three"), "keyword")
    assert [section.score for section in sections] == sorted((section.score for section in sections), reverse=True)
    places = [(section.record.address, anchor) for section in sections for anchor in section.anchors]
    assert len(places) == len(set(places))


def test_the_best_documents_can_be_skipped(collection: Collection) -> None:
    every = {section.record.address for section in gather([collection], SearchQuery(text="oolong"), "keyword")}
    later = {
        section.record.address for section in gather([collection], SearchQuery(text="oolong"), "keyword", offset=1)
    }
    assert later < every
    assert gather([collection], SearchQuery(text="oolong"), "keyword", offset=50) == []
    assert evidence([], SearchQuery(text="oolong"), "keyword").sections == []


def test_the_text_of_a_changed_or_odd_file_is_cut_at_its_own_sections(tmp_path: Path) -> None:
    latin = "# Café\n\nThé.\n\n## Oolong\n\nDrei.\n".encode("cp1252")
    component = "import X from 'x'\n\n# Teas\n\n<X>\n\n## Oolong\n\nFour.\n\n</X>\n"
    with Indexed(tmp_path, {"a.md": "# A\n\n## Oolong\n\nTwo.\n", "latin.md": latin, "c.mdx": component}) as base:
        base.write("a.md", "# A\n\n" + "Before. " * 200 + "\n\n## Oolong\n\nTwo.\n")  # not indexed yet
        sections = gather([base.collection], SearchQuery(text="oolong"), "keyword")
        texts = {section.record.address.path: section.text for section in sections if section.anchor == "oolong"}
    assert texts == {"a.md": "Two.", "latin.md": "Drei.", "c.mdx": "Four."}


def test_what_cannot_be_searched_is_an_error(collection: Collection) -> None:
    with pytest.raises(InvalidInputError):
        evidence([collection], SearchQuery(text="  "), "keyword")
    with pytest.raises(UnavailableError):
        evidence([collection], SearchQuery(text="tea"), "semantic")


def show(section: EvidenceSection, text: str) -> tuple[str, int]:
    del section
    return text, len(json.dumps(text))


@pytest.mark.parametrize("room", [0, 10, 250, 700, 5_000, 100_000])
def test_what_is_shown_fits_into_the_budget(collection: Collection, room: int) -> None:
    sections = gather([collection], SearchQuery(text="steep oolong"), "keyword")
    shown = fit(sections, room, show)
    assert sum(len(json.dumps(text)) for text in shown) <= room
    assert bool(shown) is (room >= 250)


def test_a_long_section_is_cut_to_the_part_that_answers(collection: Collection) -> None:
    (coffee,) = [
        section
        for section in gather([collection], SearchQuery(text="oolong coffee"), "keyword")
        if "coffee" in section.record.id
    ]
    (text,) = fit([coffee], 1_000, show)
    assert "Steep oolong never in coffee." in text
    assert len(text) < len(coffee.text)


def test_text_that_grows_when_it_is_escaped_still_fits(collection: Collection) -> None:
    record = collection.index.record(Address("tea.md"))
    assert record is not None
    quotes = "\n\n".join('"\\" ' * 20 for _ in range(40))
    section = EvidenceSection(collection, record, ("Tea",), "tea", quotes, ("tea",), 1.0)
    for room in (300, 1_000, 3_000):
        assert sum(len(json.dumps(text)) for text in fit([section], room, show)) <= room
    empty = EvidenceSection(collection, record, ("Tea",), "tea", "", ("tea",), 1.0)
    assert fit([empty], 100, show) == [""], "a heading without text is an answer, too"


def test_lines_of_chats_are_ranked_together_each_with_its_neighbours(tmp_path: Path) -> None:
    talk = [f"Ann: we talked about the weather and other things, part {number}." for number in range(60)]
    dance = [*talk[:40], "Bob: What is new?", "Ann: I joined a ballet group.", "Bob: How was it?", *talk[40:]]
    late = [*talk[:50], "Bob: The ballet group meets on Friday.", *talk[50:]]
    files = {"one.md": "# May\n\n" + "\n".join(dance), "two.md": "# June\n\n" + "\n".join(late)}
    with Indexed(tmp_path, files | {"three.md": "# July\n\n" + "\n".join(talk)}) as base:
        sections = gather([base.collection], SearchQuery(text="When does the ballet group meet?"), "keyword")
        shown = fit(sections, 600, show)
    text = "\n".join(shown)
    assert "Bob: What is new?\nAnn: I joined a ballet group.\nBob: How was it?" in text
    assert "Bob: The ballet group meets on Friday." in text
    assert sum(len(json.dumps(element)) for element in shown) <= 600


@pytest.mark.parametrize("room", [300, 700, 1_500, 4_000])
def test_sections_within_a_budget_are_the_first_of_all(collection: Collection, room: int) -> None:
    sections = gather([collection], SearchQuery(text="steep oolong coffee"), "keyword")
    shown = fit(sections, room, lambda section, text: (section.anchors, len(json.dumps(text))))
    assert shown == [section.anchors for section in sections][: len(shown)]


@pytest.mark.parametrize("room", [500, 900])
def test_a_part_of_a_long_line_contains_what_was_asked_for(tmp_path: Path, room: int) -> None:
    line = "".join(chr(0x4E00 + number * 7 % 3000) for number in range(4000))
    with Indexed(tmp_path / "lines", {"长.md": f"# 长\n\n{line[:2500]}龘靐齉{line[2500:]}\n"}) as base:
        sections = gather([base.collection], SearchQuery(text="龘靐齉"), "keyword")
    rows = fit(sections, room, lambda _, text: (text, len(text)))
    assert any("龘靐齉" in row for row in rows)
    assert sum(map(len, rows)) <= room
