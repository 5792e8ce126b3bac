"""The page on the command line is true: its examples run, its tables are those of the program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from commonplace.faces.cli.failures import EXIT_CODES
from shell import play, transcript
from support import ROOT, example_repo

PAGE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")


def steps() -> list[tuple[str, str]]:
    """Every command of the page with what it should say, in order."""
    blocks = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    return [step for block in blocks for step in transcript(block)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example as somebody's repository."""
    return example_repo(tmp_path_factory.mktemp("example") / "kb").path


def test_the_examples_say_what_the_page_says(folder: Path) -> None:
    assert len(steps()) > 15
    play(steps(), folder, codes=False)


def test_the_exit_codes_are_those_of_the_program() -> None:
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", PAGE, re.MULTILINE)
    assert [(int(code), meaning) for code, meaning in rows] == list(EXIT_CODES)
