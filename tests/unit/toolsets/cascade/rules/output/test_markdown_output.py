"""The effective concept as Markdown."""

from __future__ import annotations

from cases import each_case
from commonplace.domain.frontmatter import read_frontmatter
from commonplace.domain.json import Json
from commonplace.toolsets.cascade.rules.concepts import read_concept
from commonplace.toolsets.cascade.rules.output import frontmatter_text, to_body, to_markdown
from commonplace.toolsets.cascade.rules.values import (
    Concept,
    ConceptSection,
    Contribution,
    LayerRank,
    ResolvedConcept,
    resolve,
)


def of(*texts: str) -> ResolvedConcept:
    """Layers of these texts, the highest first."""
    rows = [
        Contribution(LayerRank(f"l{at}", -at, at), read_concept("c", text.encode())) for at, text in enumerate(texts)
    ]
    return resolve("c", rows)


@each_case(
    "text",
    [
        "intro\n\n## A\n\ntext\n\n### B {#key}\n\nmore\n",
        "---\ntype: note\ntitle: T\n---\n\n# A\n\n```\n# no heading\n```\n\n## A\n\nagain\n",
        "## A\n\n```\nnever closed\n",
        "--- no frontmatter\n\n## A\n",
        "## A {#x updated=2026-01-01}\n\n    indented\n\n## Ü 茶\n\n😀\n",
        "## A\r\n\r\ntext\r\n",
        "",
    ],
)
def test_the_markdown_parses_to_the_same_frontmatter_and_sections(text: str) -> None:
    concept = of(text)
    again = read_concept("c", to_markdown(concept).encode())
    assert again.frontmatter == concept.frontmatter
    assert [(section.key, section.content) for section in again.sections] == [
        (section.section.key, section.section.content) for section in concept.sections
    ]


def test_a_fence_that_one_layer_leaves_open_hides_nothing_of_another() -> None:
    concept = of("## A\n\n```\nopen\n", "## A\n\nother\n\n## B\n\nb\n")
    again = read_concept("c", to_markdown(concept).encode())
    assert [section.key for section in again.sections] == ["a", "b"]


def test_dissents_stand_below_their_section_in_one_line_each() -> None:
    concept = of("## A\n\nnew\n", "---\nupdated: 2026-01-01\n---\n## A\n\nold\nlines\n")
    assert "> \u26a0 l1 disagrees (updated 2026-01-01): old lines" in to_markdown(concept).splitlines()
    assert "disagrees" not in to_body(concept)
    assert to_body(concept) == "## A\n\nnew"


def test_a_suppressed_section_is_omitted() -> None:
    concept = of("## A {override=none}\n", "## A\n\nsecret\n\n## B\n\nb\n")
    assert to_markdown(concept) == "## B\n\nb\n"


def test_a_heading_in_the_text_of_a_foreign_section_begins_no_section() -> None:
    concept = Concept("c", {}, (ConceptSection("a", "## A {#a}", "text\n# Not a heading\n"),))
    resolved_concept = resolve("c", [Contribution(LayerRank("f", 0, 0), concept)])
    again = read_concept("c", to_markdown(resolved_concept).encode())
    assert [section.key for section in again.sections] == ["a"]


@each_case(
    "values",
    [
        {},
        {"a": "text", "b": 5, "c": 1.5, "d": True, "e": None},
        {
            "date": "2026-01-01",
            "version": "1.0",
            "octal": "017",
            "time": "12:30",
            "yes": "yes",
            "null": "null",
            "~": "~",
        },
        {
            "empty": "",
            "blank": " ",
            "lines": "a\nb\n",
            "colon": "a: b",
            "hash": "a # b",
            "quote": 'it\'s "x"',
            "dash": "- a",
        },
        {"list": ["a", ["b", []], {"k": "v"}], "map": {"x": {}, "y": {"z": [1]}}, "none": []},
        {"key: odd": 1, "5": "five", "ü 茶": "😀", "true": "x", "": "empty key"},
        {"tab": "a\tb", "nul": "a\0b", "nel": "a\u0085b", "separator": "a\u2028b", "bom": "\ufeffa"},
    ],
)
def test_every_value_comes_back_from_the_frontmatter(values: dict[str, Json]) -> None:
    text = frontmatter_text(values)
    block = read_frontmatter(text.encode())
    assert not block.findings
    assert dict(block.values) == values
