"""A write of the store is repeated a bounded number of times."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cases import each_case
from commonplace.domain.changes import Revision
from commonplace.domain.errors import ConflictError
from commonplace.domain.ports import Transaction
from commonplace.toolsets.projects.remote.setup import open_project_store
from commonplace.toolsets.projects.service.project_store import IDENTITY, MAX_WRITE_ATTEMPTS, ProjectStore, SyncOutcome


@pytest.fixture
def projects(tmp_path: Path, cache_dir: Path) -> Iterator[ProjectStore]:
    opened = open_project_store(tmp_path / "store", cache_dir / "state", IDENTITY)
    yield ProjectStore(str(opened.path), opened.store, opened.folders, opened.origin, opened.activity)
    opened.origin.close()
    opened.activity.close()


def test_a_write_that_always_conflicts_is_attempted_as_often_as_the_limit_says(projects: ProjectStore) -> None:
    attempts: list[Transaction] = []

    def conflict(transaction: Transaction) -> Revision:
        attempts.append(transaction)
        raise ConflictError("The file was changed by hand.")

    with pytest.raises(ConflictError):
        projects.write("shop", "Edit", conflict)
    assert len(attempts) == MAX_WRITE_ATTEMPTS


def test_a_write_succeeds_after_one_conflict(projects: ProjectStore) -> None:
    attempts: list[Transaction] = []

    def conflict_once(transaction: Transaction) -> str:
        attempts.append(transaction)
        if len(attempts) == 1:
            raise ConflictError("The file was changed by hand.")
        return "written"

    assert projects.write("shop", "Edit", conflict_once) == "written"


@each_case(
    ("files", "pushed", "error", "told"),
    [
        (0, True, "", "Storage synchronized successfully"),
        (3, True, "", "Storage synchronized successfully"),
        (0, False, "no remote", "0 files committed; not pushed: no remote"),
        (1, False, "rejected", "1 file committed; not pushed: rejected"),
        (2_000, False, "x", "2,000 files committed; not pushed: x"),
    ],
)
def test_a_push_that_failed_is_told_with_what_was_committed(files: int, pushed: bool, error: str, told: str) -> None:
    assert SyncOutcome(files=files, message="m", pushed=pushed, error=error).told == told
