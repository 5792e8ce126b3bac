"""Nodes of foreign graphs as concepts."""

from __future__ import annotations

from commonplace.toolsets.cascade.rules.foreign import Fact, ForeignNode, concept_of


def test_facts_become_sections_and_links_a_section_of_their_own() -> None:
    facts = (Fact("Origin  Story", " text \n", "2026-05-01"), Fact("", "unnamed", None))
    concept = concept_of("ada", ForeignNode("Ada", "person", facts, ("babbage", "math/notes")))
    assert concept.frontmatter == {"type": "person", "title": "Ada", "updated": "2026-05-01"}
    assert [(section.key, section.heading, section.text, section.updated) for section in concept.sections] == [
        ("origin story", "## Origin Story {#origin story}", "text", "2026-05-01"),
        ("note", "## Note {#note}", "unnamed", "2026-05-01"),
        ("related", "## Related {#related}", "[[babbage]], [[math/notes]]", "2026-05-01"),
    ]


def test_a_node_that_says_nothing_is_a_concept_of_its_id() -> None:
    concept = concept_of("ada", ForeignNode("", "", (), ()))
    assert (concept.frontmatter, concept.sections) == ({"type": "concept", "title": "ada"}, ())


def test_the_latest_date_counts_however_it_is_written() -> None:
    facts = tuple(Fact("t", "x", date) for date in ("2026-05-01", "2 May 2026", "someday", None, "2025"))
    concept = concept_of("a", ForeignNode("A", "", facts, ()))
    assert concept.updated == "2 May 2026"
    assert [section.updated for section in concept.sections][-2:] == ["2 May 2026", "2025"]


def test_every_section_has_a_key_of_its_own() -> None:
    facts = tuple(Fact(topic, "x", None) for topic in ("Related", "related", "A", "a", "A-1"))
    keys = [section.key for section in concept_of("a", ForeignNode("", "", facts, ("b",))).sections]
    assert len(set(keys)) == len(keys) == 6
