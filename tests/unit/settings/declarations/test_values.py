"""Values of settings are described and converted by their type."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import pytest

from cases import each_case
from commonplace.settings.declarations import MAX_NUMBER, Origin, value_as_text, value_reader

Origins = tuple[Origin, ...]


@each_case(
    ("type_", "given", "value"),
    [
        (str, " text ", "text"),
        (str | None, "漢字", "漢字"),
        (int, 0, 0),
        (int, "65535", MAX_NUMBER),
        (int, " 80 ", 80),
        (bool, True, True),
        (bool, "Yes", True),
        (bool, "off", False),
        (Literal["manual", "auto"], "AUTO", "auto"),
        (tuple[str, ...], "a  b", ("a", "b")),
        (tuple[str, ...], ["a b", "c"], ("a b", "c")),
        (Path, "/srv/notes", Path("/srv/notes")),
        (tuple[Path, ...], f"/a{os.pathsep}/b", (Path("/a"), Path("/b"))),
        (tuple[Path, ...], ["/a"], (Path("/a"),)),
        (Origins, "HTTP://Example.org:80 https://[::1]:8080", ("http://example.org", "https://[::1]:8080")),
    ],
)
def test_a_value_is_converted_to_its_type(type_: object, given: object, value: object) -> None:
    assert value_reader(type_)[1](given) == value


@each_case(
    ("type_", "given"),
    [
        (str, ""),
        (str, " \t"),
        (str, 5),
        (int, -1),
        (int, MAX_NUMBER + 1),
        (int, "1.5"),
        (int, "1e3"),
        (int, True),
        (int, "9" * 5000),
        (int, None),
        (bool, "maybe"),
        (bool, 2),
        (Literal["manual", "auto"], "autos"),
        (Literal["manual", "auto"], ["auto"]),
        (Path, ""),
        (Path, 5),
        (tuple[Path, ...], [5]),
        (tuple[str, ...], 5),
        (Origins, "example.org"),
        (Origins, "http://example.org:123456"),
        (Origins, "http://größe.example"),
        (Origins, "*"),
    ],
)
def test_a_value_of_another_kind_is_refused(type_: object, given: object) -> None:
    read = value_reader(type_)[1]
    with pytest.raises(ValueError):  # noqa: PT011 - the caller names the setting and what is valid
        read(given)


@each_case("type_", [str, int, bool, Path, Literal["a", "b"], tuple[Path, ...], tuple[str, ...], Origins])
def test_every_type_says_what_is_valid(type_: object) -> None:
    assert value_reader(type_)[0]


def test_a_choice_names_all_of_them() -> None:
    assert value_reader(Literal["manual", "auto"])[0] == "one of manual, auto"


@each_case(
    ("value", "text"),
    [
        (True, "true"),
        (None, "None"),
        (80, "80"),
        (("a", "b"), "a b"),
        ((Path("/a"), Path("/b")), f"/a{os.pathsep}/b"),
        ((), ""),
    ],
)
def test_a_value_is_shown_as_it_would_be_given(value: object, text: str) -> None:
    assert value_as_text(value) == text
