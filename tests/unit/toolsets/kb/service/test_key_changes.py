"""Single keys of a `kb.yaml` change, and every other byte stays."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import Json
from commonplace.domain.yaml_loader import load
from commonplace.toolsets.kb.service import set_keys

RAW = "# Größe 漢字\nname: Harbour  # ours\n\ntypes:\n  note: {fields: {}}   # as before\ngoals: {a: 1}\n".encode()


def test_a_new_value_replaces_the_old_one_and_comments_stay() -> None:
    changed = set_keys(RAW, {"goals": {"b": [1, "x"]}})
    assert changed.startswith(RAW.partition(b"goals")[0])
    assert load(changed.decode()).value == {
        "name": "Harbour",
        "types": {"note": {"fields": {}}},
        "goals": {"b": [1, "x"]},
    }


def test_a_new_key_is_added_behind_and_none_removes_one() -> None:
    added = set_keys(RAW, {"description": "Quays: north"})
    assert added.startswith(RAW)
    assert set_keys(added, {"description": None}) == RAW


@pytest.mark.parametrize("changes", [{}, {"name": "Harbour"}, {"absent": None}, {"goals": {"a": 1}, "absent": None}])
def test_what_changes_nothing_keeps_the_file_byte_for_byte(changes: dict[str, Json]) -> None:
    assert set_keys(RAW, changes) == RAW
    assert set_keys(RAW.rstrip(b"\n"), changes) == RAW.rstrip(b"\n")


def test_a_new_file_holds_just_the_keys() -> None:
    assert set_keys(b"", {"name": "Ü", "absent": None}) == "name: Ü\n".encode()


@pytest.mark.parametrize("raw", [b"name: a", b"\xef\xbb\xbfname: a\r\ngoals: 1\r\n", b"# only a comment\n"])
def test_line_ends_and_the_byte_order_mark_stay(raw: bytes) -> None:
    changed = set_keys(raw, {"description": "x"})
    assert changed.startswith(raw)
    assert changed.count(b"\r\n") == (changed.count(b"\n") if b"\r\n" in raw else 0)
    assert load(changed.decode("utf-8-sig")).value["description"] == "x"  # type: ignore[index, call-overload]


@each_case(
    ("raw", "said"),
    [
        (b"types: [unclosed\n", "is broken"),
        (b"- a\n- b\n", "is broken: no mapping"),
        (b"name: \xff\n", "is broken: it is not UTF-8"),
        (b"name: a\x00b\n", "control character"),
        (b"a: &x {b: 1}\nc: *x\n", "Edit the file by hand|cannot be changed|anchor"),
    ],
)
def test_a_file_that_cannot_be_changed_by_key_is_refused_with_the_next_step(raw: bytes, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said) as refused:
        set_keys(raw, {"name": "x", "a": 1})
    assert refused.value.hint


@pytest.mark.parametrize("value", ["\ud800", float("nan"), 2**64])
def test_a_value_that_yaml_cannot_hold_is_refused(value: Json) -> None:
    with pytest.raises(InvalidInputError, match="cannot be written as YAML"):
        set_keys(RAW, {"name": value})
