"""The ways in which people install the wheel, walked outside the checkout up to an agent's first answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from release.environments import Installed, environment, first_answer, linked_environment, outside
from support import ROOT

pytestmark = [
    pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only a checkout knows its tracked files"),
    pytest.mark.timeout(600),  # the packages are installed with the first test
]


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    """The wheel, built from this checkout."""
    return next(built.glob("*.whl"))


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's programs, with the packages that it needs without any extra; `pip-git` installs them by pip."""
    return linked_environment(tmp_path_factory.mktemp("environment") / "venv", wheel)


@pytest.fixture
def program(programs: Path, tmp_path: Path) -> Installed:
    """The command line of it, for a user with an empty home."""
    return Installed(programs / "commonplace", tmp_path)


def walk(program: Installed) -> None:
    """Check the way from an empty folder to an agent's first answer."""
    head = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert f"({head.stdout.strip()}" in program("--version").stdout
    notes = program.home / "notes"
    notes.mkdir()
    program("write", "tea", "--kb", notes, stdin="Green tea wants water of 80 degrees.\n")
    assert "80 degrees" in program("search", "how hot for green tea?", "--kb", notes).stdout
    program("connect", "cursor", "-C", notes, "--yes")
    written = json.loads((program.home / ".cursor" / "mcp.json").read_text())
    entry = written["mcpServers"]["notes"]
    assert Path(entry["command"]).resolve() == program.program.resolve()
    assert "tea.md" in first_answer(entry, program.home, "hot green tea")


def test_the_wheel_leads_to_an_agents_first_answer(program: Installed) -> None:
    walk(program)


def test_without_the_extra_the_model_is_not_downloaded_and_what_is_missing_is_named(program: Installed) -> None:
    refused = program("model", "install", code=2)
    assert "not installed: faiss, numpy, onnxruntime, tokenizers, onnx." in refused.stderr
    for library in ("faiss-cpu", "numpy", "onnx", "onnxruntime", "tokenizers"):
        assert f"'{library}<" in refused.stderr, "the command installs the whole extra"
    assert "commonplace[" not in refused.stderr, "no name of an index is told"
    assert "download" not in refused.stderr
    assert not list(program.home.rglob("*.whl"))


def _ends(command: list[str | Path], home: Path) -> None:
    done = subprocess.run(
        command, env=outside(home), cwd=home, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("way", ["pip-git", "pipx", "uv-tool", "uvx"])
def test_each_way_of_the_readme_leads_to_an_agents_first_answer(way: str, wheel: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    if way == "pip-git":
        walk(Installed(environment(tmp_path / "venv", f"git+{ROOT.as_uri()}") / "commonplace", home))
        return
    tools = environment(tmp_path / "tools", "pipx", "uv")
    if way == "pipx":
        _ends([tools / "pipx", "install", "--python", sys.executable, wheel], home)
        walk(Installed(home / ".local" / "bin" / "commonplace", home))
    elif way == "uv-tool":
        _ends([tools / "uv", "tool", "install", "--python", sys.executable, wheel], home)
        walk(Installed(home / ".local" / "bin" / "commonplace", home))
    else:
        script = home / "commonplace"
        script.write_text(
            f'#!/bin/sh\nexec "{tools}/uvx" --python {sys.executable} --from "{wheel}" commonplace "$@"\n'
        )
        script.chmod(0o755)
        (home / "notes").mkdir()
        run = Installed(script, home)
        run("write", "tea", "--kb", home / "notes", stdin="Green tea wants water of 80 degrees.\n")
        assert "80 degrees" in run("search", "green tea", "--kb", home / "notes").stdout


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_the_suites_of_kb_and_of_the_command_line_pass_against_the_wheel() -> None:
    command = [sys.executable, str(ROOT / "tools" / "release" / "check_wheel.py")]
    plain = {name: value for name, value in os.environ.items() if name != "SOAK"}
    done = subprocess.run(command, env=plain, capture_output=True, text=True, check=False, timeout=850)
    assert done.returncode == 0, done.stdout[-4000:]
