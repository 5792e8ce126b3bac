"""SIGKILL at random moments of a write load: what was acknowledged stays, and the next start repairs the rest."""

from __future__ import annotations

import itertools
import json
import random
import threading
import time

import pytest

from support import Amount, GitRepo, MakeRepo
from wire import Wire, wire

PAGES = 8


@pytest.mark.timeout(3600)
@pytest.mark.usefixtures("cache_dir")
def test_no_acknowledged_write_is_lost_by_a_kill(git_repo: MakeRepo, amount: Amount) -> None:
    pages = {f"page-{n}.md": f"---\nid: page-{n}\ntitle: Page {n}\n---\n\nText\n" for n in range(PAGES)}
    repo = git_repo(name="kb", files=pages)
    chance = random.Random(20260101)
    acknowledged: list[tuple[str, str]] = []
    for round_number in range(amount(6, 300)):
        with wire("mcp", "--toolset", "kb", repo.path, "--tier", "write", "--commit", "auto") as server:
            server.initialize()
            assert server.call("kb_list") is not None
            acknowledged += _write_until_killed(server, round_number, chance)
    with wire("mcp", "--toolset", "kb", repo.path, "--tier", "write", "--commit", "auto") as server:
        server.initialize()
        stats = server.call("kb_stats")
    assert len(acknowledged) > amount(6, 300), "too few writes were acknowledged to show anything"
    _assert_kept(repo, acknowledged)
    files = list(repo.path.rglob("*"))
    hidden = [file for file in files if ".git" not in file.parts and file.name.startswith(".")]
    assert hidden == []
    assert stats is not None
    assert stats["structuredContent"]["total_entries"] == sum(file.suffix == ".md" for file in files)


def _write_until_killed(server: Wire, round_number: int, chance: random.Random) -> list[tuple[str, str]]:
    """Create and update pages until the process is gone; path and revision of each acknowledged write.

    It is killed some time after some writes, anywhere in one that takes as long as those before did.
    """
    done: list[tuple[str, str]] = []
    last, began, killer = chance.randrange(1, 7), time.monotonic(), None
    for step in itertools.count():
        if step == last:
            each = (time.monotonic() - began) / last
            killer = threading.Timer(chance.uniform(0.0, 1.2) * each, server.process.kill)
            killer.start()
        body = f"round {round_number} step {step} {'x' * chance.randrange(2_000)}"
        try:
            if chance.random() < 0.3:
                title = f"New {round_number} {step}"
                result = server.call("kb_create", kb_name="kb", entry_type="note", title=title, body=body)
            else:
                page = f"page-{chance.randrange(PAGES)}"
                if server.call("kb_get", kb_name="kb", entry_id=page) is None:
                    break
                result = server.call("kb_update", kb_name="kb", entry_id=page, body=body)
        except BrokenPipeError:
            break
        if result is None:
            break
        shown = json.loads(result["content"][0]["text"])
        assert not result.get("isError"), shown
        done.append((shown["file_path"], shown["revision"]))
    if killer:
        killer.join()
    return done


def _assert_kept(repo: GitRepo, acknowledged: list[tuple[str, str]]) -> None:
    """Every acknowledged state is in the history, one commit each; the files are what the last commit holds."""
    lines = repo.git("log", "--raw", "--no-abbrev", "--no-renames", "--format=").splitlines()
    committed = {(line.split("\t")[1], line.split()[3]) for line in lines if line}
    assert [element for element in acknowledged if element not in committed] == []
    assert int(repo.git("rev-list", "--count", "HEAD")) >= len(acknowledged) + 1
    assert repo.git("status", "--porcelain") == ""
    assert not (repo.path / ".git" / "index.lock").exists()
    repo.git("fsck", "--strict", "--no-dangling")
