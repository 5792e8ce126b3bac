"""Values are written as block YAML that reads back as the same values."""

from __future__ import annotations

from typing import cast

import pytest

from cases import each_case
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import Json
from commonplace.domain.yaml_edits import as_json_types, entry_lines, flow_list, item_lines
from commonplace.domain.yaml_loader import MAX_DEPTH, load

TEXTS = [
    *(
        "",
        " ",
        "a",
        "ü 漢字 🏗️",
        "true",
        "null",
        "~",
        "1",
        "1.5",
        "0x1F",
        "2026-01-01",
        "12:30:00",
        "- a",
        "a: b",
        "a #b",
    ),
    *("#a", "'a'", '"a"', "a\nb", "a\nb\n", "a\n\n\nb", "a\n\n\n", "\na", " a\nb", "a \nb", "\ta\nb", "a\r\nb", "a\tb"),
    *("---\nx", "a\n...\nb", "a\x00b", "a\x85b\nc", "a\u2028b\nc", "\ufeffa\nb", "%a", "&a", "*a", "!a", "| a", "> a"),
    *("[a", "{a", "]", "?", ": ", "@a", "`a", "a\\b", "=", "<<", "\u200f\u05d0\u05d1", "\x7f", "a: b\n- c\n"),
]


@each_case("text", TEXTS)
def test_every_text_reads_back_as_value_item_and_key(text: str) -> None:
    value: Json = {"k": text, "list": [text, [text], {text: 1}], "deep": {text: {"x": text}}}
    lines = [line for key, item in cast("dict[str, Json]", value).items() for line in entry_lines(key, item)]
    assert not any("\n" in line or "\r" in line for line in lines)
    assert load("\n".join(lines) + "\n").value == value


@each_case(
    "value",
    [
        None,
        True,
        0,
        -(2**63),
        2**63 - 1,
        1e300,
        -0.5,
        [],
        {},
        [[]],
        [{}],
        [[1, [2]], []],
        {"a": []},
        [{"a": 1, "b": {}}],
    ],
)
def test_every_value_reads_back(value: Json) -> None:
    assert load("\n".join(entry_lines("k", value)) + "\n").value == {"k": value}


def test_lists_and_mappings_are_indented_and_empty_ones_stay_on_the_line() -> None:
    value: Json = {"a": [1, {"b": "x", "c": []}], "d": {}}
    assert entry_lines("k", value) == ["k:", "  a:", "    - 1", "    - b: x", "      c: []", "  d: {}"]
    assert item_lines([1], 2) == ["  - - 1"]


def test_a_text_of_several_lines_is_a_literal_block() -> None:
    assert entry_lines("k", "a\n\n b\n") == ["k: |", "  a", "", "   b"]
    assert entry_lines("k", "a\nb") == ["k: |-", "  a", "  b"]


@each_case(
    ("values", "text"),
    [
        ([], "[]"),
        ([1, "a", None, True, 1.5], "[1, a, null, true, 1.5]"),
        (["a, b", "[c]", "ü"], '["a, b", "[c]", ü]'),
        ([["a"]], ""),
        ([{}], ""),
        (["a\nb"], ""),
    ],
)
def test_a_list_of_scalars_may_stand_on_one_line(values: list[Json], text: str) -> None:
    assert flow_list(values) == text
    if text:
        assert load(f"k: {text}\n").value == {"k": values}


@each_case(
    ("value", "said"),
    [
        (float("nan"), "not finite"),
        (float("-inf"), "not finite"),
        (2**63, "over 64 bits"),
        (-(2**63) - 1, "over 64 bits"),
        ("\ud800", "lone surrogate"),
        ({"\udcff": 1}, "lone surrogate"),
        ([{"a": "\ud800"}], "lone surrogate"),
        ({1: "a"}, "a key is not a text"),
        (b"ab", "not JSON"),
        ({1, 2}, "not JSON"),
        (object(), "not JSON"),
    ],
)
def test_what_is_no_json_is_refused_with_the_reason(value: object, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said) as refused:
        as_json_types(cast("Json", value))
    assert refused.value.kind == "frontmatter"


def test_the_deepest_nesting_is_allowed_and_no_deeper_one() -> None:
    value: Json = "x"
    for _ in range(MAX_DEPTH):
        value = [value]
    assert as_json_types(value) == value
    with pytest.raises(InvalidInputError, match=f"deeper than {MAX_DEPTH}"):
        as_json_types([value])


def test_other_containers_become_lists_and_dicts() -> None:
    assert as_json_types({"a": (1, (2,))}) == {"a": [1, [2]]}
