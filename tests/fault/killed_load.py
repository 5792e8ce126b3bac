"""A process that forks one server of writes after the other, kills each at a random moment, and checks what is left.

`python killed_load.py PLACE KILLS SEED`: prints one line of JSON with what was counted; an assertion ends it.

The forked process opens store, index and proposals of `PLACE/base`, as a server does after a crash, tells the state
that it has found, and writes: it creates, replaces, edits, renames and deletes pages, creates several at once,
proposes, accepts and declines. Before each write it tells that it begins, after it the new state: the
current commit, the blob of each page, and the open proposals.
"""

from __future__ import annotations

import gc
import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import commonplace.index.other_versions
import commonplace.index.watcher  # noqa: F401 - forked processes find it loaded
from commonplace.domain.addresses import Address
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.revisions import revision_of
from commonplace.services import writes
from commonplace.services.proposals import decisions
from proposing import ProposedBase

PAGES = {f"page-{number}.md": f"# Page {number}\n\n[[page-{number + 1}]]\n\n## Part\n\nText.\n" for number in range(8)}
MAX_PAGES = 60
KILLS_OF_A_BASE = 250
"""Kills after which a new base is made: every check reads the whole repository."""
WAIT_SECONDS = 60.0
LOCKS = {"commonplace.lock", "commonplace-proposals.lock"}
"""Files that stay: the kernel releases the lock, not the name."""

State = dict[str, Any]
Act = Callable[[ProposedBase, random.Random, str], object]


def page(base: ProposedBase, chance: random.Random) -> Address:
    """A page that there is."""
    return chance.choice(sorted(address for address, _ in base.store.scan()))


def text(chance: random.Random, name: str) -> bytes:
    """A new text, now and then one of many blocks on the disk."""
    size = chance.choice((1, 1, 1, 40, 4_000))
    return f"# {name}\n\n[[page-1]]\n\n## Part\n\n{'words ' * size}\n\nThe end.\n".encode()


def create(base: ProposedBase, chance: random.Random, name: str) -> object:
    """Create a page, in a new folder every other time."""
    folder = chance.choice(("", f"{name}/in/"))
    return writes.create(base.collection, Address(f"{folder}{name}.md"), text(chance, name))


def replace(base: ProposedBase, chance: random.Random, name: str) -> object:
    """Replace a page."""
    return writes.replace(base.collection, page(base, chance), text(chance, name))


def edit(base: ProposedBase, chance: random.Random, name: str) -> object:
    """Replace a section."""
    return writes.edit_section(base.collection, page(base, chance), "Part", f"Edited by {name}.\n")


def append(base: ProposedBase, chance: random.Random, name: str) -> object:
    """Append to a page."""
    return writes.append(base.collection, page(base, chance), f"Appended by {name}.")


def rename(base: ProposedBase, chance: random.Random, name: str) -> object:
    """Rename a page, with the links to it."""
    return writes.rename(base.collection, page(base, chance), Address(f"moved/{name}.md"))


def delete(base: ProposedBase, chance: random.Random, name: str) -> object:
    """Delete a page unless there are few."""
    if len(list(base.store.scan())) <= len(PAGES):
        return create(base, chance, name)
    return writes.delete(base.collection, page(base, chance))


def several(base: ProposedBase, chance: random.Random, name: str) -> object:
    """Create pages in one transaction."""
    with base.store.transaction(f"Create several {name}") as transaction:
        for number in range(5):
            transaction.put(Address(f"bulk/{name}-{number}.md"), text(chance, f"{name} {number}"))
    base.index.update([Address(f"bulk/{name}-{number}.md") for number in range(5)])
    return transaction.receipt


def propose(base: ProposedBase, chance: random.Random, name: str) -> object:
    """Propose a page."""
    with base.view() as view:
        return writes.create(view, Address(f"proposed/{name}.md"), text(chance, name))


def decide(base: ProposedBase, chance: random.Random, name: str) -> object:
    """Accept or decline a proposal, or make one."""
    if not base.open_ids():
        return propose(base, chance, name)
    return base.accept() if chance.random() < 0.7 else decisions.decline(base.found(), "No")


ACTS: tuple[Act, ...] = (create, replace, replace, edit, edit, append, rename, delete, several, propose, decide)


def state_of(base: ProposedBase) -> State:
    """The state as its files and references have it."""
    pages = {address.path: revision_of(base.store.read(address)) for address, _ in base.store.scan()}
    return {"head": base.store.history.head(), "pages": pages, "open": base.open_ids()}


def serve(place: Path, seed: str, out: int, checked: int) -> None:
    """Open the base, tell what is there, wait until that is checked, and write until killed."""

    def tell(kind: str, value: object = None) -> None:
        os.write(out, json.dumps([kind, value]).encode() + b"\n")

    chance = random.Random(seed)
    base = ProposedBase(place, {})
    base.store.recover()
    base.index.sync()
    indexed = {address.path: revision for address, revision in base.index.revisions().items()}
    tell("found", state_of(base) | {"indexed": indexed})
    os.read(checked, 1)
    for number in range(1_000):
        name = f"{seed}-{number}"
        pages = len(list(base.store.scan()))
        act = chance.choice(ACTS) if pages < MAX_PAGES else delete
        tell("begin", act.__name__)
        with suppress(KnowledgeError):  # as: the page has no such section
            act(base, chance, name)
        tell("done", state_of(base))


class Server:
    """A forked process that serves."""

    def __init__(self, place: Path, seed: str) -> None:
        self._out, out = os.pipe()
        checked, self._checked = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(self._out)
            try:
                serve(place, seed, out, checked)
            finally:
                os._exit(1)
        os.close(out)
        os.close(checked)
        self._rest = b""

    def line(self) -> list[Any] | None:
        """The next line; None when the process has ended."""
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._out], [], [], WAIT_SECONDS)
            assert ready, "the process hangs"
            if not (read := os.read(self._out, 1 << 20)):
                return None
            self._rest += read
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    def go_on(self) -> None:
        """Let the process write."""
        os.write(self._checked, b"1")
        os.close(self._checked)

    def kill(self) -> list[list[Any]]:
        """Kill the process; the lines that it has told until then."""
        os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        assert os.WIFSIGNALED(status), "the process had ended by itself"
        lines: list[list[Any]] = []
        while line := self.line():
            lines.append(line)
        os.close(self._out)
        return lines


def git(folder: Path, *arguments: str) -> str:
    """The output of the git command, which must succeed."""
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout


def check(folder: Path, found: State, last: State, begun: str | None, *, whole: bool) -> None:
    """Check the state after a kill: that of the last acknowledgement, or that after the write which was begun."""
    assert found["indexed"] == found["pages"], "the index"
    if found["head"] == last["head"]:
        assert found["pages"] == last["pages"], (begun, "pages")
    else:
        assert begun, "a commit that nobody made"
        assert git(folder, "rev-parse", f"{found['head']}^1").strip() == last["head"], (begun, "the commit")
    if begun not in {"propose", "decide"}:
        assert found["open"] == last["open"], (begun, "proposals")
    else:
        assert len(set(found["open"]) ^ set(last["open"])) <= 1, (begun, "proposals")
    assert git(folder, "status", "--porcelain") == "", begun
    entries = [line.split("\t") for line in git(folder, "ls-tree", "-r", "HEAD").splitlines()]
    tree = {path: facts.split()[2] for facts, path in entries}
    assert tree == found["pages"], (begun, "the tree", tree.items() ^ found["pages"].items())
    names = [
        path for path in folder.rglob("*") if path.name.startswith(".") and path.parts[len(folder.parts)] != ".git"
    ]
    assert names == [], (begun, names)
    if whole:
        git(folder, "fsck", "--full", "--strict", "--no-dangling")


def run(place: Path, kills: int, seed: int, counts: Counter[str]) -> None:
    """Serve, kill and check so many times on one base."""
    chance = random.Random(seed)
    folder = place / "base"
    with ProposedBase(place, PAGES):
        pass
    gc.freeze()
    last: State | None = None
    begun: str | None = None
    for number in range(kills + 1):
        server = Server(place, f"{seed}-{number}")
        line = server.line()
        assert line, (number, begun, "the start failed")
        state: State = line[1]
        if last:
            check(folder, state, last, begun, whole=number % 10 == 0 or number == kills)
            counts[f"in {begun}" if begun else "between"] += 1
            counts["finished"] += state["head"] != last["head"]
        server.go_on()
        last, begun, began = state, None, time.monotonic()
        writes_before = chance.randrange(1, 4)
        lines = [server.line() for _ in range(2 * writes_before)]
        time.sleep(chance.random() * 1.3 * (time.monotonic() - began) / writes_before)
        for line in [*lines, *server.kill()]:
            assert line
            kind, value = line
            if kind == "begin":
                begun = value
            else:
                last, begun = value, None
                counts["acknowledged"] += 1


def main(place: Path, kills: int, seed: int) -> None:
    """Kill so many times, on new bases."""
    counts: Counter[str] = Counter()
    for number, first in enumerate(range(0, kills, KILLS_OF_A_BASE)):
        run(place / str(number), min(KILLS_OF_A_BASE, kills - first), seed + number, counts)
        sys.stderr.write(f"{first} {time.process_time():.0f}\n")
    sys.stdout.write(f"{json.dumps(counts)}\n")


def environment(place: Path) -> Mapping[str, str]:
    """The variables of such a process: no configuration and no cache of the user."""
    return {
        "PATH": os.environ["PATH"], "HOME": str(place), "XDG_STATE_HOME": str(place / "state"),
        "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
