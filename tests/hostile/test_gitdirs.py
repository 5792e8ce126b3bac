"""A folder with a crafted `.git`: whatever is asked of it, nothing outside is touched, run or shown."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hostile.gitdirs import Case, Ground, copied, exhausting_cases, make_ground
from hostile.gitfields import CASES
from hostile.gitruns import COMMANDS, TOOLS
from support import ROOT, Amount

MINUTES = 90
PARTS = 4
"""The cases are tried in so many tests, beside each other."""
Runs = Callable[[Path], dict[str, Any]]


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    """A home in which nothing is crafted yet."""
    return make_ground(tmp_path_factory.mktemp("ground"))


@pytest.fixture(scope="module")
def runs() -> Iterator[Runs]:
    """Runs every command and tool on a place, in a process of its own."""
    with subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("gitruns.py"))],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(str(ROOT / path) for path in ("src", "tests", "tests/helpers")),
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        streams = process.stdin, process.stdout

        def run(place: Path) -> dict[str, Any]:
            streams[0].write(json.dumps({"place": str(place)}) + "\n")
            streams[0].flush()
            answer: dict[str, Any] = json.loads(streams[1].readline())
            return answer

        yield run
        process.stdin.close()


def tried(case: Case, ground: Ground, runs: Runs, place: Path) -> tuple[dict[str, str], list[str]]:
    """The outcome of each command and tool on a crafted folder, and the violations."""
    crafted = copied(ground, place)
    try:
        case.craft(crafted)
        before = crafted.state()
        answer = runs(place)
        after = crafted.state()
    finally:
        shutil.rmtree(place, ignore_errors=True)
    touched = [name for name in sorted(before.keys() | after.keys()) if before.get(name) != after.get(name)]
    return answer["told"], [*answer["wrong"], *(f"touched {name}" for name in touched)]


def test_a_folder_that_nobody_crafted_is_read_and_written_by_everything(
    ground: Ground, runs: Runs, tmp_path: Path
) -> None:
    reported_values, wrong = tried(Case("nothing", lambda _: None), ground, runs, tmp_path / "place")
    assert wrong == []
    assert len(reported_values) == len(COMMANDS) + sum(len({name for name, _ in calls}) for calls in TOOLS.values())
    unfinished = {name: ending for name, ending in reported_values.items() if ending != "0"}
    assert unfinished == {
        "kb kb_commit": "git",  # every write was a commit
        "kb kb_push": "git",  # there is no remote
        "wiki semantic_search": "unavailable",
    }


FOUND = (
    "{tree}: noise",
    "commit says 0 bytes",
    "commit says 1000000000000 bytes",
    "index: cut",
    "commonplace.journal: link up",
)
"""Cases of the long run after which a traceback was logged."""


@pytest.mark.parametrize("name", FOUND)
@pytest.mark.sampled(6)
def test_a_damaged_repository_is_said_without_a_traceback(
    name: str, ground: Ground, runs: Runs, tmp_path: Path
) -> None:
    (case,) = (case for case in CASES if case.name == name)
    reported_values, wrong = tried(case, ground, runs, tmp_path / "place")
    assert wrong == []
    assert not {"internal", "70"} & set(reported_values.values())


@pytest.mark.timeout(MINUTES * 60)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.sampled(2)
def test_nothing_outside_a_crafted_folder_is_touched_run_or_shown(
    part: int,
    ground: Ground,
    runs: Runs,
    tmp_path: Path,
    amount: Amount,
    record_property: Callable[[str, object], None],
) -> None:
    chosen = random.Random(16).sample(CASES, len(CASES))[part::PARTS][: amount(1, len(CASES))]
    endings: Counter[str] = Counter()
    wrong: dict[str, list[str]] = {}
    for number, case in enumerate(chosen):
        reported_values, found_texts = tried(case, ground, runs, tmp_path / str(number))
        endings.update(reported_values.values())
        if found_texts:
            wrong[case.name] = found_texts
    record_property("cases", len(chosen))
    record_property("commands and tools", sum(endings.values()))
    record_property("endings", dict(endings.most_common()))
    assert wrong == {}


EVERY_RUN = ("a tree of 10^12 files", "costly patterns in .gitignore", ".gitattributes in the work tree: pipe",
             "a tree of 2,000 levels")  # fmt: skip


@pytest.mark.soak
@pytest.mark.timeout(MINUTES * 60)
@pytest.mark.parametrize("name", EVERY_RUN)
@pytest.mark.sampled(4)
def test_a_folder_on_which_an_unbounded_reader_would_never_end_is_answered(
    name: str, ground: Ground, runs: Runs, tmp_path: Path
) -> None:
    case = next(case for case in exhausting_cases() if case.name == name)
    report, wrong = tried(case, ground, runs, tmp_path / "place")
    assert wrong == []
    assert report["read a"] == report["write b --append new text"] == report["kb kb_create"] == "0"
