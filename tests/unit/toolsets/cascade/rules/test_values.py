"""Concepts as values."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain.json import Json
from commonplace.toolsets.cascade.rules.concepts import read_concept
from commonplace.toolsets.cascade.rules.values import (
    ConceptSection,
    Contribution,
    Dissent,
    EffectiveSection,
    LayerRank,
    by_precedence,
    contributor_cutoff,
    merged_values,
    resolve,
    scalar_as_text,
)


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


def layer(name: str, level: int, text: str, order: int = 0) -> Contribution:
    return Contribution(LayerRank(name, level, order), read_concept("c", text.encode()))


HIGH = layer("high", 3, "---\ntitle: High\n---\n## A\n\nhigh a\n")
LOW = layer("low", 0, "---\ntitle: Low\ntags: [x]\n---\nintro\n\n## A\n\nlow a\n\n## B\n\nlow b\n")


def test_the_highest_layer_wins_by_section_and_by_key() -> None:
    concept = resolve("c", [LOW, HIGH])
    assert concept.frontmatter == {"title": "High", "tags": ["x"]}
    assert concept.provenance == {"title": "high", "tags": "low"}
    assert {section.section.key: (section.layer, section.section.content) for section in concept.sections} == {
        "a": ("high", "high a"),
        "": ("low", "intro"),
        "b": ("low", "low b"),
    }
    assert [contributor.layer for contributor in concept.contributors] == ["high", "low"]
    assert concept.title == "High"


def test_what_layers_say_otherwise_is_kept_beside_what_won() -> None:
    concept = resolve("c", [LOW, HIGH])
    (section,) = [effective_section for effective_section in concept.sections if effective_section.section.key == "a"]
    assert [(dissent.layer, dissent.content) for dissent in section.conflicts] == [("low", "low a")]
    assert {key: [dissent.value for dissent in said] for key, said in concept.value_conflicts.items()} == {
        "title": ["High", "Low"]
    }


@pytest.mark.parametrize("other", ["high a", "high a  ", "high a\r", "\nhigh a\n\n"])
def test_blanks_at_line_ends_are_no_disagreement(other: str) -> None:
    concept = resolve("c", [HIGH, layer("low", 0, f"## A\n\n{other}\n")])
    assert not concept.sections[0].conflicts


@pytest.mark.parametrize(("one", "other", "differ"), [("1", "true", True), ("1", "1.0", True), ("[a]", "[a]", False)])
def test_values_of_other_types_differ(one: str, other: str, differ: bool) -> None:
    concept = resolve("c", [layer("a", 1, f"---\nx: {one}\n---\n"), layer("b", 0, f"---\nx: {other}\n---\n")])
    assert ("x" in concept.value_conflicts) is differ


def test_the_date_of_a_document_is_no_disagreement() -> None:
    concept = resolve("c", [layer("a", 1, "---\nupdated: 2026\n---\n"), layer("b", 0, "---\nupdated: 2025\n---\n")])
    assert concept.value_conflicts == {}


def test_of_one_level_the_newest_and_then_the_first_counts() -> None:
    old, new = "---\nupdated: 2025-01-01\n---\n", "---\nupdated: 1 May 2026\n---\n"
    rows = [layer("old", 1, old, 0), layer("new", 1, new, 3), layer("undated", 1, "x", 1), layer("same", 1, new, 2)]
    assert [contribution.layer.name for contribution in by_precedence(rows)] == ["same", "new", "old", "undated"]
    assert by_precedence([*rows, layer("top", 2, "")])[0].layer.name == "top"


def test_a_full_override_cuts_off_what_is_below_it() -> None:
    concept = resolve(
        "c", [layer("top", 5, "---\nx: 1\n---\n"), layer("mid", 3, "---\noverride: Full\n---\n## A\n"), LOW]
    )
    assert concept.excluded == {"low"}
    assert [contributor.layer for contributor in concept.contributors] == ["top", "mid", "low"]
    assert "title" not in concept.frontmatter
    assert contributor_cutoff([{}, {"override": " FULL "}, {}]) == 2
    assert contributor_cutoff([{"override": ["full"]}, {}]) == 2
    assert contributor_cutoff([]) == 0


def test_a_section_that_a_layer_suppresses_has_no_dissents() -> None:
    concept = resolve("c", [layer("high", 3, "## A {override=none}\n\nwhy\n"), LOW])
    (section,) = [effective_section for effective_section in concept.sections if effective_section.section.key == "a"]
    assert section.suppressed
    assert section.conflicts == ()


def test_a_value_that_is_set_to_nothing_still_wins() -> None:
    values: list[tuple[str, dict[str, Json]]] = [("high", {"x": None}), ("low", {"x": 1, "y": 2})]
    assert merged_values(values) == ({"x": None, "y": 2}, {"x": "high", "y": "low"})


def test_nothing_merged_is_nothing() -> None:
    concept = resolve("c", [])
    assert (concept.frontmatter, concept.sections, concept.contributors, concept.title) == ({}, (), (), None)
