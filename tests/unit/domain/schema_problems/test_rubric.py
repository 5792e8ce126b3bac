"""Sentences of a rubric that are checked automatically."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.json import JsonObject
from commonplace.domain.query import Record
from commonplace.domain.schema import RubricItem
from commonplace.domain.schema_problems import CHECKERS, Subject, unmet_field

RECORD = Record(
    address=Address("a.md"),
    id="a",
    title="A",
    type="note",
    tags=("x", "y"),
    description="In short",
    words=40,
    frontmatter={"owner": "on-call", "sources": ["one"], "status": ""},
)
BODY = "## Problem\n\nSources: a book\n\n```sh\nls\n```\n"


def meets(sentence: str, record: Record, count_links: Callable[[], int]) -> bool:
    return unmet_field(RubricItem(text=sentence), Subject(record, count_links, lambda: BODY)) is None


@each_case(
    "sentence",
    [
        "It has at least 40 words",
        "Carries two or more tags",
        "At least a source is given",
        "Links to at least 3 links",
        "Has a summary",
        "Names its owner",
        "A decision says what was given up, not only what was chosen.",
        "Has a good reason to exist",
        "",
    ],
)
def test_a_sentence_that_holds_or_is_for_people_is_met(sentence: str) -> None:
    assert meets(sentence, RECORD, lambda: 3)


@each_case(
    "sentence",
    [
        "At least 41 words",
        "Three or more tags",
        "at least two sources",
        "at least four links",
        "States the date",
        "Has a status",
    ],
)
def test_a_sentence_that_does_not_hold_is_not_met(sentence: str) -> None:
    assert not meets(sentence, RECORD, lambda: 3)


def test_links_are_counted_only_when_the_sentence_is_about_them() -> None:
    def never() -> int:
        raise AssertionError

    assert meets("Has a summary", RECORD, never)


BARE = replace(RECORD, title="Draft", tags=(), frontmatter={"metadata": {"path": ""}})


@each_case(
    ("checker", "params", "field"),
    [
        ("descriptive_title", {}, "title"),
        ("has_tags", {}, "tags"),
        ("has_outlinks", {}, "links"),
        ("status_present", {}, "status"),
        ("priority_present", {}, "priority"),
        ("has_field", {"field": "path"}, "path"),
        ("has_any_field", {"fields": ["url", "author"]}, ""),
        ("body_has_section", {"heading": "Problem"}, "body"),
        ("body_has_pattern", {"pattern": "^sources?:"}, "body"),
        ("body_has_code_block", {}, "body"),
    ],
)
def test_a_named_checker_finds_what_an_entry_lacks(checker: str, params: JsonObject, field: str) -> None:
    item = RubricItem(text="", checker=checker, params=params)
    assert unmet_field(item, Subject(BARE, lambda: 0, lambda: "Text.")) == field
    metadata = {"priority": 1, "path": "src", "url": "https://example.org"}
    full = replace(RECORD, title="How bookings move", frontmatter={"status": "done", "metadata": metadata})
    assert unmet_field(item, Subject(full, lambda: 1, lambda: BODY)) is None


def test_every_checker_has_a_case_above() -> None:
    assert len(CHECKERS) == 10


def test_a_stub_needs_no_links() -> None:
    item = RubricItem(text="", checker="has_outlinks")
    assert unmet_field(item, Subject(RECORD, lambda: 0, lambda: "This is a stub.")) is None
