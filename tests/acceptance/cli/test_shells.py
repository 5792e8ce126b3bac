"""Completion in real shells: what one presses Tab on, with names that hold spaces."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shell import COMMAND, Shell

PRESS_TAB = """
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PROMPT='>'; autoload -U compinit && compinit -D -u; source ./completion; print REA\\DY"
zpty -r -m shell begun "*READY*"
zpty -w -n shell "$1"$'\\t'
zpty -r -m shell completed "*.md*"
print -r -- "$completed"
"""
"""A zsh that types into another one; what the other shows until a page's name stands there."""


def needs(shell: str) -> pytest.MarkDecorator:
    """Skips a test where a shell is not installed."""
    absent = shutil.which(shell) is None and "REQUIRE_TOOLS" not in os.environ
    return pytest.mark.skipif(absent, reason=f"needs {shell}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("idea", "two words"):
        page = tmp_path / "notes" / f"{name}.md"
        page.parent.mkdir(exist_ok=True)
        page.write_text(f"# {name.capitalize()}\n")
    Shell(tmp_path).ok("index")
    return tmp_path


@contextmanager
def script(folder: Path, shell: str) -> Iterator[Path]:
    """The script of a shell, in a file that lies in the folder for a `with` block."""
    file = folder / "completion"
    file.write_bytes(Shell(folder).ok("completion", shell).stdout)
    yield file
    file.unlink()


def run(folder: Path, *arguments: str) -> list[str]:
    """The lines that a shell writes which finds the command on its path."""
    environment = {**os.environ, "PATH": f"{Path(COMMAND[0]).parent}:{os.environ['PATH']}", "TERM": "dumb"}
    done = subprocess.run(
        arguments, cwd=folder, env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.splitlines()


def test_bash_offers_pages_whose_names_hold_spaces(folder: Path) -> None:
    request = 'COMP_WORDS=(commonplace read "notes/tw"); COMP_CWORD=2; _commonplace; printf "%s\\n" "${COMPREPLY[@]}"'
    with script(folder, "bash"):
        assert run(folder, "bash", "-c", f"source ./completion; {request}") == ["notes/two\\ words.md"]


@needs("fish")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("commonplace rest", ["restore\tBring a page back from a commit or from the trash"]),
        ("commonplace read n", ["notes/idea.md\tIdea", "notes/two words.md\tTwo words"]),
        ("commonplace read notes/two\\ w", ["notes/two words.md\tTwo words"]),
        ('commonplace read "notes/two w', ["notes/two words.md\tTwo words"]),
        ("commonplace read 'notes/two w", ["notes/two words.md\tTwo words"]),
        ("commonplace check --okf not", ["notes/"]),
        ('commonplace links "notes/two words.md" --bro', ["--broken"]),
    ],
)
def test_fish_offers_what_fits_however_it_is_quoted(folder: Path, typed: str, offered: list[str]) -> None:
    with script(folder, "fish"):
        assert run(folder, "fish", "--no-config", "-c", "source ./completion; complete -C $argv[1]", typed) == offered


@needs("zsh")
@pytest.mark.parametrize(
    ("typed", "completed"),
    [("commonplace read notes/tw", r"notes/two\ words.md"), ('commonplace read "notes/two w', "notes/two words.md")],
)
def test_zsh_completes_what_is_typed_however_it_is_quoted(folder: Path, typed: str, completed: str) -> None:
    with script(folder, "zsh"):
        assert completed in "".join(run(folder, "zsh", "-f", "-c", PRESS_TAB, "zsh", typed))
