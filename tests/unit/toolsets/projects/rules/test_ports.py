"""Sentences about the result of a sync."""

from __future__ import annotations

from cases import each_case
from commonplace.toolsets.projects.rules.ports import SyncOutcome


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
