"""The check of tracked text finds machine paths, registry hosts and unfinished work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support import ROOT, MakeRepo

CHANGELOG = "# Changelog\n\n## [Unreleased]\n"


def _check(project: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "check_text.py"), "--root", str(project)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("path", "line", "said"),
    [
        ("docs/a.md", "see /" + "home/kim/notes", "a path of one machine"),
        ("src/a.py", 'ROOT = "/' + 'root/x"', "a path of one machine"),
        ("requirements.lock", "a==1 # https:" + "//example.org/a", "a host in a lock file"),
        ("setup.cfg", "index" + "-url = x", "a registry named as an option"),
        ("docs/b.md", "pip install 'common" + "place[lsp]'", "this package as one of an index"),
        ("src/b.py", 'hint="uv tool install common' + 'place"', "this package as one of an index"),
        ("README.md", "uvx common" + "place mcp", "this package as one of an index"),
        ("docs/b.md", "from https:" + "//mirror.example/pypi/simple", "a registry host"),
        ("src/b.py", "x = 1  # TO" + "DO: later", "unfinished or untested work"),
        ("src/c.py", "raise NotImplemented" + "Error", "unfinished or untested work"),
        ("src/d.py", "x = f()  # type: " + "ignore", "a blanket exemption"),
    ],
)
def test_what_must_not_stand_in_a_tracked_file_is_named(git_repo: MakeRepo, path: str, line: str, said: str) -> None:
    repo = git_repo(files={"CHANGELOG.md": CHANGELOG, path: f"first\n{line}\n"})
    code, errors = _check(repo.path)
    assert code == 1
    assert f"{path}:2: {said}" in errors


def test_an_ordinary_project_is_clean(git_repo: MakeRepo) -> None:
    files = {"CHANGELOG.md": CHANGELOG, "docs/a.md": "In ~/notes or /etc/hosts; https://example.org/home/kim.\n"}
    assert _check(git_repo(files=files).path) == (0, "")


def test_the_word_for_a_list_of_tasks_is_an_ordinary_word(git_repo: MakeRepo) -> None:
    files = {"CHANGELOG.md": CHANGELOG, "src/a.py": 'FOLDER = "projects/TODO"\n'}
    assert _check(git_repo(files=files).path) == (0, "")


def test_an_ignored_file_is_not_looked_at(git_repo: MakeRepo) -> None:
    repo = git_repo(files={"CHANGELOG.md": CHANGELOG, ".gitignore": "local.txt\n"})
    repo.write("local.txt", "/" + "home/kim")
    assert _check(repo.path) == (0, "")


def test_a_changelog_without_its_open_section_is_named(git_repo: MakeRepo) -> None:
    repo = git_repo(files={"CHANGELOG.md": "# Changelog\n\n## [0.1.0]\n"})
    assert "no section '## [Unreleased]'" in _check(repo.path)[1]


def test_a_huge_file_is_named(git_repo: MakeRepo) -> None:
    repo = git_repo(files={"CHANGELOG.md": CHANGELOG, "data.bin": b"x" * 2_000_001})
    assert "2,000,001 bytes" in _check(repo.path)[1]
