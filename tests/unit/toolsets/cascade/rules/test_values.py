"""Concepts as values."""

from __future__ import annotations

from cases import each_case
from commonplace.domain.json import Json
from commonplace.toolsets.cascade.rules.values import ConceptSection, Dissent, EffectiveSection, scalar_as_text


@each_case(
    ("value", "text"),
    [
        (" a b ", "a b"),
        (5, "5"),
        (0, "0"),
        (1.5, "1.5"),
        (True, "true"),
        (False, "false"),
        ("", None),
        (" \n", None),
        (None, None),
        (["a"], None),
        ({"a": 1}, None),
        ([], None),
    ],
)
def test_a_scalar_has_a_text_and_nothing_else_has(value: Json, text: str | None) -> None:
    assert scalar_as_text(value) == text


def test_a_section_that_suppresses_states_nothing() -> None:
    plain = ConceptSection("a", "## A", "\n  text \n")
    assert (plain.content, plain.stated) == ("text", "text")
    gone = ConceptSection("a", "## A", "why", override="none")
    assert (gone.content, gone.stated) == ("why", "")
    assert EffectiveSection(gone, "high").suppressed
    assert not EffectiveSection(plain, "high").suppressed


@each_case(
    ("own", "others", "fresher"),
    [
        ("2026-05-01", ["2026-05-02"], True),
        ("2026-05-01", ["2026-05-01", "2025", None], False),
        ("2026-05", ["2026-05-31"], False),
        (None, ["2026"], False),
        ("2025", [], False),
    ],
)
def test_a_dissent_with_a_later_date_is_fresher(own: str | None, others: list[str | None], fresher: bool) -> None:
    dissents = tuple(Dissent("low", date, "x") for date in others)
    section = EffectiveSection(ConceptSection("a", None, "", own), "high", dissents)
    assert section.fresher_dissent is fresher
