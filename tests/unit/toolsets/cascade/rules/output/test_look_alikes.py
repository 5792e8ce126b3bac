"""Texts that differ and look the same."""

from __future__ import annotations

from cases import each_case
from commonplace.toolsets.cascade.rules.output import escaped, looks_like


@each_case(
    ("one", "other"),
    [
        ("\u0430pple", "apple"),
        ("caf\u00e9", "cafe\u0301"),
        ("a\u200bb", "ab"),
        ("a  b", "a b"),
        ("10\u201320", "10-20"),
        ("\u201ca\u201d", '"a"'),
        ("\u2160", "I"),
        ("\ufeffx", "x"),
    ],
)
def test_texts_that_are_shown_alike_are_told(one: str, other: str) -> None:
    assert looks_like(one, other)
    assert looks_like(other, one)
    assert escaped(one) != escaped(other)


@each_case(("one", "other"), [("a", "a"), ("a", "b"), ("a", "A"), ("", "x"), ("茶", "道")])
def test_other_texts_are_not(one: str, other: str) -> None:
    assert not looks_like(one, other)


def test_only_what_is_no_plain_character_is_escaped() -> None:
    assert escaped("a 'b' \"c\"\n~") == "a 'b' \"c\"\n~"
    assert escaped("é茶😀\t\x1b\u202e\ud800") == "\\xe9\\u8336\\U0001f600\\t\\x1b\\u202e\\ud800"
