"""Plugins that are malformed, that sleep, and that were written for the older server, in the real process."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent import Agent, agent
from plugin_findings import plugin_findings
from shell import COMMAND, Shell
from site_packages import add_plugin
from support import ROOT, eventually

REFERENCE = ("slips", "letters", "errands")
MALFORMED = {
    "types_class": "get_entry_types = lambda self: {'zettel': 7}",
    "types_text": "get_entry_types = lambda self: 'zettel'",
    "relations_list": "get_relationship_types = lambda self: ['owns']",
    "hooks_number": "get_hooks = lambda self: {'before_save': [5], 'after_save': 'x', 'before_index': [lambda: 1]}",
    "validators_rows": "get_validators = lambda self: [lambda kind, data, context: 5]",
    "tools_list": "get_mcp_tools = lambda self, tier: ['tool']",
    "presets_loop": "get_kb_presets = lambda self: (lambda d: d.update(x=d) or d)({})",
    "supplement_set": "get_orient_supplement = lambda self, name: {object()}",
    "prompts_exit": "get_mcp_prompts = lambda self: (_ for _ in ()).throw(SystemExit(3))",
    "resources_bytes": "get_mcp_resources = lambda self: {'x://y': b'read', 5: {}}",
    "commands_class": "get_cli_commands = lambda self: {'say': Plugin, 'search': print}",
    "context_number": "set_context = 5",
    "name_number": "name = 5",
}
"""The class body of each plugin, besides its name."""


def site_with(folder: Path, **plugins: str) -> Path:
    for name, body in plugins.items():
        add_plugin(folder, name, f"class Plugin:\n    name = {name!r}\n    {body}\n")
    return folder


def base_in(folder: Path) -> Path:
    base = folder / "base"
    base.mkdir()
    (base / "a.md").write_text("# Alpha\n\nThe first letter. [[b]]\n")
    (base / "b.md").write_text("# Beta\n\nThe second.\n")
    return base


def assert_core_answers(client: Agent) -> None:
    """Every tool of the toolset that only needs a base answers, and an entry is made, changed, linked and deleted."""
    name = {"kb_name": "base"}
    for tool in ("kb_list", "kb_timeline", "kb_stats", "kb_recent", "kb_list_entries", "kb_qa_status"):
        client.call(tool)
    for tool in ("kb_schema", "kb_orient", "kb_qa_validate", "kb_tags"):
        client.call(tool, **name)
    assert client.call("kb_search", query="letter")["results"][0]["id"] == "a"
    made = client.call("kb_create", **name, entry_type="note", title="New", body="Words.", validate=True)
    client.call("kb_update", **name, entry_id="new", body="Other words.", revision=made["revision"])
    client.call("kb_link", source_id="new", source_kb="base", target_id="a")
    client.call("kb_bulk_create", **name, entries=[{"entry_type": "note", "title": "Bulk", "body": "More."}])
    client.call("kb_qa_assess", **name, entry_id="new")
    client.call("kb_manage", action="show_schema", **name)
    client.call("kb_index_sync", **name)
    assert client.run(client.client.list_prompts).prompts
    assert client.run(client.client.list_resources).resources
    client.call("kb_get", entry_id="new", **name)
    assert client.call("kb_delete", entry_id="new", **name)["deleted"]


def test_with_thirteen_malformed_plugins_the_core_tools_answer_and_doctor_names_each(tmp_path: Path) -> None:
    environment = {"PYTHONPATH": str(site_with(tmp_path / "site", **MALFORMED))}
    base, log = base_in(tmp_path), tmp_path / "log"
    with agent("mcp", "--toolset", "kb", base, "--tier", "admin", env=environment, log=log) as client:
        assert_core_answers(client)
    assert "Traceback" not in log.read_text()
    findings = plugin_findings(base, environment)
    assert {name for name, _ in findings} == set(MALFORMED)
    rows = "a list of dicts with field, rule, expected and got"
    judged = f"get_validators: a validator gave a value of type int; expected {rows}"
    assert ("validators_rows", judged) in findings
    assert len(findings) == len(set(findings)), "each is said once"


ERRORS = """
class Own(BaseException):
    pass

def endless():
    return endless()

class Exits:
    def __getattribute__(self, name):
        raise SystemExit(4)

class Plugin:
    name = "errors"
    raised = {"eof": EOFError("gone"), "exit": SystemExit(3), "own": Own("it"), "error": ValueError("private")}

    def run(self, kind):
        if kind == "deep":
            endless()
        if kind in self.raised:
            raise self.raised[kind]

    def get_mcp_tools(self, tier):
        kinds = [*self.raised, "deep"]
        return {kind: {"description": kind, "handler": lambda _, kind=kind: self.run(kind)} for kind in kinds}

    def get_hooks(self):
        return {"before_save": [lambda entry, context: self.run(entry["title"])]}

    def get_entry_types(self):
        good = {"fields": {"weight": {"type": "number"}}}
        return {"first": good, "exits": Exits(), "number": 7, "last": good}
"""
"""Functions that raise each kind of error, and a bad type between good ones."""


def test_whatever_a_plugin_raises_names_it_and_ends_only_that_call(tmp_path: Path) -> None:
    add_plugin(tmp_path / "site", "errors", ERRORS)
    environment = {"PYTHONPATH": str(tmp_path / "site")}
    base = base_in(tmp_path)
    types = {"deep": "RecursionError", "eof": "EOFError", "exit": "SystemExit", "own": "Own", "error": "ValueError"}
    with agent("mcp", "--toolset", "kb", base, "--tier", "admin", env=environment) as client:
        assert client.call("kb_schema", kb_name="base")["types"].keys() >= {"first", "last"}
        for kind, error in types.items():
            assert client.refusal(kind)["error"] == f"The plugin errors gave no answer: {error}."
            made = {"kb_name": "base", "entry_type": "note", "title": kind, "body": "Words."}
            assert client.refusal("kb_create", **made)["error"].startswith("The plugin errors refused this: ")
        assert_core_answers(client)
    findings = plugin_findings(base, environment)
    assert ("errors", "get_entry_types: the type 'exits' failed: SystemExit: 4") in findings
    assert ("errors", "eof: failed: EOFError: gone") in findings
    assert ("errors", "before_save: a hook failed: Own: it") in findings
    assert not [message for _, message in findings if "before_save" in message and "private" in message], (
        "it may refuse"
    )


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Agent, Path, dict[str, str]]]:
    folder = tmp_path_factory.mktemp("reference")
    for name in REFERENCE:
        source = (ROOT / "tests" / "helpers" / "site_packages" / f"{name}.py").read_text()
        add_plugin(folder / "site", name, source, "pyrite.plugins")
    environment = {"PYTHONPATH": str(folder / "site")}
    base = base_in(folder)
    with agent("mcp", "--toolset", "kb", base, "--tier", "admin", env=environment) as client:
        yield client, base, environment


def test_with_plugins_of_the_older_server_the_core_tools_answer_and_doctor_finds_nothing_wrong(
    reference: tuple[Agent, Path, dict[str, str]],
) -> None:
    client, base, environment = reference
    assert_core_answers(client)
    assert plugin_findings(base, environment) == []


def test_classes_and_objects_are_types_with_fields_defaults_and_options(
    reference: tuple[Agent, Path, dict[str, str]],
) -> None:
    types: dict[str, Any] = reference[0].call("kb_schema", kb_name="base")["types"]
    assert types["slip"]["description"] == "One thought on one slip."
    assert types["slip"]["fields"]["maturity"] == {"type": "text", "default": "seed"}
    assert types["slip"]["fields"]["importance"] == {"type": "number", "default": 5}
    assert "body" not in types["slip"]["fields"]
    assert types["reading"]["fields"]["page_refs"] == {"type": "list"}
    assert types["letter"]["fields"]["addressee"]["type"] == "text"
    assert types["letter"]["fields"]["sealed"] == {"type": "checkbox", "default": False}
    assert types["errand"]["required"] == ["title", "assignee"]
    assert types["errand"]["fields"]["status"] == {"type": "select", "options": ["open", "done"], "default": "open"}
    assert types["errand"]["fields"]["urgency"] == {"type": "select", "options": ["low", "high"], "default": "low"}
    assert types["errand"]["fields"]["due"] == {"type": "text"}


def test_their_tools_validators_hooks_and_commands_work(reference: tuple[Agent, Path, dict[str, str]]) -> None:
    client, base, environment = reference
    given_values = {"kb_name": "base", "body": "Words."}
    slip = client.call("kb_create", **given_values, entry_type="slip", title="Slip one", metadata={"maturity": "old"})
    assert [
        (warning["field"], warning["rule"], warning["got"], warning["severity"]) for warning in slip["warnings"]
    ] == [("maturity", "enum", "old", "warning")]
    assert client.call("slip_inbox") == {"count": 1, "inbox": ["slip-one"]}
    assert client.call("slip_graph", entry_id="a") == {"center": "Alpha", "outlinks": ["b"], "backlinks": []}
    errand = {"entry_type": "errand", "title": "Errand", "metadata": {"assignee": "me"}}
    assert client.call("kb_create", **given_values, **errand)["file_path"] == "errands/errand.md"
    refused = client.refusal("kb_update", kb_name="base", entry_id="errand", status="lost")
    assert "an errand cannot be lost" in refused["error"]
    letter = client.call("kb_create", **given_values, entry_type="letter", title="Letter", metadata={"sealed": True})
    sealed = client.refusal("kb_update", kb_name="base", entry_id="letter", body="x", revision=letter["revision"])
    assert "the letter Letter is sealed" in sealed["error"]
    shown = client.call("kb_orient", kb_name="base")
    assert "create letter in base" in shown["letters"]
    assert client.call("errand_plan", title="x") == {"planned": "x"}
    shell = Shell(base, environment)
    assert shell.ok("slips", "count", "one two").text == "2 words\n"
    failed = shell("slips", "lose")
    assert (failed.code, failed.text) == (70, "")
    assert "the command slips of a plugin failed" in failed.stderr
    line = f"{COMMAND[0]} slips stack | head -n 1; echo ${{PIPESTATUS[0]}}"
    piped = subprocess.run(
        ["bash", "-c", line], cwd=base, env=os.environ | environment, capture_output=True, text=True, check=True
    )
    assert (piped.stdout, piped.stderr) == ("slip 0\n141\n", "")


def test_a_plugin_that_sleeps_holds_up_one_call_for_seconds_and_doctor_names_it(tmp_path: Path) -> None:
    sleeping = "get_hooks = lambda self: {'before_save': [wait], 'after_save': [wait], 'before_index': [wait]}"
    site = site_with(tmp_path / "site", sleepy=sleeping)
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    module = site / "sleepy.py"
    module.write_text(f"def wait(entry, context):\n    open({str(gate)!r}).read()\n\n\n{module.read_text()}")
    environment = {"PYTHONPATH": str(site)}
    base, log = base_in(tmp_path), tmp_path / "log"
    with agent("mcp", "--toolset", "kb", base, "--tier", "admin", env=environment, log=log) as client:
        assert_core_answers(client)
        eventually(lambda: "sleepy: before_save: a call did not return within 5 s" in log.read_text())
    assert log.read_text().count("sleepy: before_save") == 1, "it is said once"
    assert ("sleepy", "before_save: a call did not return within 5 s; until it does, no other is made") in (
        plugin_findings(base, environment)
    )
