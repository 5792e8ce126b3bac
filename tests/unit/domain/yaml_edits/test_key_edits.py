"""Changing single keys of a front matter leaves every other byte as it was."""

from __future__ import annotations

import difflib

import pytest

from cases import each_case
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.frontmatter import read_frontmatter, set_fields
from commonplace.domain.json import Json
from commonplace.domain.yaml_loader import MAX_YAML_CHARS
from pages import page

RICH = b"""---
# about this page
title: "Old Title"  # keep me
date: 2020-01-02 # when
tags: # my tags
  - a   # first
  - "b"

  - c
list: [x, y]  # in brackets
nested:
  k: v
  # inside

# about the text
text: |
  line
  # not a comment
quoted: 'it''s'
empty:
# the end
---
Body: x
"""


TAGS = ["- tags: # my tags\n", "-   - a   # first\n", '-   - "b"\n', "- \n", "-   - c\n"]


def changed(raw: bytes, **fields: Json) -> list[str]:
    """The lines that a change took out and put in, as a diff prints them; every value reads back."""
    result = set_fields(raw, fields)
    before, after = read_frontmatter(raw), read_frontmatter(result)
    expected = {key: value for key, value in {**before.values, **fields}.items() if fields.get(key, 0) is not None}
    assert after.values == expected
    lines = difflib.ndiff(raw.decode().splitlines(keepends=True), result.decode().splitlines(keepends=True))
    return [line for line in lines if line[0] in "-+"]


@each_case(
    ("fields", "lines"),
    [
        ({"title": "New: title"}, ['- title: "Old Title"  # keep me\n', '+ title: "New: title"  # keep me\n']),
        ({"date": "2021-03-04"}, ["- date: 2020-01-02 # when\n", "+ date: 2021-03-04 # when\n"]),
        ({"quoted": "isn't"}, ["- quoted: 'it''s'\n", "+ quoted: 'isn''t'\n"]),
        ({"empty": 5}, ["- empty:\n", "+ empty: 5\n"]),
        ({"tags": ["a", "b", "new", "c"]}, ["+   - new\n"]),
        ({"tags": ["a", "c"]}, ['-   - "b"\n', "- \n"]),
        ({"list": ["x", "z, q"]}, ["- list: [x, y]  # in brackets\n", '+ list: [x, "z, q"]  # in brackets\n']),
        ({"new": {"a": [1, {"b": None}]}}, ["+ new:\n", "+   a:\n", "+     - 1\n", "+     - b: null\n"]),
        ({"text": "one\ntwo\n"}, ["-   line\n", "-   # not a comment\n", "+   one\n", "+   two\n"]),
        ({"text": "short"}, ["- text: |\n", "-   line\n", "-   # not a comment\n", "+ text: short\n"]),
        ({"title": None}, ['- title: "Old Title"  # keep me\n']),
        ({"nested": None}, ["- nested:\n", "-   k: v\n", "-   # inside\n"]),
        ({"missing": None}, []),
        ({"title": "Old Title", "tags": ["a", "b", "c"]}, []),
        ({"title": ["x"]}, ['- title: "Old Title"  # keep me\n', "+ title:  # keep me\n", "+   - x\n"]),
        ({"tags": []}, [*TAGS, "+ tags: [] # my tags\n"]),
        ({"tags": "x"}, [*TAGS, "+ tags: x # my tags\n"]),
    ],
)  # fmt: skip
def test_only_the_lines_of_the_named_key_change(fields: dict[str, Json], lines: list[str]) -> None:
    assert sorted(changed(RICH, **fields)) == sorted(lines)


def test_new_keys_come_last_in_their_order() -> None:
    result = set_fields(RICH, {"z": 1, "a": "yes", "b": "- x"})
    assert b'# the end\nz: 1\na: "yes"\nb: "- x"\n---\nBody' in result


@each_case(
    ("raw", "result"),
    [
        (b"", b"---\na: 1\n---\n"),
        (b"# T\n", b"---\na: 1\n---\n# T\n"),
        (b"# T\r\nx\r\n", b"---\r\na: 1\r\n---\r\n# T\r\nx\r\n"),
        (b"\xef\xbb\xbf# T\n", b"\xef\xbb\xbf---\na: 1\n---\n# T\n"),
        (b"---\n---\nx", b"---\na: 1\n---\nx"),
        (b"---\n---", b"---\na: 1\n---"),
        (b"---\n# c\n---\nx", b"---\n# c\na: 1\n---\nx"),
        (b"---\r\nb: 2\r\n...\r\nx", b"---\r\nb: 2\r\na: 1\r\n...\r\nx"),
        (b"---\n\nprose\n\n---\n", b"---\na: 1\n---\n---\n\nprose\n\n---\n"),
        (b"---\n  b: 2\n---\n", b"---\n  b: 2\n  a: 1\n---\n"),
        (b"---\na: 0\n---\n---\nx: y\n---\n", b"---\na: 1\n---\n---\nx: y\n---\n"),
    ],
)
def test_the_block_is_found_or_made(raw: bytes, result: bytes) -> None:
    assert set_fields(raw, {"a": 1}) == result


def test_windows_files_stay_windows_files() -> None:
    raw = b"---\r\na: 1\r\ntags:\r\n- x\r\n---\r\nbody\r\n"
    result = set_fields(raw, {"tags": ["x", "z"], "note": "one\ntwo", "a": 2})
    assert result == b"---\r\na: 2\r\ntags:\r\n- x\r\n- z\r\nnote: |-\r\n  one\r\n  two\r\n---\r\nbody\r\n"


def test_a_list_of_mappings_grows_by_the_new_one_alone() -> None:
    raw = b"---\nlinks:\n  - target: a   # first\n    relation: supports\n---\n"
    entries = [{"target": "a", "relation": "supports"}, {"target": "b", "note": "why: not"}]
    assert changed(raw, links=entries) == ["+   - target: b\n", '+     note: "why: not"\n']


def test_of_a_repeated_key_the_last_is_changed_and_all_are_removed() -> None:
    raw = b"---\na: 1\nb: 2\na: 3\n---\n"
    assert set_fields(raw, {"a": 4}) == b"---\na: 1\nb: 2\na: 4\n---\n"
    assert set_fields(raw, {"a": None}) == b"---\nb: 2\n---\n"


def test_keys_of_other_types_are_named_as_they_are_written() -> None:
    assert set_fields(b"---\n1: a\n'q k': b\n---\n", {"1": "x", "q k": "z"}) == b"---\n1: x\n'q k': z\n---\n"


def test_a_value_that_differs_only_in_type_is_a_change() -> None:
    assert set_fields(b"---\na: 1\nb: null\n---\n", {"a": True}) == b"---\na: true\nb: null\n---\n"
    assert set_fields(b"---\na: 1\n---\n", {"a": 1.0}) == b"---\na: 1.0\n---\n"
    assert set_fields(b"---\na: 1\n---\n", {"a": "1"}) == b'---\na: "1"\n---\n'
    assert set_fields(b"---\nb: null\n---\n", {"b": None}) == b"---\n---\n"


def test_a_document_is_taken_as_well_as_its_bytes() -> None:
    assert set_fields(page("---\na: 1\n---\n"), {"a": 2}) == b"---\na: 2\n---\n"


@each_case(
    ("raw", "reason"),
    [
        (b"---\na: b: c\n---\n", "line 2"),
        (b"---\n- a\n---\n", "cannot be read"),
        (b"---\ntitle: x\n\nnever closed\n", "cannot be read"),
        (b"---\n{a: 1}\n---\n", "not on separate lines"),
        (b"---\na: &x 1\nb: *x\n---\n", "refers to"),
        (b"---\n? a\n: 1\n---\n", "'\\?'"),
        (b"caf\xe9", "not UTF-8"),
    ],
)
def test_a_block_that_cannot_be_changed_by_key_is_left_alone(raw: bytes, reason: str) -> None:
    with pytest.raises(InvalidInputError, match=reason) as caught:
        set_fields(raw, {"a": 2})
    assert caught.value.hint


def test_an_anchor_that_stays_does_not_stop_other_changes() -> None:
    raw = b"---\na: &x 1\nb: *x\nc: 1\n---\n"
    assert set_fields(raw, {"c": 2, "b": None}) == b"---\na: &x 1\nc: 2\n---\n"


@each_case(
    "value", [float("nan"), float("inf"), 2**63, -(2**63) - 1, "\ud800", ["\udfff"], {"\ud800": 1}, [[float("nan")]]]
)
def test_a_value_that_yaml_and_json_cannot_share_is_refused(value: Json) -> None:
    with pytest.raises(InvalidInputError, match="cannot be written"):
        set_fields(b"", {"a": value})


def test_nesting_and_length_have_limits() -> None:
    deep: Json = "x"
    for _ in range(1_000):
        deep = [deep]
    with pytest.raises(InvalidInputError, match="nested deeper"):
        set_fields(b"", {"a": deep})
    with pytest.raises(InvalidInputError, match="read back"):
        set_fields(b"", {"k" * 2_000: 1})
    with pytest.raises(InvalidInputError, match="read back"):
        set_fields(b"---\na: 1\n---\n", {"a": "x" * MAX_YAML_CHARS})


SCHEMA = b"""---
types:
  # of people
  person:
    description: "One of us"  # not of them
    required: [title, name]
    fields:
      # how old
      age: {type: number}
      born:
        type: date  # ISO
  # of ships
  vessel: {fields: {length: {type: number}}}

  last:
    required:
      - title
      # the name too
      - name
    # after the list
# the end
other: 1
---
"""


def declared(**changes: Json) -> Json:
    """The types, some of them anew."""
    types = read_frontmatter(SCHEMA).values["types"]
    assert isinstance(types, dict)
    return {key: value for key, value in {**types, **changes}.items() if value is not None}


PERSON: dict[str, Json] = {
    "description": "One of us",
    "required": ["title", "name"],
    "fields": {"age": {"type": "number"}, "born": {"type": "date"}},
}


@each_case(
    ("types", "lines"),
    [
        ({"t2": {"required": ["title"]}}, ["+   t2:\n", "+     required:\n", "+       - title\n"]),
        (
            {"person": {**PERSON, "description": "x"}},
            ['-     description: "One of us"  # not of them\n', '+     description: "x"  # not of them\n'],
        ),
        (
            {"person": {**PERSON, "fields": {"age": {"type": "number"}, "born": {"type": "text"}}}},
            ["-         type: date  # ISO\n", "+         type: text  # ISO\n"],
        ),
        (
            {"person": {**PERSON, "fields": {"age": {"type": "number"}}}},
            ["-       born:\n", "-         type: date  # ISO\n"],
        ),
        ({"vessel": None}, ["-   vessel: {fields: {length: {type: number}}}\n"]),
        ({"last": {"required": ["title", "name", "id"]}}, ["+       - id\n"]),
        ({}, []),
    ],
)
def test_a_mapping_is_changed_key_by_key_at_any_depth(types: dict[str, Json], lines: list[str]) -> None:
    assert changed(SCHEMA, types=declared(**types)) == lines


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_comment_below_a_key_without_a_value_stays(newline: str) -> None:
    text = newline.join(["---", "types:", "  # none yet", "---", ""])
    assert set_fields(text.encode(), {"types": {"a": {"b": 1}}}).decode().split(newline) == [
        "---", "types:", "  a:", "    b: 1", "  # none yet", "---", "",
    ]  # fmt: skip


def test_what_another_mapping_refers_to_or_merges_stays_as_it_is() -> None:
    text = b"---\ntypes:\n  a: &a\n    x: 1 # one\n  b: *a\n  c:\n    <<: *a\n    y: 2\n---\n"
    types = read_frontmatter(text).values["types"]
    assert isinstance(types, dict)
    assert set_fields(text, {"types": {**types, "d": {}}}) == text[:-4] + b"  d: {}\n---\n"
    with pytest.raises(InvalidInputError):
        set_fields(text, {"types": {**types, "a": 5}})
