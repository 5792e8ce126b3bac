"""`commonplace recent`: the newest first."""

from __future__ import annotations

import os

import pytest

from shell import Shell
from support import GitRepo


def test_the_last_change_comes_first(shell: Shell, repo: GitRepo) -> None:
    for at, path in enumerate(("lonely.md", "idea.md")):
        file = repo.write(path, f"# Changed {at}\n")
        os.utime(file, (2_000_000_000 + at, 2_000_000_000 + at))
    json = shell.ok("recent", "-n", "2", "--json").json
    assert [document["path"] for document in json["documents"]] == ["idea.md", "lonely.md"]
    assert (json["total"], json["limit"]) == (4, 2)
    lines = [line.split("\t") for line in shell.ok("recent").lines]
    assert [line[1] for line in lines[:2]] == ["idea.md", "lonely.md"]
    assert lines[0][0] == "2033-05-18 03:33"


@pytest.mark.parametrize("limit", ["0", "10001", "x"])
def test_a_number_that_cannot_be_is_refused(shell: Shell, limit: str) -> None:
    assert shell("recent", "-n", limit).code == 2


def test_an_empty_folder_says_so(shell: Shell, repo: GitRepo) -> None:
    (repo.path / "none").mkdir()
    done = shell.ok("recent", "-C", repo.path / "none")
    assert (done.text, done.stderr) == ("", "No pages.\n")
