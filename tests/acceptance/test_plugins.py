"""Plugins installed with their entry points: what one adds, and that one that fails stops nothing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agent import Agent, agent
from support import ROOT

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
    with agent("mcp", base, "--tier", "write", env={"PYTHONPATH": str(scratch)}, log=log) as writer:
        assert "tide_gauges" in writer.tools()
        _create_gauges(writer)
        assert writer.call("tide_gauges", words="gauge")["gauges"] == ["north-gauge", "south-gauge"]
        wrong = writer.refusal("tide_gauges", word="gauge")
        assert wrong["error_code"] == "VALIDATION_FAILED"
        schema = writer.call("kb_schema", kb_name="harbour")
        assert schema["relationship_types"]["measures"] == "measured_by"
        assert "tides" in writer.call("kb_orient", kb_name="harbour")
        found = writer.call("kb_search", query="restore the database")
        assert found["results"][0]["id"] == "runbooks/restore-database", "the core's own tool is not shadowed"
    told = log.read_text()
    assert "the tool kb_search is skipped" in told
    assert "plugin leaky is not used: RuntimeError: the boat has a hole" in told


def test_a_plugin_of_every_tier_is_in_the_lowest_and_widens_none(scratch: Path, base: Path) -> None:
    with agent("mcp", base, env={"PYTHONPATH": str(scratch)}) as reader:
        assert "tide_gauges" in reader.tools()
        assert "kb_create" not in reader.tools()
        assert reader.protocol_error("kb_create", kb_name="harbour").error.code == -32602


def _create_gauges(writer: Agent) -> None:
    gauge = {"kb_name": "harbour", "entry_type": "tide_gauge"}
    made = writer.call("kb_create", **gauge, title="North gauge", body="place: north quay", metadata={"range": 3.5})
    assert made["file_path"] == "gauges/north-gauge.md"
    assert "warnings" not in made
    odd = writer.call("kb_create", **gauge, title="South gauge", body="place: south quay", metadata={"range": 40})
    assert odd["warnings"] == ["range: expected at most 17.0 m, got 40"]
    refused = writer.refusal("kb_create", **gauge, title="Lost gauge", body="somewhere")
    assert refused["error_code"] == "VALIDATION_FAILED"
    assert "needs a line" in refused["error"]
