"""The page on the command line is true: its examples run, its tables are those of the program."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from commonplace.faces.cli.failures import EXIT_CODES
from commonplace.settings import every_setting
from shell import COMMAND, TIMEOUT
from support import ROOT, GitRepo

PAGE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
HEX = re.compile(r"\b[0-9a-f]{10}\b")
MOMENT = re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d\b")


def steps() -> list[tuple[str, str]]:
    """Every command of the page with what it should say, in order."""
    found: list[tuple[str, str]] = []
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL):
        for step in block.removeprefix("$ ").split("\n$ "):
            command, _, said = step.partition("\n")
            found.append((command, said))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example as somebody's repository."""
    copy = tmp_path_factory.mktemp("example") / "kb"
    shutil.copytree(ROOT / "examples" / "kb", copy)
    repo = GitRepo(copy)
    repo.git("init", "--quiet", "--initial-branch=main")
    repo.git("config", "user.name", "Test Writer")
    repo.git("config", "user.email", "writer@example.org")
    repo.commit("Begin")
    return copy


def test_the_examples_say_what_the_page_says(folder: Path) -> None:
    path = f"{Path(COMMAND[0]).parent}{os.pathsep}{os.environ['PATH']}"
    assert len(steps()) > 15
    for command, expected in steps():
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PATH": path},
            timeout=TIMEOUT,
            check=False,
        )
        assert _pattern(expected).fullmatch(_steady(done.stdout).rstrip("\n")), f"$ {command}\n{done.stdout}"


def _steady(text: str) -> str:
    """The text without what differs from run to run."""
    return MOMENT.sub("<moment>", HEX.sub("<id>", text))


def _pattern(expected: str) -> re.Pattern[str]:
    """What the page shows, in which an ellipsis stands for anything."""
    return re.compile(".*".join(map(re.escape, _steady(expected).rstrip("\n").split("…"))), re.DOTALL)


def test_the_exit_codes_are_those_of_the_program() -> None:
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", PAGE, re.MULTILINE)
    assert [(int(code), meaning) for code, meaning in rows] == list(EXIT_CODES)


def test_the_settings_are_those_of_the_program() -> None:
    rows = [
        f"| `{one.name}` | {_cell(one.text)} | {_cell(one.valid)} | {_cell(one.default)} |" for one in every_setting()
    ]
    table = "\n".join(["| setting | what it means | valid | default |", "|---|---|---|---|", *rows])
    shown = PAGE[PAGE.index("<!-- settings -->") + len("<!-- settings -->") : PAGE.index("<!-- /settings -->")].strip()
    assert shown == table, f"docs/command-line.md should hold this table:\n\n{table}"


def _cell(text: str) -> str:
    return text.replace("|", r"\|")
