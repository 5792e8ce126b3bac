"""Evidence within a budget of tokens: the best sections with their headings, and never a character more."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent import Agent, agent, ids, text_of
from commonplace.domain.tokens import tokens_of
from shell import Shell
from support import ROOT

QUESTION = "how do we restore the database after an outage?"
BUDGETS = (200, 500, 1000, 2000, 8000)
LONG = "# Long\n\n" + "\n\n".join(f'## Part {n}\n\nA "quoted" line\\n of part {n}, kettle. ' * 9 for n in range(40))


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kb") / "harbour"
    shutil.copytree(ROOT / "examples" / "kb", folder)
    (folder / "notes" / "long.md").write_text(LONG)
    return folder


@pytest.fixture(scope="module")
def reader(harbour: Path) -> Iterator[Agent]:
    with agent("mcp", "--toolset", "kb", harbour) as connected:
        yield connected


def all_tokens(client: Agent, tool: str = "kb_search", **arguments: object) -> int:
    """Tokens of an answer: its text block and its structured content."""
    answer = client.raw(tool, **arguments)
    structured = json.dumps(answer.structured_content, ensure_ascii=False, separators=(",", ":"))
    return tokens_of(text_of(answer)) + tokens_of(structured)


def told(client: Agent, **arguments: object) -> Any:
    """The entry in the text block of an answer of kb_get; its structured content must not repeat the text."""
    shown = client.call("kb_get", **arguments)["entry"]
    assert "body" not in shown
    assert not any("text" in section for section in shown.get("sections", ()))
    return shown | json.loads(client.text("kb_get", **arguments))["entry"]


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("query", [QUESTION, "kettle", '"' * 300 + " kettle", "zzzz"])
def test_a_search_never_takes_more_than_its_budget(reader: Agent, budget: int, query: str) -> None:
    assert all_tokens(reader, query=query, max_tokens=budget) <= budget


def test_the_best_sections_come_with_their_headings_and_text(reader: Agent) -> None:
    found_value = reader.call("kb_search", query=QUESTION, max_tokens=1000)
    first = found_value["results"][0]
    assert first["id"] == "runbooks/restore-database"
    assert first["section"].startswith("Restore the database after an outage")
    assert {"kb_name", "entry_type", "file_path"} <= first.keys()
    assert "text" not in first, "the text block has it"
    text = json.loads(reader.text("kb_search", query=QUESTION, max_tokens=1000))
    assert [row["id"] for row in text["results"]] == ids(found_value["results"])
    assert len(text["results"][0]["text"]) > 200
    assert found_value["count"] == len(found_value["results"]) > 1
    assert found_value["has_more"] == (found_value["count"] < found_value["total"])


def test_more_room_is_used(reader: Agent) -> None:
    sizes = [all_tokens(reader, query=QUESTION, max_tokens=budget) for budget in (200, 1000, 2000)]
    assert sizes == sorted(sizes)
    assert sizes[1] > 600
    assert sizes[2] > 1300


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("entry", ["notes/long", "runbooks/restore-database", "welcome"])
def test_an_entry_never_takes_more_than_its_budget(reader: Agent, budget: int, entry: str) -> None:
    assert all_tokens(reader, "kb_get", entry_id=entry, max_tokens=budget, body_limit=50_000) <= budget
    assert all_tokens(reader, "kb_get", entry_id=entry, max_tokens=budget, query=QUESTION) <= budget


def test_a_cut_entry_says_how_to_go_on(reader: Agent) -> None:
    entry = told(reader, entry_id="notes/long", max_tokens=500)
    assert entry["body_truncated"]
    assert entry["body_chunk_size"] == len(entry["body"]) > 500
    rest = reader.call("kb_get", entry_id="notes/long", body_offset=entry["body_chunk_size"], body_limit=50_000)[
        "entry"
    ]
    assert (entry["body"] + rest["body"]).strip() == LONG.strip()


def test_an_entry_shows_its_sections_that_answer(reader: Agent) -> None:
    entry = told(reader, entry_id="notes/long", max_tokens=600, query="part 17 kettle")
    assert entry["sections"]
    assert all(section["section"].startswith("Long > Part") for section in entry["sections"])


@pytest.mark.parametrize("budget", [200, 1000])
def test_the_command_line_keeps_to_the_budget(harbour: Path, cache_dir: Path, budget: int) -> None:
    assert cache_dir.is_dir()
    shell = Shell(harbour)
    shown = shell("search", QUESTION, "--max-tokens", str(budget))
    assert 0 < tokens_of(shown.text) <= budget
    assert "runbooks/restore-database.md > Restore the database after an outage" in shown.text
    as_json = shell("search", QUESTION, "--max-tokens", str(budget), "--json")
    assert tokens_of(as_json.text) <= budget
    assert as_json.json["sections"][0]["heading"][0] == "Restore the database after an outage"


def test_ten_hits_with_snippets_take_at_most_6800_characters(reader: Agent) -> None:
    found_result = reader.raw("kb_search", query="database outage restore backup", limit=10)
    assert json.loads(text_of(found_result))["count"] == 10
    structured = json.dumps(found_result.structured_content, ensure_ascii=False, separators=(",", ":"))
    assert len(text_of(found_result)) + len(structured) <= 6_800


@pytest.mark.parametrize("budget", [300, 1000])
def test_sections_within_a_budget_go_on_at_an_offset_until_each_was_there_once(reader: Agent, budget: int) -> None:
    seen: list[tuple[str, str]] = []
    more = True
    while more:
        value = reader.call("kb_search", query=QUESTION, max_tokens=budget, offset=len(seen))
        assert value["count"] == len(value["results"]) > 0
        seen += [(row["id"], row["section"]) for row in value["results"]]
        more = value["has_more"]
    assert len(seen) == len(set(seen)) > 12
    assert len({entry for entry, _ in seen}) == value["total"] == reader.call("kb_search", query=QUESTION)["total"]
    assert reader.call("kb_search", query=QUESTION, max_tokens=1000, limit=1)["count"] == 1
    beyond = reader.call("kb_search", query=QUESTION, max_tokens=budget, offset=len(seen))
    assert (beyond["count"], beyond["has_more"]) == (0, False)


def test_an_entry_whose_sections_are_cut_says_how_to_read_the_rest(reader: Agent) -> None:
    cut = told(reader, entry_id="notes/long", max_tokens=300, query="part 17 kettle")
    assert cut["suggestion"].startswith("Text is left out: give a larger max_tokens")


def test_fields_choose_what_sections_of_a_search_have(reader: Agent) -> None:
    arguments = {"query": QUESTION, "max_tokens": 1000, "fields": ["summary", "tags", "nosuch"]}
    found_value = reader.call("kb_search", **arguments)
    for row in found_value["results"]:
        assert (
            {"id", "kb_name", "summary", "tags"} <= set(row) <= {"id", "kb_name", "summary", "tags", "title", "section"}
        )
    text = json.loads(reader.text("kb_search", **arguments))
    assert all({"id", "summary", "tags", "text"} <= set(row) for row in text["results"])
    assert "nosuch" in json.dumps(text["warnings"])
    for budget in BUDGETS:
        assert all_tokens(reader, **arguments | {"max_tokens": budget}) <= budget
