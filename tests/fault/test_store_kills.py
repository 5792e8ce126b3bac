"""Writers that are killed at random moments, and several at once: nothing acknowledged is lost."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from commonplace.store import open_store
from support import Amount, GitRepo, MakeRepo

WRITER = Path(__file__).with_name("store_writer.py")
THREADS = 6
BEGIN: dict[str, str | bytes] = {"pair/left.md": "same\n", "pair/right.md": "same\n", "here/moved.md": "# Moved\n"}
Told = dict[str, object]


def start(folder: Path, state: Path, commit: str, name: str, count: int, threads: int = 1) -> subprocess.Popen[str]:
    """A writer process."""
    command = [sys.executable, WRITER, folder, state, commit, name, str(count), str(threads)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def told(output: str) -> list[Told]:
    """The acknowledged writes; a line that the kill cut off is no acknowledgement."""
    return [json.loads(line) for line in output.splitlines(keepends=True) if line.endswith("}\n")]


def check(folder: Path, writes: list[Told], repo: GitRepo | None) -> None:
    """Every line that was acknowledged in an appended page is there once; pairs are equal; the moved page is single."""
    for write in writes:
        line, path = str(write["line"]), next(iter(cast("list[str]", write["files"])))
        if path.startswith(("page-", "new/")):
            text = (folder / path).read_text()
            assert text.splitlines(keepends=True).count(line) == 1, f"{line!r} is {text.count(line)} times in {path}"
    assert (folder / "pair/left.md").read_bytes() == (folder / "pair/right.md").read_bytes()
    assert (folder / "here/moved.md").exists() + (folder / "there/moved.md").exists() == 1
    hidden = [path for path in folder.rglob(".*") if ".git" not in path.parts]
    assert hidden == []
    if repo:
        commits = repo.git("rev-list", "HEAD").splitlines()
        assert {str(write["commit"]) for write in writes} <= set(commits)
        assert repo.git("status", "--porcelain") == ""
        assert repo.git("fsck", "--strict", "--no-dangling") == ""
        left = {path.name for path in (repo.path / ".git").rglob("*commonplace*")}
        assert left == {"commonplace.lock", "commonplace.journal"}
        assert list((repo.path / ".git").rglob("*.lock")) == [repo.path / ".git/commonplace.lock"]


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", ["plain", "git"])
@pytest.mark.sampled(4)
def test_a_writer_killed_at_random_loses_nothing(kind: str, tmp_path: Path, git_repo: MakeRepo, amount: Amount) -> None:
    repo = git_repo("repo", {"kb/.keep": "", "other.md": "# Other\n"}) if kind == "git" else None
    folder = repo.path / "kb" if repo else tmp_path / "plain"
    folder.mkdir(exist_ok=True)
    (folder / ".keep").unlink(missing_ok=True)
    if repo:
        repo.commit("No keep")
    chance = random.Random(kind)
    writes: list[Told] = []
    rounds = amount(10, 300) if kind == "git" else amount(5, 100)
    for number in range(rounds):
        writer = start(folder, tmp_path / "state", "auto" if repo else "manual", f"round {number}", 0)
        assert writer.stdout
        for _ in range(chance.randrange(1, 8)):
            writes += told(writer.stdout.readline())
        killer = threading.Timer(chance.uniform(0.0, 0.03), writer.kill)
        killer.start()
        output, errors = writer.communicate(timeout=60)
        killer.join()
        assert writer.returncode == -signal.SIGKILL, errors
        writes += told(output)
    store = open_store(folder, commit="auto" if repo else "manual", state_dir=tmp_path / "state")
    store.recover()
    assert store.recover() == []
    assert len(writes) > rounds * 2, "too few writes were acknowledged to show anything"
    check(folder, writes, repo)


@pytest.mark.timeout(3600)
def test_threads_that_share_their_flushes_lose_nothing_to_a_kill(
    tmp_path: Path, git_repo: MakeRepo, amount: Amount, record_property: Callable[[str, object], None]
) -> None:
    repo = git_repo("repo", BEGIN)
    chance = random.Random("threads")
    writes: list[Told] = []
    flushes = 0
    for number in range(amount(3, 100)):
        writer = start(repo.path, tmp_path / "state", "auto", f"round {number}", 0, THREADS)
        assert writer.stdout
        lines = [writer.stdout.readline() for _ in range(chance.randrange(10, 60))]
        killer = threading.Timer(chance.uniform(0.0, 0.03), writer.kill)
        killer.start()
        output, errors = writer.communicate(timeout=60)
        killer.join()
        assert writer.returncode == -signal.SIGKILL, errors
        acknowledged = told("".join(lines) + output)
        flushes += max(int(str(write["flushes"])) for write in acknowledged)
        writes += acknowledged
    store = open_store(repo.path, commit="auto", state_dir=tmp_path / "state")
    store.recover()
    assert store.recover() == []
    record_property("writes", len(writes))
    record_property("flushes", flushes)
    assert flushes < 2 * len(writes), "no writes shared their flushes: those of files and of Git's index"
    check(repo.path, writes, repo)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", ["plain", "git"])
@pytest.mark.sampled(4)
def test_four_processes_lose_nothing(kind: str, tmp_path: Path, git_repo: MakeRepo, amount: Amount) -> None:
    repo = git_repo("repo", {"other.md": "# Other\n"}) if kind == "git" else None
    folder = repo.path if repo else tmp_path / "plain"
    folder.mkdir(exist_ok=True)
    count = amount(25, 250)
    commit = "auto" if repo else "manual"
    writers = [start(folder, tmp_path / "state", commit, f"writer {n}", count) for n in range(4)]
    writes: list[Told] = []
    for writer in writers:
        output, errors = writer.communicate(timeout=amount(110, 1800))
        assert writer.returncode == 0, errors
        writes += told(output)
    assert len(writes) == 4 * count
    check(folder, writes, repo)
    if repo:
        assert len({str(write["commit"]) for write in writes}) == 4 * count
        assert repo.git("rev-list", "--count", "HEAD") == str(4 * count + 1)
