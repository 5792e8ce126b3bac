"""Every kind of write with each of its system calls failing in turn: it is done and said so, or undone and said why."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from fault.calls.shim import FAULTS, Shim, compiled, compiler
from fault.calls.writes import WRITES
from support import ROOT

WORKER = Path(__file__).with_name("worker.py")
INDEXED = ("create", "rename", "delete", "kb_update", "rename without Git")
"""Writes of which the calls on the index fail in turn, too; it does the same for all others."""
WHOLE = [*((write.name, "store") for write in WRITES), *((name, "index") for name in INDEXED)]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="calls are counted as Linux makes them")
COMPILER = pytest.mark.skipif(compiler() is None and "REQUIRE_TOOLS" not in os.environ, reason="needs a C compiler")


@pytest.fixture
def quick_folder() -> Iterator[Path]:
    """A folder in memory where there is one: what fails is made to, and nothing waits for a disk."""
    memory = Path("/dev/shm")  # noqa: S108 - only where it lies; the folder itself has a name of its own
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        yield Path(name).resolve()


@LINUX
@COMPILER
@pytest.mark.parametrize(
    ("write", "fault", "parts", "stride"),
    [
        ("rename", "EIO", "store", 360),
        ("create", "ENOSPC from then on", "store", 14),
        ("create in one pack", "EIO", "store", 20),
        ("create", "EIO", "index", 180),
        ("rename", "EACCES from then on", "index", 180),
        ("kb_commit", "EIO", "store", 48),
        ("delete an edit", "EIO", "store", 80),
        ("delete without Git", "ENOSPC from then on", "store", 8),
    ],
)
@pytest.mark.sampled(6)
def test_a_write_with_a_failing_call_is_done_or_undone(
    write: str, fault: str, parts: str, stride: int, quick_folder: Path
) -> None:
    _assert_whole(_cases(quick_folder, write, fault, parts, stride))


@LINUX
@COMPILER
@pytest.mark.soak
@pytest.mark.timeout(3 * 3600)
@pytest.mark.parametrize(("write", "parts"), WHOLE)
def test_each_call_of_each_write_may_fail_in_each_way(
    write: str, parts: str, quick_folder: Path, record_property: Callable[[str, object], None]
) -> None:
    stride = int(os.environ.get("FAULT_STRIDE", "0"))
    cases = _cases(quick_folder, write, "all", parts, stride, os.environ.get("FAULT_SECONDS", "0"))
    tried = {(case["fault"], case["at"]) for case in cases if case["counted"] > case["at"]}
    record_property("cases", f"{len(tried)} of {_possible(cases)}")
    for ended, count in sorted(Counter(case.get("ended", "none") for case in cases).items()):
        record_property(ended, count)
    assert {case["fault"] for case in cases} == {fault.name for fault in FAULTS}
    _assert_whole(cases)


def _possible(cases: Sequence[dict[str, Any]]) -> int:
    """Number of calls that can fail, over all faults: the number counted when none fails."""
    return sum({case["fault"]: case["counted"] for case in cases if not case.get("fired", 1)}.values())


def _assert_whole(cases: Sequence[dict[str, Any]]) -> None:
    wrong = [case for case in cases if case["problems"]]
    assert not wrong, json.dumps(wrong, indent=1)
    assert cases[0].get("fired"), "no call could be made to fail"
    assert not all(case.get("fired", 1) for case in cases), "the last case of a round is a write that nothing hindered"


def _cases(folder: Path, write: str, fault: str, parts: str, stride: int, seconds: str = "0") -> list[dict[str, Any]]:
    """The worker's report on each case."""
    Shim(folder / "control")
    environment = {
        "PATH": os.environ["PATH"], "HOME": "/nonexistent", "LD_PRELOAD": str(compiled()),
        "PYTHONPATH": ":".join(str(ROOT / path) for path in ("src", "tests", "tests/helpers")),
        "FAULT_CONTROL": str(folder / "control"),
        "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
        **{f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("CACHE", "STATE", "DATA")},
    }  # fmt: skip
    command = [sys.executable, WORKER, write, fault, parts, folder / "work", str(stride), seconds]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]
