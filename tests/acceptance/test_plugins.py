"""Plugins installed with their entry points: what one adds, and that one that fails stops nothing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitRequestParams, ElicitResult, ResourceUpdatedNotification

from agent import Agent, Mode, agent
from serving import commonplace, served
from shell import Shell
from support import ROOT, eventually

PLUGINS = ROOT / "examples" / "plugins"


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both plugins installed as packages."""
    target = tmp_path_factory.mktemp("site")
    for name in ("harbour_tides", "leaky"):
        source = tmp_path_factory.mktemp("source") / name
        shutil.copytree(PLUGINS / name, source)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
        subprocess.run([*command, "--disable-pip-version-check", "--target", str(target), str(source)], check=True)
    return target


@pytest.fixture
def base(tmp_path: Path) -> Path:
    folder = tmp_path / "harbour"
    shutil.copytree(ROOT / "examples" / "kb", folder)
    return folder


def test_a_plugin_adds_a_tool_a_type_a_validator_and_a_hook(scratch: Path, base: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with agent("mcp", "--toolset", "kb", base, "--tier", "write", env={"PYTHONPATH": str(scratch)}, log=log) as writer:
        assert "tide_gauges" in writer.tools()
        _create_gauges(writer)
        assert writer.call("tide_gauges", words="gauge")["gauges"] == ["north-gauge", "south-gauge"]
        wrong = writer.refusal("tide_gauges", word="gauge")
        assert wrong["error_code"] == "VALIDATION_FAILED"
        schema = writer.call("kb_schema", kb_name="harbour")
        assert schema["relationship_types"]["measures"] == "measured_by"
        orientation = writer.call("kb_orient", kb_name="harbour")
        assert orientation["tides"]
        assert orientation["gauges_written"] == 2, "the hook before indexing saw each"
        assert wrong["retryable"] is False
        found_value = writer.call("kb_search", query="restore the database")
        assert found_value["results"][0]["id"] == "runbooks/restore-database", "the core's own tool is not shadowed"
    reported_text = log.read_text()
    assert "the tool kb_search is skipped" in reported_text
    assert "plugin leaky: The plugin is not used: RuntimeError: the boat has a hole" in reported_text


def test_a_plugin_of_every_tier_is_in_the_lowest_and_widens_none(scratch: Path, base: Path) -> None:
    with agent("mcp", "--toolset", "kb", base, env={"PYTHONPATH": str(scratch)}) as reader:
        assert "tide_gauges" in reader.tools()
        assert "kb_create" not in reader.tools()
        assert reader.protocol_error("kb_create", kb_name="harbour").error.code == -32602


def test_a_preset_of_a_plugin_begins_a_schema_and_its_validator_judges_what_is_there(scratch: Path, base: Path) -> None:
    (base / "gauge.md").write_text("---\ntype: tide_gauge\ntitle: Odd\nrange: 40\n---\nplace: quay\n")
    with agent("mcp", "--toolset", "kb", base, "--tier", "admin", env={"PYTHONPATH": str(scratch)}) as admin:
        assert admin.call("kb_manage", action="discover")["presets"] == ["harbour"]
        given_values = {"action": "set_schema", "kb_name": "harbour"}
        assert (
            admin.refusal("kb_manage", **given_values, schema={"preset": "none"})["error_code"] == "VALIDATION_FAILED"
        )
        assert admin.call("kb_manage", **given_values, schema={"preset": "harbour", "description": "Ours"})["set"]
        issues = admin.call("kb_qa_validate", entry_id="gauge", kb_name="harbour")["issues"]
        assert [(issue["rule"], issue["field"]) for issue in issues] == [("schema_violation", "range")]
    text = (base / "kb.yaml").read_text()
    assert "kb_type: harbour\n" in text
    assert "description: Ours\n" in text


@pytest.mark.soak
def test_doctor_names_what_is_not_used_and_a_plugin_adds_a_command(scratch: Path, base: Path) -> None:
    shell = Shell(base, {"PYTHONPATH": str(scratch), "COMMONPLACE_PORT": "0", "HOME": str(scratch)})
    done = shell("doctor", "--json")
    assert done.code == 1
    assert [(finding["check"], finding["subject"], finding["message"]) for finding in done.json["findings"]] == [
        ("plugin", "leaky", "The plugin is not used: RuntimeError: the boat has a hole"),
        ("plugin", "harbour-tides", "get_mcp_tools: the tool kb_search is skipped: there already is one"),
    ]
    (base / "kb.yaml").write_text("name: harbour\ntypes: [unclosed\n")
    lines = shell("doctor").lines
    assert any(line.startswith("harbour: error: kb.yaml, line ") for line in lines)
    assert shell.ok("tide-range", "1.5", "4").text == "2.5 m\n"
    assert shell("tide-range", "4", "1").code == 1
    assert shell("tide-range", "4", "much").code == 2
    assert "tide-range" in shell.ok("--help").text


@pytest.mark.soak
def test_doctor_finds_nothing_where_nothing_is_wrong(base: Path) -> None:
    fine = Shell(base, {"COMMONPLACE_PORT": "0", "HOME": str(base)}).ok("doctor", "--json").json
    assert (fine["count"], [finding for finding in fine["findings"] if finding["severity"] != "info"]) == (0, [])
    assert {"program", "git", "setting", "permissions", "disk", "index", "port"} <= {
        element["check"] for element in fine["looked_at"]
    }
    (finding,) = Shell(base, {"COMMONPLACE_PORT": "0", "HOME": str(base)})("doctor", "-C", "nowhere", "--json").json[
        "findings"
    ]
    assert finding["check"] == "opening"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_plugin_asks_the_client_and_offers_prompts_and_resources(scratch: Path, base: Path, mode: Mode) -> None:
    async def answer(context: object, params: ElicitRequestParams) -> ElicitResult:
        del context
        assert params.message == "How high is the water?"
        return ElicitResult(action="accept", content={"metres": 2.5})

    with agent(
        "mcp", "--toolset", "kb", base, env={"PYTHONPATH": str(scratch)}, mode=mode, elicitation_callback=answer
    ) as reader:
        client = reader.client
        assert reader.text("read_gauge") == "Noted: 2.5 m"
        assert reader.run(client.read_resource, "tides://level").contents[0].text == "2.5 m"
        assert {row.uri for row in reader.run(client.list_resources).resources} >= {"tides://level", "pyrite://kbs"}
        templates = {row.uri_template for row in reader.run(client.list_resource_templates).resource_templates}
        assert "tides://gauges/{id}" in templates
        prompts = {row.name for row in reader.run(client.list_prompts).prompts}
        assert {"plan_crossing", "research_topic"} <= prompts
        shown = reader.run(client.get_prompt, "plan_crossing", {"harbour": "Whitby"})
        assert shown.messages[0].content.text == "When is there water enough to leave Whitby?"


def test_a_client_that_cannot_be_asked_is_told_so(scratch: Path, base: Path) -> None:
    with agent("mcp", "--toolset", "kb", base, env={"PYTHONPATH": str(scratch)}, mode="legacy") as reader:
        assert "elicitation" in reader.refusal("read_gauge")["error"]
    with agent("mcp", "--toolset", "kb", base, env={"PYTHONPATH": str(scratch)}) as reader:
        assert reader.protocol_error("read_gauge").error.code == -32021


@pytest.mark.filterwarnings("ignore:resources/:mcp.shared.exceptions.MCPDeprecationWarning")
def test_who_follows_a_resource_is_told_of_its_change(scratch: Path, base: Path) -> None:
    urises: list[str] = []

    async def answer(context: object, params: ElicitRequestParams) -> ElicitResult:
        del context, params
        return ElicitResult(action="accept", content={"metres": 3})

    async def hear(message: object) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            urises.append(message.params.uri)

    more = {"elicitation_callback": answer, "message_handler": hear}
    with agent("mcp", "--toolset", "kb", base, env={"PYTHONPATH": str(scratch)}, mode="legacy", **more) as reader:
        reader.text("read_gauge")
        assert urises == []
        reader.run(reader.client.subscribe_resource, "tides://level")
        reader.text("read_gauge")
        eventually(lambda: urises == ["tides://level"])
        reader.run(reader.client.unsubscribe_resource, "tides://level")
        reader.text("read_gauge")
        assert urises == ["tides://level"]


def test_over_http_a_plugin_shows_nothing_that_the_key_may_not_see(
    scratch: Path, base: Path, tmp_path: Path, cache_dir: Path
) -> None:
    assert cache_dir.is_dir()
    closed = tmp_path / "closed"
    closed.mkdir()
    (closed / "south.md").write_text("---\ntype: tide_gauge\ntitle: Secret gauge\n---\nplace: south\n")
    keys = {
        name: commonplace("keys", "create", name, "--collection", name).stdout.strip() for name in ("harbour", "closed")
    }
    with served(base, closed, env={"PYTHONPATH": str(scratch)}) as server:
        completeds = {name: anyio.run(_gauges, f"{server.url}/mcp/kb", key) for name, key in keys.items()}
    assert completeds == {"harbour": [[], "refused"], "closed": [["south"], "place: south\n"]}


async def _gauges(url: str, key: str) -> list[Any]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        found_result = await client.call_tool("tide_gauges", {"words": "gauge"})
        assert found_result.structured_content is not None
        try:
            shown = (await client.read_resource("tides://gauges/south")).contents[0].text
        except MCPError:
            shown = "refused"
        return [found_result.structured_content["gauges"], shown]


def _create_gauges(writer: Agent) -> None:
    gauge = {"kb_name": "harbour", "entry_type": "tide_gauge"}
    made = writer.call("kb_create", **gauge, title="North gauge", body="place: north quay", metadata={"range": 3.5})
    assert made["file_path"] == "gauges/north-gauge.md"
    # On a busy machine the checks after a write may come too late for its answer, which then says so.
    assert all("not checked in time" in warning.get("message", "") for warning in made.get("warnings", ()))
    odd = writer.call("kb_create", **gauge, title="South gauge", body="place: south quay", metadata={"range": 40})
    assert odd["warnings"][0] == {
        "field": "range",
        "rule": "plausible_range",
        "expected": "at most 17.0 m",
        "got": "40",
        "severity": "warning",
    }
    refused = writer.refusal("kb_create", **gauge, title="Lost gauge", body="somewhere")
    assert refused["error_code"] == "VALIDATION_FAILED"
    assert "needs a line" in refused["error"]
