"""Who listens is told how long each step takes, also one that fails."""

from __future__ import annotations

import pytest

from commonplace.domain.timings import Step, listen, timed


def test_a_listener_is_told_each_step() -> None:
    told: list[tuple[Step, bool]] = []
    listen(lambda step, seconds: told.append((step, seconds >= 0)))
    with timed("push"), timed("fetch"):
        pass
    with pytest.raises(ValueError, match="full"), timed("queue"):
        raise ValueError("full")
    assert told == [("fetch", True), ("push", True), ("queue", True)]
