"""What `kb.yaml` declares, whole, partly, broken or not at all."""

from __future__ import annotations

import pytest

from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import Json
from commonplace.domain.schema import CORE_TYPES, EntryType, RubricItem, entry_type_of, read_schema
from commonplace.domain.schema.entry_paths import new_entry_path
from commonplace.domain.schema.patterns import compiled
from commonplace.domain.schema.problems import schema_problems

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


@pytest.mark.parametrize(
    ("subdirectory", "pattern", "path"),
    [
        ("", "", "a-choice.md"),
        ("decisions", "", "decisions/a-choice.md"),
        ("decisions", "{date}-{slug}.md", "decisions/2026-03-04-a-choice.md"),
        ("decisions", "decisions/{id}.md", "decisions/a-choice.md"),
        ("decisions/{status}", "{number:04d}-{slug}.md", "decisions/in-review/0007-a-choice.md"),
        ("{type}/{year}/{month}", "{team}", "decision/2026/03/red-team"),
    ],
)
def test_the_path_of_a_new_entry_is_its_folder_and_its_pattern_filled(
    subdirectory: str, pattern: str, path: str
) -> None:
    declared = EntryType(name="decision", subdirectory=subdirectory, file_pattern=pattern)
    values: dict[str, Json] = {
        "date": "2026-03-04",
        "status": "In review",
        "number": 7,
        "metadata": {"team": "Red / Team"},
    }
    assert new_entry_path(declared, "a-choice", values) == path


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("{status}/{id}", "'status', which the entry does not have"),
        ("{date}-{id}", "'date', which the entry does not have"),
        ("{id.__class__}", "is no name of a field"),
        ("{title:04d}", "does not fit the format"),
        ("{id", "is no pattern"),
        ("{words}", "makes no file name"),
    ],
)
def test_a_path_that_cannot_be_made_is_refused_with_what_is_missing(pattern: str, said: str) -> None:
    declared = EntryType(name="decision", file_pattern=pattern)
    with pytest.raises(InvalidInputError, match=said) as refused:
        new_entry_path(declared, "a-choice", {"title": "A choice", "words": "..."})
    assert refused.value.kind == "schema"


@pytest.mark.parametrize("folder", [b"''", b"/"])
def test_a_core_type_may_lie_at_the_root(folder: bytes) -> None:
    assert read_schema(b"types: {note: {subdirectory: " + folder + b"}}").types["note"].subdirectory == ""


def test_the_ends_of_an_edge_are_required() -> None:
    ends: dict[str, Json] = {"from": {"field": "owner"}, "to": {"field": "asset"}}
    assert entry_type_of("ownership", {"edge_type": True, "endpoints": ends}).required == ("title", "owner", "asset")


def test_a_file_without_fault_has_no_problem() -> None:
    found = schema_problems(read_schema(WHOLE))
    assert (found.wrong, found.not_understood) == ((), ())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("types: [note]", "types is ['note']; expected a mapping."),
        ("types: {a: 5}", "types.a is 5; expected a mapping."),
        ("types: {a: {fields: [x]}}", "types.a.fields is ['x']; expected a mapping."),
        ("types: {a: {fields: {x: text}}}", "types.a.fields.x is 'text'; expected a mapping."),
        ("types: {a: {fields: {x: {type: colour}}}}", "types.a.fields.x.type is 'colour'; expected one of text"),
        ("types: {a: {fields: {x: {type: select}}}}", "types.a.fields.x is a select without options."),
        ("types: {a: {fields: {x: {min: 3, max: 1}}}}", "types.a.fields.x: min 3 is over max 1."),
        ("types: {a: {fields: {x: {min: low}}}}", "types.a.fields.x.min is 'low'; expected a number."),
        ("types: {a: {fields: {x: {required: maybe}}}}", "types.a.fields.x.required is 'maybe'; expected true or"),
        ("types: {a: {fields: {x: {pattern: '('}}}}", "types.a.fields.x.pattern is '('; expected a regular"),
        ("types: {a: {fields: {x: {pattern: '(a+)+'}}}}", "types.a.fields.x.pattern is '(a+)+'; expected a regular"),
        (
            "types: {a: {fields: {x: {target_type: persn}}}}",
            "target_type 'persn' is not declared. Did you mean 'person'?",
        ),
        (
            "types: {a: {file_pattern: '{colour}'}}",
            "types.a: '{colour}' names 'colour', which the type does not declare.",
        ),
        ("types: {a: {file_pattern: '{'}}", "types.a: '{' is no pattern for paths"),
        ("validation: {rules: [{range: [1, 5]}]}", "validation.rules, rule 1 names no field."),
        ("validation: {rules: [{field: x, range: [1]}]}", "validation.rules, rule 1 (x).range is [1]; expected two"),
        ("validation: {enforce: sometimes}", "validation.enforce is 'sometimes'; expected true or false."),
        ("policies: {minimum_sources: two}", "policies.minimum_sources is 'two'; expected a number."),
        ("evaluation_rubric: [{checker: has_tag}]", "there is no checker 'has_tag'. Did you mean 'has_tags'?"),
        ("evaluation_rubric: [{checker: has_field}]", "item 1: the checker 'has_field' needs params.field."),
        ("evaluation_rubric: [{says: x}]", "item 1: expected a text, or {text, checker, params}"),
    ],
)
def test_a_declaration_that_is_wrong_is_named(text: str, said: str) -> None:
    assert [one for one in schema_problems(read_schema(text.encode())).wrong if said in one]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("guideline: {}", "guideline is not understood, and nothing enforces it. Did you mean 'guidelines'?"),
        ("types: {a: {state_machine: {}}}", "types.a.state_machine is not understood"),
        ("types: {a: {fields: {x: {maximum: 3}}}}", "types.a.fields.x.maximum is not understood"),
        ("validation: {enforced: true}", "validation.enforced is not understood, and nothing enforces it. Did you"),
        ("validation: {rules: [{field: x, between: 1}]}", "validation.rules, rule 1: between is not understood"),
        ("policies: {private: true}", "policies.private is not understood"),
        ("evaluation_rubric: [{text: x, weight: 2}]", "evaluation_rubric, item 1: weight is not understood"),
    ],
)
def test_what_is_not_understood_is_named(text: str, said: str) -> None:
    assert [one for one in schema_problems(read_schema(text.encode())).not_understood if said in one]


@pytest.mark.parametrize(
    "pattern", ["(a+)+", "(a*)*b", "((ab)+c)*", "(a|b+)+", "([ab]{2,})+", "(?:x+){3}", "(", "a{9,1}"]
)
def test_a_pattern_that_is_invalid_or_may_not_end_is_not_used(pattern: str) -> None:
    assert compiled(pattern) is None


@pytest.mark.parametrize("pattern", ["[A-Z]{2}-[0-9]+", r"(\(+\))?", "(a|b)+", "[(a+)]+", r"\d{4}-\d{2}", "(?:ab)+c*"])
def test_a_pattern_whose_groups_do_not_repeat_repetitions_is_used(pattern: str) -> None:
    assert compiled(pattern) is not None
