"""Records as JSON."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields

from commonplace.domain.addresses import Address
from commonplace.domain.documents import Finding, Severity
from commonplace.domain.query import Record
from commonplace.domain.records import STORED_FIELDS, fields_from_json, record_to_json

RECORD = Record(
    address=Address("notes/tea.md"),
    id="tea",
    title="Tea",
    type="guide",
    tags=("drink/hot", "Grün"),
    aliases=("Chá",),
    description="How to brew it.",
    date="2026-01-02",
    created="2026-01-02T00:00:00Z",
    updated="2026-02-03T00:00:00Z",
    words=12,
    size=345,
    revision="a" * 40,
    frontmatter={"deep": {"list": [1, None, "x"]}, "importance": 7},
    findings=(Finding("yaml", Severity.WARNING, "A message.", "title", 3),),
    blocks=("((60531c23-238e-4748-9b19-27088f9c3771))",),
)


def test_every_field_of_a_record_passes_through_json() -> None:
    for field in fields(Record):
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        assert not field.compare or getattr(RECORD, field.name) != default, f"give {field.name} a value here"
    stored = json.loads(json.dumps(record_to_json(RECORD)))
    assert Record(address=RECORD.address, **fields_from_json(stored)) == RECORD
    assert {*stored, "address", "shares_id"} == {field.name for field in fields(Record)}


def test_only_the_named_fields_are_stored() -> None:
    assert record_to_json(RECORD, ("title", "words")) == {"title": "Tea", "words": 12}
    assert "address" not in STORED_FIELDS
