"""A process that makes one transaction again and again, each time killed one step later.

`python store_crash_points.py KIND FOLDER STRIDE`: KIND is a folder kind, FOLDER an empty folder to work in, STRIDE how
many steps later the next kill comes. Prints one line of JSON for each crash point: what the folder and its repository
look like after the next start has repaired them. The last line is of the transaction that was not killed.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from commonplace.domain.addresses import Address
from commonplace.store import open_store

STEPS = ("open", "write", "fsync", "rename", "link", "unlink", "mkdir", "rmdir", "ftruncate", "fchmod")
"""The calls before each of which the process may be killed: every change that a writer makes goes through one."""
FILES = {"a.md": b"# A\n", "gone/b.md": b"# B\n", "kept.md": b"# Kept\n", "staged.md": b"# Staged\n"}


def git(folder: Path, *args: str) -> str:
    """The output of the git command."""
    return subprocess.run(["git", *args], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def prepare(kind: str, root: Path) -> None:
    """A folder of a kind, with something staged by the user where there is Git."""
    for name, content in FILES.items():
        file = documents(kind, root) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    if kind != "plain":
        git(root, "init", "--quiet", "--initial-branch=main", "--template=")
        git(root, "add", "--all")
        git(root, "-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "--quiet", "--message=Begin")
        (documents(kind, root) / "staged.md").write_bytes(b"# Staged by the user\n")
        git(root, "add", "--all")


def documents(kind: str, root: Path) -> Path:
    """The folder of the documents."""
    return root / "kb" if kind == "subfolder" else root


def transact(kind: str, folder: Path, state: Path) -> None:
    """Change one file, make one with its folders, remove one with its folder."""
    store = open_store(folder, commit="manual" if kind in {"plain", "manual"} else "auto", state_dir=state)
    with store.transaction("All or nothing") as transaction:
        transaction.put(Address("a.md"), transaction.read(Address("a.md")) + b"more\n")
        transaction.put(Address("p/q/new.md"), b"# New\n")
        transaction.remove(Address("gone/b.md"))


def killed_before(step: int, act: Callable[[], None]) -> bool:
    """Run `act` in a child that is killed before its n-th step; whether it was (else there are fewer steps)."""
    child = os.fork()
    if child == 0:
        _arm(step)
        act()
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def _arm(step: int) -> None:
    left, opened = [step], os.open

    def armed(call: Callable[..., object]) -> Callable[..., object]:
        def counted(*args: object, **options: object) -> object:
            reads_only = call is opened and isinstance(args[1], int) and not args[1] & (os.O_WRONLY | os.O_RDWR)
            left[0] -= not reads_only
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **options)

        return counted

    for name in STEPS:
        setattr(os, name, armed(getattr(os, name)))


def report(kind: str, root: Path, folder: Path, repairs: list[str]) -> dict[str, object]:
    """The state that a user would find."""
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if ".git" not in path.parts}
    state: dict[str, object] = {
        "repairs": repairs,
        "files": {name: path.read_bytes().decode() for name, path in paths.items() if path.is_file()},
        "folders": sorted(name for name, path in paths.items() if path.is_dir()),
    }
    if kind == "plain":
        return state
    left = [p.name for p in (root / ".git").rglob("*") if p.suffix == ".lock" or "commonplace" in p.name]
    return state | {
        "commits": git(root, "log", "--format=%s").splitlines(),
        "status": git(root, "status", "--porcelain").splitlines(),
        "fsck": git(root, "fsck", "--strict", "--no-dangling"),
        "left": sorted(left),
    }


def main(kind: str, base: Path, stride: int) -> None:
    """Kill before step 0, then so many steps later, until the transaction ends before it is killed."""
    step, killed = 0, True
    prepare(kind, base / "template")
    while killed:
        root, state = base / f"step-{step}", base / f"state-{step}"
        shutil.copytree(base / "template", root)
        folder = documents(kind, root)
        killed = killed_before(step, lambda folder=folder, state=state: transact(kind, folder, state))
        store = open_store(folder, commit="manual", state_dir=state)
        reported_report = report(kind, root, folder, store.recover())
        print(json.dumps(reported_report | {"again": store.recover(), "killed": killed}), flush=True)  # noqa: T201
        shutil.rmtree(root)
        step += stride


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
