"""Transcripts of real commands in a copy of the example, each in `transcripts/`, and what a shell is offered."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shell import Shell, play, transcript
from support import example_repo

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example as somebody's repository."""
    return example_repo(tmp_path_factory.mktemp("transcripts") / "kb").path


@pytest.mark.parametrize("file", TRANSCRIPTS, ids=lambda file: file.stem)
def test_commands_say_what_their_transcript_says(folder: Path, file: Path) -> None:
    play(transcript(file.read_text(encoding="utf-8")), folder)


def test_a_shell_is_offered_what_fits(folder: Path) -> None:
    shell = Shell(folder)
    shell.ok("index")

    def offered(*words: str) -> list[str]:
        return [line.partition("\t")[0] for line in shell.ok("__complete", *words).lines]

    assert shell.ok("__complete", "se").lines[1] == "search\tSearch pages by words and meaning, best first"
    assert offered("read", "runbooks/re") == [
        "runbooks/renew-certificates.md", "runbooks/restore-database.md", "runbooks/restore-drill.md",
    ]  # fmt: skip
    assert offered("read", "-C", "..", "runbooks/re") == [], "a folder without an index"
    assert offered("list", "--tag", "backup/") == ["backup/drill", "backup/restore"]
    assert offered("list", "--type", "dec") == ["decision"]
    assert offered("list", "--prefix", "ru") == ["runbooks/"]
    assert offered("search", "--so") == ["--sort"]
    assert offered("search", "tea", "--sort", "u") == ["updated"]
    assert offered("connect", "v") == ["vscode"]
    assert offered("check", "--okf", "") == [":files"]
    assert offered("check", "x") == offered("nonsense", "x") == offered("read", "topics/backups", "x") == []


def test_of_very_many_pages_a_shell_is_offered_the_folders(tmp_path: Path) -> None:
    for number in range(250):
        page = tmp_path / f"part {number % 5}" / f"{number}.md"
        page.parent.mkdir(exist_ok=True)
        page.write_text(f"# {number}\n")
    shell = Shell(tmp_path)
    shell.ok("index")
    assert shell.ok("__complete", "read", "").lines == [f"part {number}/" for number in range(5)]
    assert len(shell.ok("__complete", "read", "part 3/").lines) == 50


def test_completing_loads_neither_the_command_line_nor_the_index(folder: Path) -> None:
    Shell(folder).ok("index")
    code = (
        "import sys; from commonplace.main import main; main(['__complete', 'read', 'runbooks/re'])\n"
        "heavy = {'typer', 'pathlib', 'typing', 'tantivy', 'dataclasses', 'commonplace.settings'}\n"
        "sys.exit(', '.join(heavy & sys.modules.keys()) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("runbooks/")
