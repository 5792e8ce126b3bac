"""A search shows each text once, and the best section whole before a larger one that holds it."""

from __future__ import annotations

from pathlib import Path

from commonplace.domain.addresses import Address
from commonplace.services.collections import Collection
from commonplace.services.evidence import EvidenceSection
from commonplace.toolsets.notes.service.evidence_texts import without_repeats
from indexed import Indexed

PAGE = "# Page\n\n## One\n\nFirst.\n\n## Two\n\nSecond.\n\n## Three\n\nThird.\n"
TWO = "Second."
ALL = "First.\n\n## Two\n\nSecond.\n\n## Three\n\nThird."


def sections(base: Indexed, *rows: tuple[str, str, tuple[str, ...]]) -> list[EvidenceSection]:
    """Sections of the page by anchor, text and the anchors that the text holds."""
    collection = Collection("base", base.store, base.index)
    record = base.index.record(Address("page.md"))
    assert record is not None
    return [EvidenceSection(collection, record, (anchor,), anchor, text, inner, 1.0) for anchor, text, inner in rows]


def test_a_larger_section_is_shown_without_the_better_one_in_it(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"page.md": PAGE}) as base:
        evidence_sections = sections(base, ("two", TWO, ("two",)), ("one", ALL, ("one", "two", "three")))
        shown = [(section.anchor, section.text) for section in without_repeats(evidence_sections)]
    assert shown == [("two", TWO), ("one", "First.\n\n## Three\n\nThird.")]


def test_a_section_that_a_better_one_holds_is_not_shown_again(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"page.md": PAGE}) as base:
        evidence_sections = sections(base, ("one", ALL, ("one", "two", "three")), ("two", TWO, ("two",)))
        assert [section.anchor for section in without_repeats(evidence_sections)] == ["one"]


def test_a_section_of_which_nothing_is_left_is_not_shown(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"page.md": PAGE}) as base:
        evidence_sections = sections(base, ("two", TWO, ("two",)), ("one", f"## Two\n\n{TWO}", ("one", "two")))
        assert [section.anchor for section in without_repeats(evidence_sections)] == ["two"]
