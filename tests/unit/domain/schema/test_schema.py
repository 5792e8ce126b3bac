"""Declarations of a `kb.yaml` that is complete, partial, broken or missing."""

from __future__ import annotations

import pytest

from commonplace.domain.json import Json
from commonplace.domain.schema import CORE_TYPES, RubricItem, entry_type_of, read_schema

WHOLE = b"""\
name: Harbour
description: A handbook
kb_type: handbook
guidelines:
  tone: plain
goals: {coverage: all}
evaluation_rubric:
  - Every page names its owner, and when it was checked
policies:
  stale_after_days: 90
validation: {enforce: true, qa_on_write: true}
types:
  runbook:
    description: What to do
    required: [title, owner]
    optional: [severity]
    subdirectory: runbooks/
    fields:
      severity: {type: select, options: [low, high]}
      owner: {type: text, required: true}
  note:
    subdirectory: thoughts
"""


def test_a_whole_file_is_read() -> None:
    schema = read_schema(WHOLE)
    assert (schema.name, schema.description, schema.kb_type) == ("Harbour", "A handbook", "handbook")
    assert schema.enforce
    assert schema.qa_on_write
    assert schema.evaluation_rubric == (RubricItem(text="Every page names its owner, and when it was checked"),)
    runbook = schema.types["runbook"]
    assert (runbook.required, runbook.optional, runbook.subdirectory) == (("title", "owner"), ("severity",), "runbooks")
    assert runbook.fields["severity"].options == ("low", "high")


def test_a_core_type_may_be_changed_in_part() -> None:
    note = read_schema(WHOLE).types["note"]
    assert note.subdirectory == "thoughts"
    assert note.description == CORE_TYPES["note"].description


def test_no_file_is_a_base_of_notes() -> None:
    schema = read_schema(None)
    assert schema.types == CORE_TYPES
    assert not schema.declares_types


def test_a_broken_file_is_a_finding_with_its_line_and_the_base_stays_readable() -> None:
    schema = read_schema(b"name: Harbour\ntypes: [unclosed\nvalidation: {}\n")
    assert schema.types
    assert [finding.rule for finding in schema.findings] == ["bad_yaml"]
    assert schema.findings[0].line >= 2


def test_odd_values_are_ignored_without_an_error() -> None:
    schema = read_schema(b"name: 5\ndescription: [a]\ntypes: [1, 2]\nvalidation: 7\nevaluation_rubric: {a: 1}\n")
    assert schema.name == "5"
    assert schema.description == ""
    assert schema.types == CORE_TYPES
    assert not schema.enforce


@pytest.mark.parametrize("folder", [b"''", b"/"])
def test_a_core_type_may_lie_at_the_root(folder: bytes) -> None:
    assert read_schema(b"types: {note: {subdirectory: " + folder + b"}}").types["note"].subdirectory == ""


def test_the_ends_of_an_edge_are_required() -> None:
    ends: dict[str, Json] = {"from": {"field": "owner"}, "to": {"field": "asset"}}
    assert entry_type_of("ownership", {"edge_type": True, "endpoints": ends}).required == ("title", "owner", "asset")
