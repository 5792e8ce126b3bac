"""What other tests take for the command (the product loaded once, a process forked for each) is the command."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shell import COMMAND, Shell
from ways.preloaded import preloaded

LINES = [
    ["search", "tea", "--json"],
    ["search", "--limit", "many"],
    ["read", "nowhere"],
    ["check"],
    ["list", "--help"],
    ["write", "new/page", "-"],
    ["nothing"],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("folder")
    (folder / "tea.md").write_text("# Tea\n\nSee [[nowhere]].\n")
    return folder


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_a_forked_command_does_what_one_in_a_new_process_does(folder: Path, line: list[str]) -> None:
    forked = Shell(folder)(*line, stdin="# New\n")
    (folder / "new/page.md").unlink(missing_ok=True)
    fresh = Shell(folder, fresh=True)(*line, stdin="# New\n")
    (folder / "new/page.md").unlink(missing_ok=True)
    assert (forked.code, forked.stdout, forked.stderr) == (fresh.code, fresh.stdout, fresh.stderr)


def test_an_environment_that_may_matter_while_loading_needs_a_new_process(folder: Path) -> None:
    line = [*COMMAND, "list"]
    usual = dict(os.environ)
    assert preloaded().run(line, folder, usual, b"", 60) is not None
    assert preloaded().run(line, folder, {**usual, "HOME": str(folder)}, b"", 60) is None
