"""The patterns that the document of the API states are those by which paths are taken."""

from __future__ import annotations

import re
import sys
import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from cases import each_case
from commonplace.domain.addresses import parse_address
from commonplace.domain.errors import InvalidInputError
from commonplace.faces.rest.endpoint import NAME_PATTERN, PATH_PATTERN, REVISION_PATTERN, TAGS_PATTERN

PATH, NAME = (re.compile(pattern.replace("$", r"\Z")) for pattern in (PATH_PATTERN, NAME_PATTERN))


def is_taken(path: str) -> bool:
    try:
        parse_address(path)
    except InvalidInputError:
        return False
    return True


def test_a_path_begins_with_no_character_that_is_refused() -> None:
    # What may be refused: controls, formats, blanks and marks, in their categories; letters are not.
    every = map(chr, range(sys.maxunicode + 1))
    allowed = (c for c in every if unicodedata.category(c) in {"Cc", "Cf", "Zs", "Zl", "Zp", "Mn", "Me", "Po"})
    assert [c for c in allowed if NAME.match(c) and not (is_taken(c) and is_taken(f"{c}x.md"))] == []


@given(
    st.lists(st.sampled_from([*"aé潮🚀. ~:/\\-_\t", "\u200d", "\u0301", "\ufe0f", "\U000e0001"]), max_size=6).map(
        "".join
    )
)
@example("a/b c.md")
@example("a//b")
@example("a/../b")
def test_every_path_that_the_pattern_allows_is_taken(path: str) -> None:
    if PATH.match(path):
        assert is_taken(path)
        assert bool(NAME.match(path)) is ("/" not in path)


@each_case("path", ["a", "a b", "a/b", "ü/潮.md", "a:b", "a.b.c", "a\u200db", "x" * 248])
def test_ordinary_paths_are_allowed(path: str) -> None:
    assert PATH.match(path)


@each_case("path", ["", "/a", "a/", "a//b", ".git", "a/.git", "a\\b", "a\n", "a.", "a ", "\u2024git", " a", "\0"])
def test_what_is_no_path_is_not_allowed(path: str) -> None:
    assert not PATH.match(path)


@each_case(
    ("tags", "allowed"),
    [
        ("*", True),
        ('"a"', True),
        ('W/"a", "b"', True),
        ('"a",, "b" ,', True),
        ('""', True),
        ("a", False),
        ('"a" "b"', False),
        ("*, *", False),
        ("", False),
    ],
)
def test_lists_of_entity_tags_are_those_of_http(tags: str, allowed: bool) -> None:
    assert bool(re.match(TAGS_PATTERN.replace("$", r"\Z"), tags)) is allowed
    assert not re.match(REVISION_PATTERN, tags)
