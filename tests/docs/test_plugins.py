"""The plugin that the page on plugins builds works as written there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from agent import agent
from shell import Shell, play, transcript
from support import ROOT

PAGE = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """The one block of the page in a language."""
    (found_value,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(found_value)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder in which the page's plugin is installed."""
    package = tmp_path / "reading-list" / "reading_list"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(block("python"), encoding="utf-8")
    (package.parent / "pyproject.toml").write_text(block("toml"), encoding="utf-8")
    target = tmp_path / "site"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run(
        [*command, "--disable-pip-version-check", "--target", str(target), str(package.parent)], check=True, timeout=120
    )
    return target


def test_the_steps_of_the_page_make_a_plugin_that_works(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(installed))
    library = tmp_path / "library"
    library.mkdir()
    play(transcript(block("console")), library, codes=False)
    (titles,) = re.findall(r'gets `(\{"titles".*?\})`', PAGE)
    environment = {"PYTHONPATH": str(installed), "COMMONPLACE_PORT": "0", "HOME": str(tmp_path)}
    with agent("mcp", "--toolset", "kb", library, env=environment) as reader:
        assert reader.text("unread_books").replace("\n", "") in {titles, titles.replace(" ", "")}
    findings = Shell(library, environment)("doctor", "--json").json["findings"]
    assert [finding for finding in findings if finding["check"] == "plugin"] == []
