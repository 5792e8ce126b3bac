"""Rules of `kb.yaml`: an error if they are enforced, a warning if not; over the real process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent import Agent, agent

RULES = """name: {name}
validation: {{enforce: {enforce}}}
types:
  runbook:
    required: [title, owner]
    fields:
      minutes: {{type: number, min: 1, max: 480}}
      status: {{type: select, options: [draft, done]}}
"""
GOOD = "---\ntype: runbook\ntitle: Good # kept\nowner: harbour\nminutes: 5\n---\n# Good\n"
WRONG: list[dict[str, object]] = [{"minutes": 900}, {"minutes": "many"}, {"status": "lost"}, {"owner": None}]


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("rules")
    for name, enforce in (("strict", "true"), ("lenient", "false")):
        (folder / name).mkdir()
        (folder / name / "kb.yaml").write_text(RULES.format(name=name, enforce=enforce))
        (folder / name / "good.md").write_text(GOOD)
    return {name: folder / name for name in ("strict", "lenient")}


@pytest.fixture(scope="module")
def writer(bases: dict[str, Path]) -> Iterator[Agent]:
    with agent("mcp", "--toolset", "kb", *bases.values(), "--tier", "write") as connected:
        yield connected


@pytest.mark.parametrize("fields", WRONG, ids=str)
def test_an_enforced_rule_refuses_the_write_and_leaves_everything_as_it_was(
    fields: dict[str, object], writer: Agent, bases: dict[str, Path]
) -> None:
    before = {path.name: path.read_bytes() for path in bases["strict"].rglob("*") if path.is_file()}
    shown = writer.refusal("kb_update", kb_name="strict", entry_id="good", metadata=fields)
    assert (shown["error_code"], shown["retryable"]) == ("SCHEMA_VIOLATION", False)
    assert next(iter(fields)) in shown["error"]
    assert shown["suggestion"]
    new = {"owner": "harbour", **fields}
    shown = writer.refusal("kb_create", kb_name="strict", entry_type="runbook", title="New", body="x", metadata=new)
    assert shown["error_code"] == "SCHEMA_VIOLATION"
    assert {path.name: path.read_bytes() for path in bases["strict"].rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("fields", WRONG, ids=str)
def test_without_enforcement_the_same_comes_back_as_warnings(fields: dict[str, object], writer: Agent) -> None:
    title, new = f"New {fields}", {"owner": "harbour", **fields}
    made = writer.call("kb_create", kb_name="lenient", entry_type="runbook", title=title, body="x", metadata=new)
    assert any(next(iter(fields)) in warning for warning in map(str, made["warnings"]))


def test_what_keeps_the_rules_is_written(writer: Agent, bases: dict[str, Path]) -> None:
    made = writer.call("kb_update", kb_name="strict", entry_id="good", metadata={"minutes": 480})
    assert not made.get("warnings")
    assert (bases["strict"] / "good.md").read_text() == GOOD.replace("minutes: 5", "minutes: 480")
