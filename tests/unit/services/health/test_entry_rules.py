"""Findings of the rules in one entry, in a typed base and in a folder of plain pages."""

from __future__ import annotations

from pathlib import Path

from commonplace.domain.addresses import Address
from commonplace.services.health.entry_rules import entry_findings
from commonplace.services.listing import every_document
from commonplace.services.typed_entries import current_schema
from indexed import Indexed

TYPED = "name: base\n"


def found_in(place: Path, text: str, schema: str | None = TYPED, path: str = "entry.md") -> list[tuple[str, str]]:
    files: dict[str, str | bytes] = {path: text, **({} if schema is None else {"kb.yaml": schema})}
    with Indexed(place, files) as base:
        record = base.index.record(Address(path))
        assert record is not None
        findings = list(entry_findings(base.collection, current_schema(base.collection), record))
    return [(finding.rule, finding.severity.value) for finding in findings]


def test_importance_that_is_no_whole_number_from_1_to_10_is_a_finding(tmp_path: Path) -> None:
    values = ["0", "11", "-1", "true", "high", "[5]", "5.5", "1", "10", ""]
    files = {f"{number}.md": f"---\ntitle: A\nimportance: {value}\n---\nText.\n" for number, value in enumerate(values)}
    with Indexed(tmp_path, {"kb.yaml": TYPED, **files}) as base:
        schema = current_schema(base.collection)
        found_values = [
            values[int(record.address.stem)]
            for record in every_document(base.collection)
            for finding in entry_findings(base.collection, schema, record)
            if finding.rule == "importance_range"
        ]
    assert found_values == values[:-3]


def test_a_policy_of_any_number_of_days_ends_in_an_answer(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"a.md": "---\ntitle: A\nupdated: 2020-01-01\n---\nText.\n"}) as base:
        (record,) = every_document(base.collection)
        for days in ("99999999999", "1000000", "-1", "true", "soon", "36525"):
            base.write("kb.yaml", f"name: base\npolicies: {{stale_after_days: {days}}}\n")
            findings = entry_findings(base.collection, current_schema(base.collection), record)
            assert [finding.rule for finding in findings] == (["stale"] if days == "-1" else []), days


def test_rules_for_entries_count_one_step_less_in_a_page_of_a_plain_folder(tmp_path: Path) -> None:
    text = "---\nimportance: 11\ndate: someday\n---\n"
    rules = ["empty_body", "importance_range", "invalid_date"]
    assert sorted(found_in(tmp_path / "plain", text, None)) == list(
        zip(rules, ["info", "info", "warning"], strict=True)
    )
    typed = sorted(found_in(tmp_path / "typed", text))
    assert typed == [*zip(rules, ["warning", "warning", "error"], strict=True), ("missing_title", "error")]


def test_outside_of_a_typed_base_the_name_of_a_file_is_its_title_whatever_its_front_matter_says(tmp_path: Path) -> None:
    text = "---\nid: daily-note\naliases: []\ntags: []\ntype: note\n---\nText.\n"
    assert found_in(tmp_path, text, None) == []
    assert found_in(tmp_path / "typed", text) == [("missing_title", "error")]
    assert found_in(tmp_path / "titled", "---\ntype: note\n---\n# Über 文\n") == []


def test_what_the_base_and_the_type_ask_both_is_said_once(tmp_path: Path) -> None:
    request = "[{text: At least three links, checker: min_links, params: {count: 3}}]"
    schema = f"name: base\nevaluation_rubric: {request}\ntypes: {{note: {{evaluation_rubric: {request}}}}}\n"
    found_pairs = found_in(tmp_path, "---\ntitle: A\n---\nText.\n", schema)
    assert len([rule for rule, _ in found_pairs if rule == "rubric_violation"]) <= 1


def test_a_category_makes_no_entry_and_an_event_of_a_wiki_needs_no_date(tmp_path: Path) -> None:
    text = "---\ncategory: event\n---\nText.\n"
    assert found_in(tmp_path / "wiki", text, None) == []
    assert ("event_missing_date", "error") in found_in(tmp_path / "typed", text)
    plain = found_in(tmp_path / "plain", "---\ntype: event\n---\n# E\n\nT.\n", None)
    assert plain == [("event_missing_date", "warning")]
