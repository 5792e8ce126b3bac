"""Values of plugins are checked and copied, and an error says what was found and what is expected."""

from __future__ import annotations

import enum
import json
import math
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime

import pytest

from cases import each_case
from commonplace.plugins.values import (
    MAX_DEPTH,
    MAX_ITEMS,
    MAX_NAME,
    WrongValueError,
    function,
    is_name,
    items,
    kind_of,
    named,
    pairs,
    plain,
    plain_object,
    shown,
    text,
)


class Colour(enum.Enum):
    RED = "red"


class Word(str):
    """A text that lies about itself."""

    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("called")

    __repr__ = __str__


class Endless(Mapping[str, int]):
    """A mapping that never ends."""

    def __getitem__(self, key: str) -> int:
        return 1

    def __iter__(self) -> Iterator[str]:
        number = 0
        while True:
            yield str(number)
            number += 1

    def __len__(self) -> int:
        return 1


def endless() -> Iterator[int]:
    while True:
        yield 1


@each_case(
    ("value", "copy"),
    [
        (None, None),
        (True, True),
        (2**63, 2**63),
        (-1.5, -1.5),
        (math.nan, None),
        (math.inf, None),
        ("漢字 🏗️", "漢字 🏗️"),
        ("a\ud800b", "a?b"),
        (Word("text"), "text"),
        (date(2026, 3, 4), "2026-03-04"),
        (datetime(2026, 3, 4, 5, 6, tzinfo=UTC), "2026-03-04T05:06:00+00:00"),
        (Colour.RED, "red"),
        ((1, (2,)), [1, [2]]),
        ({"a": {1}}, {"a": [1]}),
        (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
    ],
)
def test_a_value_is_copied_as_json(value: object, copy: object) -> None:
    assert plain(value) == copy
    json.dumps(plain(value)).encode()


def test_a_copy_shares_nothing_with_the_value() -> None:
    value = {"a": [1, {"b": 2}]}
    copy = plain_object(value, "an object")
    value["a"].append(3)
    assert copy == {"a": [1, {"b": 2}]}


@each_case(
    ("value", "said"),
    [
        (object(), "a value of type object; expected text, numbers"),
        (b"bytes", "a value of type bytes"),
        (print, "a function"),
        (Colour, "the class Colour"),
        (2**63 + 1, "more than 64 bits"),
        ({1: 2}, "a text as key"),
        ({"a": [object()]}, "a value of type object"),
        ([0] * (MAX_ITEMS + 1), "more than 10,000 items; expected fewer"),
        (Endless(), "more than 10,000 items"),
    ],
)
def test_what_has_no_form_in_json_is_named(value: object, said: str) -> None:
    with pytest.raises(WrongValueError, match=said):
        plain(value)


def test_the_deepest_nesting_is_copied_and_a_circle_is_refused() -> None:
    value: list[object] = []
    for _ in range(MAX_DEPTH):
        value = [value]
    assert plain(value) == value
    circle: list[object] = []
    circle.append(circle)
    with pytest.raises(WrongValueError, match=f"deeper than {MAX_DEPTH} levels"):
        plain(circle)


@pytest.mark.parametrize("value", [None, [], "text", 5])
def test_an_object_is_a_mapping(value: object) -> None:
    with pytest.raises(WrongValueError, match="expected an object"):
        plain_object(value, "an object")
    with pytest.raises(WrongValueError, match="expected a dict"):
        pairs(value, "a dict")


def test_items_come_of_anything_that_is_a_list() -> None:
    found_items = [items(value, "a list") for value in ([1], (1,), {1}, iter([1]), range(1, 2))]
    assert found_items == [[1]] * 5
    for value in ("text", b"ab", {"a": 1}, None, 5):
        with pytest.raises(WrongValueError, match="expected a list"):
            items(value, "a list")
    with pytest.raises(WrongValueError, match="more than 10,000 items"):
        items(endless(), "a list")


def test_items_without_a_name_are_told_and_the_others_kept() -> None:
    reported_texts: list[str] = []
    assert named({"ok": 1, "": 2, 5: 3, "a\nb": 4}, "a dict", reported_texts.append) == [("ok", 1)]
    assert len(reported_texts) == 3
    assert all("expected a text of 1 to 200 characters" in reported_text for reported_text in reported_texts)


@each_case(
    ("value", "valid"),
    [
        ("a", True),
        ("größe 漢字", True),
        ("x" * MAX_NAME, True),
        ("x" * (MAX_NAME + 1), False),
        ("", False),
        (" ", False),
        ("a\x00", False),
        ("a\u202eb", False),
        ("\ud800", False),
        (5, False),
        (None, False),
    ],
)
def test_a_name_can_be_shown(value: object, valid: bool) -> None:
    assert is_name(value) is valid


def test_a_text_is_a_text_or_nothing() -> None:
    assert (text(None, "it"), text("a\udc80", "it"), text(Word("b"), "it")) == ("", "a?", "b")
    with pytest.raises(WrongValueError, match="the description is a value of type int; expected a text"):
        text(5, "the description")


@each_case("value", [len, lambda _: 1, [].append, lambda *_: 1, lambda a, b=2: (a, b)])
def test_a_function_takes_the_arguments(value: object) -> None:
    assert function(value, 1, "a function of one argument") is value


@each_case("value", [lambda: 1, lambda a, b: (a, b), lambda a, *, k: (a, k), int, "len", None])
def test_a_function_of_other_arguments_a_class_and_a_text_are_none(value: object) -> None:
    with pytest.raises(WrongValueError, match="expected a function of one argument"):
        function(value, 1, "a function of one argument")


def test_values_are_described_without_their_own_code() -> None:
    assert [kind_of(element) for element in (None, True, len, int, 5)] == [
        "None",
        "True",
        "a function",
        "the class int",
        "a value of type int",
    ]
    assert shown("x" * 500) == repr("x" * 60)
    assert shown(5) == "a value of type int"
    assert len(kind_of(type("X" * 500, (), {})())) < 100
