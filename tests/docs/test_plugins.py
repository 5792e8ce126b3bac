"""The plugin that the page on plugins builds works as written there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from agent import agent
from shell import Shell, play, transcript
from site_packages import add_plugin
from support import ROOT

PAGE = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The blocks of the page in a language."""
    return [str(text) for text in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)]


def install(package: Path, project: str, modules: dict[str, str], target: Path) -> Path:
    """Install a package whose project file and modules are given as text; returns the folder that has it."""
    for name, text in modules.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text, encoding="utf-8")
    (package / "pyproject.toml").write_text(project, encoding="utf-8")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run(
        [*command, "--disable-pip-version-check", "--target", str(target), str(package)], check=True, timeout=120
    )
    return target


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder in which the page's plugin is installed."""
    modules = {"reading_list/__init__.py": blocks("python")[0]}
    return install(tmp_path / "reading-list", blocks("toml")[0], modules, tmp_path / "site")


def test_the_steps_of_the_page_make_a_plugin_that_works(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(installed))
    library = tmp_path / "library"
    library.mkdir()
    play(transcript(blocks("console")[0]), library, codes=False)
    (titles,) = re.findall(r'gets `(\{"titles".*?\})`', PAGE)
    environment = {"PYTHONPATH": str(installed), "COMMONPLACE_PORT": "0"}
    with agent("mcp", "--toolset", "kb", library, env=environment) as reader:
        assert reader.text("unread_books").replace("\n", "") in {titles, titles.replace(" ", "")}
    findings = Shell(library, environment)("doctor", "--json").json["findings"]
    assert [finding for finding in findings if finding["check"] == "plugin"] == []


def test_the_toolset_of_the_page_is_served_and_one_that_cannot_be_is_named(tmp_path: Path) -> None:
    _, registration, tools = blocks("python")
    modules = {"commonplace_titles/__init__.py": registration, "commonplace_titles/tools.py": tools}
    site = install(tmp_path / "commonplace-titles", blocks("toml")[1], modules, tmp_path / "site")
    add_plugin(site, "broken", "raise RuntimeError('no harbour')", "commonplace.toolsets")
    add_plugin(site, "other", "Plugin = dict", "commonplace.toolsets")
    taken = (
        "from commonplace.registration import ToolsetRegistration\nPlugin = ToolsetRegistration(name='notes', mcp='')"
    )
    add_plugin(site, "taken", taken, "commonplace.toolsets")
    environment = {"PYTHONPATH": str(site), "COMMONPLACE_PORT": "0"}
    base = ROOT / "examples" / "kb"
    with agent("mcp", "--toolset", "titles", base, env=environment) as reader:
        assert "Restore the database" in reader.call("find_titles", words="restore the database")["titles"][0]
        assert "words" in reader.refusal("find_titles", word="restore")["error"]
    shell = Shell(base, environment)
    told = {finding["subject"]: finding["message"] for finding in shell("doctor", "--json").json["findings"]}
    assert told["broken"] == "The toolset is not used: RuntimeError: no harbour"
    assert told["other"] == "The toolset is not used: its entry point names no ToolsetRegistration"
    assert told["taken"] == "The toolset is not used: another toolset is named 'notes'"
    unknown = shell("mcp", "--toolset", "nodes").stderr
    assert "expected one of cascade, kb, notes, pages, projects, wiki, titles" in unknown
