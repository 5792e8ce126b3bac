"""Which sentences of a rubric a machine judges, and how."""

from __future__ import annotations

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.query import Record
from commonplace.domain.rubric import meets

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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
