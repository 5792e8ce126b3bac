"""Errors in the declarations of a `kb.yaml`, and declarations that nothing enforces."""

from __future__ import annotations

from cases import each_case
from commonplace.domain.schema import read_schema
from commonplace.domain.schema_problems import SchemaProblems, schema_problems
from commonplace.domain.validation import violations

WHOLE = b"""\
name: Harbour
guidelines: {tone: plain}
evaluation_rubric:
  - Every page names its owner
  - {text: Every page has tags, checker: has_tags}
policies: {stale_after_days: 90, minimum_sources: 2}
validation:
  enforce: true
  rules:
    - {field: source, format: URL}
    - {field: weight, range: [1, 5], message: From one to five}
types:
  runbook:
    required: [title, owner]
    subdirectory: runbooks/{severity}
    file_pattern: "{id}.md"
    fields:
      severity: {type: select, options: [low, high]}
      owner: {type: object-ref, target_type: person}
      code: {pattern: "[A-Z]{2}-[0-9]+"}
"""


def test_a_file_without_fault_has_no_problem() -> None:
    problems = schema_problems(read_schema(WHOLE))
    assert (problems.wrong, problems.not_understood) == ((), ())


@each_case(
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
        (
            f"types: {{a: {{fields: {{x: {{pattern: '{'a' * 2001}'}}}}}}}}",
            "a'; expected a regular expression that is valid and",
        ),
        (
            "evaluation_rubric: [{checker: body_has_pattern, params: {pattern: '('}}]",
            "item 1: params.pattern is '('; exp",
        ),
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
    assert [element for element in schema_problems(read_schema(text.encode())).wrong if said in element]


@each_case(
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
    assert [element for element in schema_problems(read_schema(text.encode())).not_understood if said in element]


@each_case("raw", [None, b"", b"types: [unclosed", b"[]", b"types: {note: {}}", b"validation: {rules: []}"])
def test_a_file_that_declares_nothing_has_no_problem(raw: bytes | None) -> None:
    assert schema_problems(read_schema(raw)) == SchemaProblems((), ())


def test_problems_are_sentences_that_do_not_grow_with_the_value() -> None:
    odd = "漢" * 500
    problems = schema_problems(
        read_schema(f"types: {odd}\npolicies: {{minimum_sources: {odd}}}\n{odd[:90]}: 1\n".encode())
    )
    assert len(problems.wrong) == 2
    assert all(len(wrong) < 300 and wrong.endswith(".") for wrong in (*problems.wrong, *problems.not_understood))


def test_a_pattern_wider_than_a_file_name_is_wrong() -> None:
    problems = schema_problems(
        read_schema(b"types: {a: {file_pattern: '{n:999999999d}', fields: {n: {type: number}}}}")
    )
    assert [element for element in problems.wrong if "is wider than 99 characters" in element]


def test_an_expression_that_took_too_long_is_named() -> None:
    schema = read_schema(b"types: {a: {fields: {x: {pattern: '(y{1,32}){1,32}z'}}}}")
    assert schema_problems(schema).wrong == ()
    (violation,) = violations(schema, "a", {"title": "A", "x": "y" * 500})
    assert violation.enforced is False
    assert "in time with (y{1,32}){1,32}z" in violation.expected
    (said,) = schema_problems(schema).wrong
    assert "(y{1,32}){1,32}z'; expected a regular expression that matches in time" in said
