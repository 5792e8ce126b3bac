"""A transaction killed before each of its steps in turn: after the next start all of it is there, or nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import Amount

SCRIPT = Path(__file__).with_name("store_crash_points.py")
BEFORE = {"a.md": "# A\n", "gone/b.md": "# B\n", "kept.md": "# Kept\n", "staged.md": "# Staged\n"}
AFTER = {"a.md": "# A\nmore\n", "p/q/new.md": "# New\n", "kept.md": "# Kept\n", "staged.md": "# Staged\n"}


@pytest.fixture
def quick_folder() -> Iterator[Path]:
    """A folder in memory where there is one: a kill cannot tell it from a disk, and nothing waits for the disk."""
    memory = Path("/dev/shm")  # noqa: S108 - only where it lies; the folder itself has a name of its own
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        yield Path(name).resolve()


def crash_points(kind: str, folder: Path, stride: int) -> list[dict[str, object]]:
    """The state after each crash, by step."""
    done = subprocess.run(
        [sys.executable, SCRIPT, kind, folder, str(stride)], capture_output=True, text=True, check=False, timeout=110
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("kind", ["plain", "manual", "root", "subfolder"])
@pytest.mark.sampled(4)
def test_a_kill_at_any_step_leaves_all_or_nothing(kind: str, quick_folder: Path, amount: Amount) -> None:
    stride = 1 if kind == "root" else amount(3, 1)
    points = crash_points(kind, quick_folder, stride)
    staged = {} if kind == "plain" else {"staged.md": "# Staged by the user\n"}
    outcomes = set()
    for number, point in enumerate(points):
        whole = point["files"] == AFTER | staged
        outcomes.add(whole)
        assert whole or point["files"] == BEFORE | staged, f"step {number}: {point}"
        assert point["folders"] == (["p", "p/q"] if whole else ["gone"]), f"step {number}: {point}"
        assert point["again"] == [], f"step {number}: the repair was not complete"
        if kind in {"root", "subfolder"}:
            _check_repository(number, point, "kb/" if kind == "subfolder" else "", committed=whole)
    assert outcomes == {True, False}
    assert len(points) * stride > 15, "too few steps to show anything"
    assert (points[-1]["killed"], points[-1]["repairs"]) == (False, [])


def _check_repository(number: int, report: dict[str, object], prefix: str, *, committed: bool) -> None:
    assert report["commits"] == (["All or nothing", "Begin"] if committed else ["Begin"]), f"step {number}: {report}"
    assert report["status"] == [f"M  {prefix}staged.md"], f"step {number}: {report}"
    assert report["fsck"] == ""
    assert set(report["left"]) <= {"commonplace.lock", "commonplace.journal"}, f"step {number}: {report}"
