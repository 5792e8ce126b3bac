"""A process in which system calls fail: it makes one kind of write again and again, each time with a later failure.

`python worker.py NAME FAULT PARTS FOLDER STRIDE SECONDS` with the shim preloaded: NAME of a write, FAULT of one or
`all`, PARTS `store` for calls on the folder and its state, `index` for those on the index, FOLDER an empty folder to
work in. STRIDE is how many calls later the next failure comes; 0 for every call, at first those far apart and then
those between, so that what was tried is spread evenly whenever SECONDS are over. Prints a line of JSON for each case.
"""

from __future__ import annotations

import gc
import importlib
import json
import logging
import os
import pickle
import pkgutil
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import commonplace.index
import commonplace.plugins
import commonplace.services
import commonplace.store
from commonplace.bootstrap import Application
from commonplace.domain.addresses import Address
from commonplace.domain.errors import Code, KnowledgeError
from commonplace.domain.revisions import revision_of
from commonplace.index import open_index
from commonplace.plugins import entry_points
from commonplace.services import writes
from commonplace.services.services import Services
from commonplace.settings import load_settings
from commonplace.store import open_store
from commonplace.toolsets.projects.service import PROJECTS_KEY
from fault.calls.shim import FAULTS, Fault, Shim
from fault.calls.writes import PROJECT, WRITES, Write, prepared, projects
from indexed import answers

SECONDS = 110
"""Timeout of one case in seconds."""
LAST = 100_000
"""More calls than any write makes."""
STAGED = "staged.md"
WORDS = ("begin", "text", "next", "tide", "new", "words")
GIT = ("-c", "user.name=T", "-c", "user.email=t@example.org")
STAMP = re.compile(rb"\d{4}-\d\d-\d\dT[\d:.]+Z?")
NEXT = b"# Next\n\nA write that follows, see [[b]].\n"


def git(folder: Path, *arguments: str) -> str:
    """The output of the git command."""
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else f"{done.stdout}{done.stderr}"


@dataclass(frozen=True, slots=True)
class State:
    """The state that a user would find."""

    files: Mapping[str, bytes]
    commits: int
    status: Sequence[str]

    def differs(self, other: State) -> str:
        """The differences in words; "" if there are none."""
        files = sorted(
            path for path in self.files.keys() | other.files if self.files.get(path) != other.files.get(path)
        )
        parts = [f"files {files}"] if files else []
        if self.commits != other.commits:
            parts.append(f"{self.commits} commits instead of {other.commits}")
        if self.status != other.status:
            parts.append(f"status {self.status} instead of {other.status}")
        return ", ".join(parts)


def state_of(folder: Path) -> State:
    """The files, and what Git says of them."""
    paths = [path for path in folder.rglob("*") if ".git" not in path.parts and path.is_file()]
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    if not (folder / ".git").exists():
        return State(files, 0, ())
    count = git(folder, "rev-list", "--count", "HEAD")
    status = git(folder, "status", "--porcelain", "--untracked-files=all").splitlines()
    return State(files, int(count) if count.isdigit() else 0, status)


Answers = Mapping[str, object]
"""Answers of an index by query."""


@dataclass(frozen=True, slots=True)
class Right:
    """The expected state after a write that was rolled back, or committed."""

    state: State
    answers: Answers
    """Answers of a fresh index after the next write."""


class Case:
    """One folder with everything that is open on it."""

    def __init__(self, write: Write, place: Path) -> None:
        self.write = write
        self.place = place
        self.folder = place / "base"
        flags: dict[str, Any] = {
            "kb": [str(self.folder)], "cache_dir": str(place / "cache"), "state_dir": str(place / "state"),
            "embed": False, "tier": "admin",
        }  # fmt: skip
        if write.folder == "projects":
            flags |= {"toolset": "projects", "knowledge_home": str(self.folder)}
        elif write.folder == "git":
            flags["commit"] = "auto"
        self._application = Application([self.folder], load_settings(flags=flags))

    @property
    def services(self) -> Services:
        """The open services."""
        return self._application.services

    def close(self) -> None:
        """Close everything."""
        self._application.close()

    def write_next(self) -> None:
        """One more write, which must succeed."""
        if self.write.folder == "projects":
            projects("update_project_main", content="# The next\n")(self.services)
        else:
            writes.create(self.services.collections.members[0], Address("next.md"), NEXT)

    def unlike(self, fresh: Answers) -> str:
        """The differences between the index and a fresh one; "" if there are none."""
        if self.write.folder == "projects":
            return ""
        index = self.services.collections.members[0].index
        index.sync()
        kept_answers = answers(index, WORDS)
        return ", ".join(part for part, right in fresh.items() if kept_answers[part] != right)

    def fresh(self) -> Answers:
        """The answers of a fresh index."""
        if self.write.folder == "projects":
            return {}
        fresh = open_index(open_store(self.folder, commit="manual", state_dir=self.place / "state"), self.place / "new")
        try:
            fresh.sync()
            return answers(fresh, WORDS)
        finally:
            fresh.close()


def template(write: Write, place: Path) -> dict[str, Any]:
    """Make what every case of a write begins with, index included."""
    folder = prepared(write, place)
    if write.folder in {"git", "manual"}:
        git(folder, "init", "--quiet", "--initial-branch=main", "--template=")
        git(folder, "add", "--all")
        git(folder, *GIT, "commit", "--quiet", "--message=Begin")
        (folder / STAGED).write_text("# Staged by the user\n")
        git(folder, "add", STAGED)
    case = Case(write, place)
    if write.folder == "projects":
        projects("update_project_main", content=f"# {PROJECT}\n")(case.services)
    if write.before:
        write.before(case.services)
    for path, content in write.edits.items():
        (folder / path).write_text(content)
    if write.folder != "projects":
        case.services.collections.members[0].index.sync()
    case.close()
    return {"problems": []}


def outcome(write: Write, services: Services) -> tuple[str, str]:
    """The outcome of a write (`done`, `refused` with a code, or `raised` for an unexpected error), and its message."""
    try:
        write.act(services)
    except KnowledgeError as error:
        return ("raised" if error.code is Code.INTERNAL else f"refused {error.code.value}"), f"{error} {error.hint}"
    except Exception as error:  # noqa: BLE001 - whatever comes is what the case is about
        return "raised", f"{type(error).__name__}: {error}"
    return "done", ""


def judged(case: Case, ended: str, rights: tuple[Right, Right]) -> list[str]:
    """The violations after a write with this outcome, once calls no longer fail."""
    expected = rights[ended == "done"]
    problems: list[str] = []
    try:
        case.write_next()
    except Exception as error:  # noqa: BLE001 - the next write must succeed, whatever it is that stops it
        problems.append(f"the next write failed: {type(error).__name__}: {error}")
    left = state_of(case.folder)
    right = expected.state
    if wrong := without_next(left, case.write).differs(without_next(right, case.write)):
        problems.append(f"{ended}, but {wrong}")
    if left.commits != right.commits + (case.write.folder in {"git", "projects"}):
        problems.append(f"{left.commits} commits after {right.commits}")
    if (case.folder / ".git").exists():
        if said := git(case.folder, "fsck", "--strict", "--no-dangling"):
            problems.append(f"fsck: {said}")
        posixes = (path.relative_to(case.folder).as_posix() for path in (case.folder / ".git").rglob("*"))
        rest = [name for name in posixes if name.endswith(".lock") or "commonplace-" in name]
        problems += [f"left over: {rest}"] if set(rest) - {".git/commonplace.lock"} else []
    if ended == "done":
        problems += [f"lost: {text!r}" for text in case.write.takes if not is_kept(case, text.encode())]
    if unlike := case.unlike(expected.answers):
        problems.append(f"the index is not as a fresh one: {unlike}")
    return problems


def is_kept(case: Case, content: bytes) -> bool:
    """Whether bytes that no commit has are in the trash, or in a Git object."""
    trash = case.services.collections.members[0].store.trash
    if trash is not None and any(trash.content(item) == content for item in trash.items()):
        return True
    return git(case.folder, "cat-file", "blob", revision_of(content)) == content.decode().strip()


def without_next(state: State, write: Write) -> State:
    """A state without what the next write did to it, and without the times that documents of projects bear."""
    own = {"next.md"} if write.folder != "projects" else set[str]()
    files = {path: content for path, content in state.files.items() if path not in own}
    if write.folder == "projects":
        paths = (path for path in files if not path.endswith(("main.md", "index.json", ".log")))
        files = {path: STAMP.sub(b"", files[path]) for path in paths}
    return State(files, 0, [line for line in state.status if line[3:] not in own])


PARTS = {"store": ("base", "state"), "index": ("cache",)}
"""Folders whose calls fail, below the place of a case."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The parameters of every case."""

    write: Write
    fault: Fault
    parts: str


def run_case(plan: Plan, at: int, shim: Shim, place: Path, rights: tuple[Right, Right]) -> dict[str, Any]:
    """Make the write with its `at`-th call failing, and look at what is there then."""
    write = plan.write
    case = Case(write, place)
    if write.folder != "projects":
        case.services.collections.members[0].index.sync()
    else:
        _ = case.services.of(PROJECTS_KEY)
    shim.arm(plan.fault, at, [place / part for part in PARTS[plan.parts]])
    ended, said = outcome(write, case.services)
    shim.disarm()
    fired, where = shim.fired, shim.where.replace(str(place), "")
    problems = [] if ended != "raised" else [f"raised {said}"]
    problems += judged(case, ended, rights)
    if plan.parts == "index":
        case.close()  # else the process just ends: closing takes texts into the index, which no call hindered
    return {"at": at, "fired": fired, "where": where, "ended": ended, "said": said, "problems": problems}


def in_child(act: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The result of a function that runs in a separate process, or the way in which the process ended."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.alarm(SECONDS)
        with os.fdopen(writer, "wb") as out:
            try:
                reported_text = pickle.dumps(act())
            except BaseException as error:  # noqa: BLE001 - a child has nobody to raise to
                reported_text = pickle.dumps({"problems": [f"the case itself failed: {type(error).__name__}: {error}"]})
            out.write(reported_text)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as buffered_reader:
        text = buffered_reader.read()
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return {"problems": ["hangs" if name == "SIGALRM" else f"died of {name}"]}
    return pickle.loads(text)  # noqa: S301 - from this very program


def reference(write: Write, place: Path, base: Path) -> tuple[Right, Right]:
    """The expected states after the write is rolled back, and after it is committed."""
    rights: list[Right] = []
    for acts in (False, True):
        shutil.copytree(base, place, symlinks=True)
        child = in_child(lambda acts=acts: unhindered(write, place, acts=acts))
        assert not child["problems"], child
        rights.append(Right(child["state"], child["answers"]))
        shutil.rmtree(place)
    return rights[0], rights[1]


def unhindered(write: Write, place: Path, *, acts: bool) -> dict[str, Any]:
    """Make the write, or not, and the next one, without a fault."""
    case = Case(write, place)
    ended, said = outcome(write, case.services) if acts else ("done", "")
    state = state_of(place / "base")
    case.write_next()
    fresh = case.fresh()
    case.close()
    return {"problems": [] if ended == "done" else [said], "state": state, "answers": fresh}


SPREAD = 16
"""Distance between failing calls in the first round, if every call is to fail."""


def rounds(stride: int) -> list[range]:
    """The failing calls of each round; later rounds halve the gaps between the calls of earlier ones."""
    if stride:
        return [range(0, LAST, stride)]
    bits = SPREAD.bit_length() - 1
    firsts = sorted(range(SPREAD), key=lambda first: f"{first:0{bits}b}"[::-1])
    return [range(first, LAST, SPREAD) for first in firsts]


def fail_in_turn(plan: Plan, base: Path, turns: range, shim: Shim, rights: tuple[Right, Right], until: float) -> None:
    """Fail at one call after another, until the write ends before its failure comes or the time is over."""
    place = base / "case"
    for at in turns:
        if time.monotonic() > until:
            return
        shutil.copytree(base / "template", place, symlinks=True)
        child = in_child(lambda at=at: run_case(plan, at, shim, place, rights))
        shim.disarm()
        shown = {"write": plan.write.name, "fault": plan.fault.name, "at": at, "counted": shim.counted, **child}
        print(json.dumps(shown), flush=True)  # noqa: T201
        with suppress(OSError):
            shutil.rmtree(place)
        if not shim.fired:
            return


def warm() -> None:
    """Load whatever a case would load, and look for plugins once, so that no child has to."""
    for package in (commonplace.index, commonplace.store, commonplace.services, commonplace.plugins):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    points = metadata.entry_points()
    entry_points.installed = lambda group: list(points.select(group=group))


def main(write: Write, faults: Sequence[Fault], parts: str, base: Path, stride: int, seconds: float) -> None:
    """Try every fault."""
    until = time.monotonic() + seconds if seconds else float("inf")
    logging.disable(logging.CRITICAL)
    warm()
    shim = Shim(Path(os.environ["FAULT_CONTROL"]))
    made = in_child(lambda: template(write, base / "case"))
    assert not made["problems"], made
    (base / "case").rename(base / "template")
    rights = reference(write, base / "case", base / "template")
    gc.freeze()
    for turns in rounds(stride):
        for fault in faults:
            fail_in_turn(Plan(write, fault, parts), base, turns, shim, rights, until)


if __name__ == "__main__":
    (chosen,) = (write for write in WRITES if write.name == sys.argv[1])
    wanted = [fault for fault in FAULTS if sys.argv[2] in {fault.name, "all"}]
    main(chosen, wanted, sys.argv[3], Path(sys.argv[4]), int(sys.argv[5]), float(sys.argv[6]))
