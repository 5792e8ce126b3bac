"""Concepts as JSON."""

from __future__ import annotations

import json

from commonplace.toolsets.cascade.rules.concepts import read_concept
from commonplace.toolsets.cascade.rules.output import raw_json, resolved_json
from commonplace.toolsets.cascade.rules.values import Contribution, LayerRank, resolve


def layer(name: str, level: int, text: str) -> Contribution:
    return Contribution(LayerRank(name, level, 0), read_concept("c", text.encode()))


HIGH = layer("high", 3, "---\ntitle: High\nupdated: 2026-01-01\n---\n## A {#a}\n\nnew\n\n## Gone {override=none}\n")
LOW = layer("low", 0, "---\ntitle: Low\nupdated: 2026-02-01\n---\n## A {#a}\n\nold\n\n## Gone\n\ntext\n")


def test_a_resolved_concept_names_its_parts_with_their_sources_in_the_order_of_the_contract() -> None:
    shown = resolved_json(resolve("c", [LOW, HIGH]))
    assert list(shown) == [
        "id",
        "contributors",
        "frontmatter",
        "frontmatterProvenance",
        "sections",
        "markdown",
        "frontmatterConflicts",
    ]
    assert shown["contributors"] == [
        {"layer": "high", "level": 3, "updated": "2026-01-01"},
        {"layer": "low", "level": 0, "updated": "2026-02-01"},
    ]
    high = {"layer": "high", "level": 3, "updated": "2026-01-01", "value": "High"}
    low = {"layer": "low", "level": 0, "updated": "2026-02-01", "value": "Low"}
    assert shown["frontmatterConflicts"] == [{"key": "title", "winner": high, "contributions": [high, low]}]
    assert shown["sections"] == [
        {
            "key": "a",
            "heading": "## A {#a}",
            "content": "new",
            "sourceLayer": "high",
            "sourceUpdated": "2026-01-01",
            "conflicts": [{"layer": "low", "updated": "2026-02-01", "content": "old"}],
            "fresherDissent": True,
        },
        {
            "key": "gone",
            "heading": "## Gone {override=none}",
            "content": "",
            "sourceLayer": "high",
            "sourceUpdated": "2026-01-01",
            "suppressed": True,
        },
    ]
    json.dumps(shown)


def test_layers_that_agree_have_no_conflicts() -> None:
    shown = resolved_json(resolve("c", [LOW]))
    assert "frontmatterConflicts" not in shown
    assert resolved_json(resolve("c", [])) == {
        "id": "c",
        "contributors": [],
        "frontmatter": {},
        "frontmatterProvenance": {},
        "sections": [],
        "markdown": "",
    }


def test_a_dissent_that_looks_the_same_is_escaped() -> None:
    latin, cyrillic = (
        layer("a", 1, "---\nx: cap\n---\n## A\n\ncap\n"),
        layer("b", 0, "---\nx: c\u0430p\n---\n## A\n\nc\u0430p\n"),
    )
    shown = json.loads(json.dumps(resolved_json(resolve("c", [latin, cyrillic]))))
    (conflict,) = shown["sections"][0]["conflicts"]
    assert (conflict["escaped"], conflict["winnerEscaped"]) == ("c\\u0430p", "cap")
    assert [contribution["escaped"] for contribution in shown["frontmatterConflicts"][0]["contributions"]] == [
        "cap",
        "c\\u0430p",
    ]


def test_the_raw_form_shows_what_a_layer_holds_and_what_is_wrong_with_it() -> None:
    shown = raw_json(HIGH.concept, "high", {"gone"})
    assert shown["raw"] is True
    sections = json.loads(json.dumps(shown["sections"]))
    assert [(section["key"], section["override"], section.get("suppressed")) for section in sections] == [
        ("a", None, None),
        ("gone", "none", True),
    ]
    assert "findings" not in shown
    broken = raw_json(read_concept("c", b"---\ntitle: [\n---\ntext\n"), "low")
    (finding,) = json.loads(json.dumps(broken["findings"]))
    assert (finding["rule"], finding["severity"]) == ("bad_yaml", "error")
