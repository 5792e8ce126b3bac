"""Four server processes write to one folder at once: nothing acknowledged is lost, and a stale write is reported."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from support import Amount, GitRepo, MakeRepo
from wire import Wire, wire

WRITERS = 4
SHARED = 5


@dataclass
class Outcome:
    """The acknowledgements that one writer received."""

    acknowledged: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    stale: int = 0


@pytest.mark.soak
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("cache_dir")
def test_four_processes_lose_no_acknowledged_write(git_repo: MakeRepo, amount: Amount) -> None:
    edits = amount(15, 60)
    names = [f"shared-{n}" for n in range(SHARED)] + [f"own-{writer}" for writer in range(WRITERS)]
    pages = {f"{name}.md": f"---\nid: {name}\ntitle: {name}\n---\n\nBegin\n" for name in names}
    repo = git_repo(name="kb", files=pages)
    with ThreadPoolExecutor(WRITERS) as pool:
        outcomes = list(pool.map(lambda number: _write(repo, number, edits), range(WRITERS)))
    acknowledged = [element for outcome in outcomes for element in outcome.acknowledged]
    assert sum(outcome.stale for outcome in outcomes) + len(acknowledged) == WRITERS * edits
    assert int(repo.git("rev-list", "--count", "HEAD")) == len(acknowledged) + 1
    lines = repo.git("log", "--raw", "--no-abbrev", "--no-renames", "--format=").splitlines()
    committed = [(line.split("\t")[1], line.split()[3]) for line in lines if line]
    assert sorted(set(acknowledged) - set(committed)) == []
    assert repo.git("status", "--porcelain") == ""
    repo.git("fsck", "--strict", "--no-dangling")
    _assert_all_searchable(repo.path, acknowledged)


def _write(repo: GitRepo, number: int, edits: int) -> Outcome:
    outcome = Outcome()
    chance = Random(number)
    with wire("mcp", "--toolset", "kb", repo.path, "--tier", "write", "--commit", "auto") as server:
        server.initialize()
        for step in range(edits):
            result = _edit(server, number, step, chance)
            shown = json.loads(result["content"][0]["text"])
            if result.get("isError"):
                assert shown["error_code"] == "CONFLICT", shown
                assert len(shown["current_revision"]) == 40
                outcome.stale += 1
            else:
                outcome.acknowledged.append((shown["file_path"], shown["revision"]))
    return outcome


def _edit(server: Wire, number: int, step: int, chance: Random) -> dict[str, Any]:
    """A new page, a change to the writer's own, or one to a shared page as it was read."""
    body = f"writer {number} step {step} unmistakable{number}x{step}"
    kind = chance.randrange(3)
    if kind == 0:
        arguments = {"kb_name": "kb", "entry_type": "note", "title": f"New {number} {step}", "body": body}
        result = server.call("kb_create", **arguments)
    elif kind == 1:
        assert server.call("kb_get", kb_name="kb", entry_id=f"own-{number}") is not None
        result = server.call("kb_update", kb_name="kb", entry_id=f"own-{number}", body=body)
    else:
        page = f"shared-{chance.randrange(SHARED)}"
        seen = server.call("kb_get", entry_id=page, kb_name="kb")
        assert seen is not None
        revision = seen["structuredContent"]["entry"]["revision"]
        result = server.call("kb_update", kb_name="kb", entry_id=page, body=body, revision=revision)
    assert result is not None
    return result


def _assert_all_searchable(folder: Path, acknowledged: list[tuple[str, str]]) -> None:
    """A new process finds every page that was created, by the words in it."""
    created = [path for path, _ in acknowledged if path.startswith("notes/")]
    with wire("mcp", "--toolset", "kb", folder) as server:
        server.initialize()
        for path in created:
            word = "unmistakable" + path.removeprefix("notes/new-").removesuffix(".md").replace("-", "x")
            found_values = server.call("kb_search", query=word)
            assert found_values is not None
            assert path in {row["file_path"] for row in found_values["structuredContent"]["results"]}
