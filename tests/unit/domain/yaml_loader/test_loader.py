"""YAML that nobody vouches for is read without surprises, or not at all."""

from __future__ import annotations

import json
import math

from cases import each_case
from commonplace.domain.json import Json
from commonplace.domain.yaml_loader import MAX_DEPTH, MAX_YAML_CHARS, load

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{below}'] * 9)}]\n" for below, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@each_case(
    ("text", "value"),
    [
        ("a: 1\nb: [x, {c: d}]\n", {"a": 1, "b": ["x", {"c": "d"}]}),
        ("a: |\n  x\n  y\nb: >-\n  x\n  y\n", {"a": "x\ny\n", "b": "x y"}),
        ("1: a\ntrue: b\n~: c\n'': d\n", {"1": "a", "true": "b", "~": "c", "": "d"}),
        ("? [a, b]\n: c\n? {d: e}\n: f\n", {'["a", "b"]': "c", '{"d": "e"}': "f"}),
        ("a: !!binary aGk=\nb: !!set {x, y}\n", {"a": "aGk=", "b": {"x": None, "y": None}}),
        ("c: !own {z: 1}\nd: !!str 5\n", {"c": {"z": 1}, "d": "5"}),
        ("when: 2026-01-02\nat: 12:30\n", {"when": "2026-01-02", "at": "12:30"}),
        ("'a': \"1\"\n", {"a": "1"}),
        ("<<: {a: 1}\n", {"<<": {"a": 1}}),
        ("", None),
        ("# nothing\n", None),
        ("a: &x 1\n", {"a": 1}),
    ],
)  # fmt: skip
def test_values(text: str, value: Json) -> None:
    loaded = load(text)
    assert loaded.value == value
    assert loaded.problems == ()
    json.dumps(loaded.value, allow_nan=False)


def test_of_a_repeated_key_the_last_counts_and_the_repetition_is_told() -> None:
    loaded = load("a: 1\nb:\n  c: 1\n  c: 2\na: 3\n")
    assert loaded.value == {"a": 3, "b": {"c": 2}}
    assert [(p.rule, p.key, p.line) for p in loaded.problems] == [("duplicate_key", "b", 3), ("duplicate_key", "a", 4)]
    assert not loaded.failed


def test_an_alias_is_not_followed() -> None:
    loaded = load("a: &x [1]\nb: *x\n*x : c\n")
    assert loaded.value == {"a": [1], "b": None, "*x": "c"}
    assert [(p.rule, p.key, p.line) for p in loaded.problems] == [("yaml_alias", "b", 1), ("yaml_alias", "*x", 2)]


def test_an_alias_that_is_the_whole_block_is_told() -> None:
    loaded = load("*at \n")
    assert [(p.rule, p.key, p.line) for p in loaded.problems] == [("yaml_alias", "", 0)]


def test_an_alias_bomb_is_as_small_as_it_is_written() -> None:
    loaded = load(BOMB)
    assert len(json.dumps(loaded.value)) < 4 * len(BOMB)
    assert {problem.rule for problem in loaded.problems} == {"yaml_alias"}


@each_case("opening", ["[", "{a: ", "- ", "a:\n", "? "])
def test_deep_nesting_is_refused(opening: str) -> None:
    text = "".join(f"{' ' * level if opening.endswith(chr(10)) else ''}{opening}" for level in range(150))
    loaded = load(text)
    assert loaded.failed
    assert loaded.value is None
    assert f"{MAX_DEPTH} levels" in loaded.problems[0].message


def test_sixty_levels_are_read() -> None:
    assert not load("[" * 60 + "]" * 60).failed


def test_a_text_over_the_limit_is_refused() -> None:
    loaded = load("a: " + "x" * MAX_YAML_CHARS)
    assert "longer than" in loaded.problems[0].message


@each_case(
    ("text", "line", "column"),
    [
        ("a: 1\nb: c: d\n", 1, 4),
        ("a: [1\n", 1, 0),
        ("\ta: 1\n", 0, 0),
        ("ok: é\na: \x07\n", 1, 0),
        ("a: 1\n--- b\n", 1, 0),
        ("%YAML 9.9\na: 1\n", 0, 0),
        ('a: "\\ud800"\n', 0, 6),
        ("- a\nb: c\n", 1, 0),
    ],
)
def test_what_is_no_yaml_is_told_with_its_place(text: str, line: int, column: int) -> None:
    loaded = load(text)
    assert loaded.failed
    (problem,) = loaded.problems
    assert problem.line == line or text.startswith("%")
    assert problem.column == column or text.startswith("%")
    assert problem.message


@each_case("number", ["9" * 5_000, "-" + "9" * 20, ".inf", "-.inf", ".nan", "1.5e+400"])
def test_numbers_that_json_cannot_hold_stay_text(number: str) -> None:
    value = load(f"a: {number}\n").value
    assert value == {"a": number}
    assert not any(isinstance(v, float) and not math.isfinite(v) for v in value.values())
