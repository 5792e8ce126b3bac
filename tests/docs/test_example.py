"""The example is what it says it is: well linked, in several scripts, and answering the question that `make run` asks.

It holds one broken link (`topics/monitoring` names a runbook that nobody has written) and one orphan
(`notes/lost-property`) on purpose: they are what `check` has to show. Everything else is in order.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent import Agent, agent, ids
from support import ROOT

EXAMPLE = ROOT / "examples" / "kb"


@pytest.fixture(scope="module")
def reader() -> Iterator[Agent]:
    with agent("mcp", "--toolset", "kb", EXAMPLE) as connected:
        yield connected


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("how do we restore the database after an outage?", "runbooks/restore-database"),
        ("What may be deleted when the disk is full?", "runbooks/free-disk-space"),
        ("係留場所の水深", "notes/潮位表の読み方"),
        ("تسليم المناوبة", "notes/دليل المناوبة"),
        ("Γραφείο λιμένα", "organizations/μαρίνα-γαλήνη"),
        ("gasteliegeplatze gebuhren", "notes/Gästeliegeplätze"),
        ("undo a deploy", "runbooks/roll-back-release"),
        ('"two primaries are worse than none"', "runbooks/promote-standby"),
        ("why did we not take a message broker", "decisions/0003-queue-in-the-database"),
    ],
)
def test_a_question_finds_its_page_first(reader: Agent, question: str, answer: str) -> None:
    assert ids(reader.call("kb_search", query=question, limit=5)["results"])[0] == answer


def test_one_link_is_broken_and_one_page_is_an_orphan_and_nothing_else_is_wrong(reader: Agent) -> None:
    issues = reader.call("kb_qa_validate", kb_name="harbour", severity="info")["issues"]
    assert sorted((issue["rule"], issue["entry_id"]) for issue in issues) == [
        ("broken_link", "topics/monitoring"),
        ("orphan_entry", "notes/lost-property"),
    ]


def test_it_is_described_by_its_own_kb_yaml(reader: Agent) -> None:
    orientation = reader.call("kb_orient", kb_name="harbour")
    assert orientation["kb_type"] == "handbook"
    assert orientation["total_entries"] == 37
    kinds = {row["entry_type"]: row["count"] for row in reader.call("kb_stats")["type_counts"]}
    assert kinds == {
        "runbook": 8, "document": 7, "decision": 5, "topic": 5, "event": 4, "note": 4, "organization": 3, "timeline": 1,
    }  # fmt: skip
    assert set(reader.call("kb_schema", kb_name="harbour")["types"]) >= set(kinds)


def test_its_events_stand_in_order_on_the_timeline(reader: Agent) -> None:
    dated = reader.call("kb_timeline")["events"]
    assert [row["date"] for row in dated] == sorted(row["date"] for row in dated)
    events = [row["date"] for row in dated if row["id"].startswith("events/")]
    assert events == ["2026-02-14", "2026-05-03", "2026-08-21", "2026-09-10"]
    grave = reader.call("kb_timeline", min_importance=7)["events"]
    assert [row["date"] for row in grave] == ["2026-02-14", "2026-08-21"]


def test_its_tags_nest(reader: Agent) -> None:
    tree = reader.call("kb_tags", kb_name="harbour", tree=True)["tree"]
    backup = next(tag for tag in tree if tag["name"] == "backup")
    assert {child["full_path"] for child in backup["children"]} == {"backup/drill", "backup/restore"}


def test_a_heading_in_a_fence_is_no_heading_of_the_page(reader: Agent) -> None:
    entry = reader.call("kb_get", entry_id="decisions/0003-queue-in-the-database")["entry"]
    assert "# not a heading" in entry["body"]
    hit = reader.call("kb_search", query="a comment in another dialect", limit=1)["results"][0]
    assert hit["id"] == entry["id"]


def test_a_stated_relation_is_seen_from_its_other_end(reader: Agent) -> None:
    backlinks = reader.call("kb_backlinks", entry_id="runbooks/restore-database", kb_name="harbour")["backlinks"]
    relations = {(link["id"], link["relation"]) for link in backlinks}
    assert ("runbooks/restore-drill", "supported_by") in relations


def run_demo(cache_dir: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "run_demo.py"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        env=os.environ | {"XDG_CACHE_HOME": str(cache_dir)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_make_run_answers_one_question_and_prints_the_entry(cache_dir: Path) -> None:
    printed = run_demo(cache_dir)
    assert 'An agent calls search {"query": "How do we restore the database after an outage?"} over MCP' in printed
    assert "[1] runbooks/restore-database.md" in printed
    entry = json.loads(printed[printed.index("{\n") :])["mcpServers"]["kb"]
    assert Path(entry["command"]).name == "commonplace"
    assert entry["args"] == ["mcp", str(EXAMPLE)]
