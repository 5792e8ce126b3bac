"""A clone, pull or push that is killed, at any request or between: the next run leads to the same state."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pytest

from commonplace.domain.errors import KnowledgeError
from commonplace.toolsets.pages.confluence.push import new_page
from commonplace.toolsets.pages.confluence.workspace import Workspace
from confluence.clones import Clone, served_clone
from support import Amount

_CONTEXT = get_context("forkserver")
_CONTEXT.set_forkserver_preload(["confluence.clones"])
_STEPS = {"os.rename", "os.remove", "os.rmdir", "os.mkdir"}


@dataclass
class _Url:
    """The server of a clone, as another process knows it."""

    url: str
    site: Any


def run(what: str, url: str, key: str, folder: str, step: int) -> None:
    """Clone, pull or push in this process; it is killed before the `step`-th change of a file or folder, from 1."""
    count = 0

    def audited(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if writes or event in _STEPS:
            count += 1
            if count == step:
                os.kill(os.getpid(), signal.SIGKILL)

    class Key:
        def __init__(self) -> None:
            self.key = key

    sys.addaudithook(audited)
    clone = Clone(_Url(url, Key()), Path(folder))  # type: ignore[arg-type] - the server runs in another process
    with suppress(KnowledgeError):
        {"clone": clone.clone, "pull": clone.pull, "push": clone.push}[what]()


def started(clone: Clone, what: str, step: int = 0) -> ForkServerProcess:
    arguments = (what, clone.server.url, clone.site.key, str(clone.folder), step)
    process = _CONTEXT.Process(target=run, args=arguments)
    process.start()
    return process


def prepare(clone: Clone, what: str) -> None:
    """Bring a clone to where a run has everything to do that it ever has."""
    if what == "clone":
        return
    clone.clone()
    deploy = clone.page("Deploy")
    if what == "pull":
        clone.edit("runbooks/deploy.md", "alpha", "mine")
        clone.site.edit(deploy, deploy.body.replace("gamma", "theirs"))
        clone.site.rename(deploy, "Deployed")
        clone.page("Blocks").status = "trashed"
        clone.site.edit(clone.page("Inside"), "<p>inside out</p>")
        deploy.files["a b.png"] = (2, b"PNG2")
    else:
        clone.edit("runbooks/deploy.md", "alpha", "omega")
        clone.edit("README.md", "Welcome.", "Welcome, **all**.")
        clone.edit("runbooks/deploy.md", "  - ops\n", "  - fast\n")
        path = clone.folder / new_page(Workspace(clone.folder), "Brand new", "")
        path.write_text(path.read_text() + "\nFresh.\n")


def outcome(clone: Clone) -> tuple[object, ...]:
    """What is in the folder, in its last commit and on the site, without what differs between two servers."""
    tree = {path: raw.replace(clone.server.url.encode(), b"") for path, raw in clone.tree().items()}
    pages = clone.site.pages.values()
    site = [(page.title, page.version, page.body, sorted(page.labels), page.parent, page.status) for page in pages]
    return (
        tree,
        site,
        clone.changes(),
        clone.git("status", "--short"),
        clone.git("ls-tree", "-r", "--name-only", "HEAD"),
    )


def runs(what: str) -> Iterator[tuple[str, Callable[[Clone, int], ForkServerProcess]]]:
    """The ways to kill a run, each by a number."""

    def by_request(fault: str) -> Callable[[Clone, int], ForkServerProcess]:
        def kill(clone: Clone, number: int) -> ForkServerProcess:
            victims: list[ForkServerProcess] = []

            def at(count: int, _method: str, _path: str) -> str | None:
                if count < number:
                    return None
                while not victims:
                    pass
                os.kill(victims[0].pid or 0, signal.SIGKILL)
                return fault if count == number else "cut"

            clone.server.count = 0
            clone.server.fault = at
            victims.append(started(clone, what))
            return victims[0]

        return kill

    yield "request", by_request("cut")
    yield "answer", by_request("cut-after")
    yield "file", lambda clone, number: started(clone, what, number)


@pytest.fixture(autouse=True)
def _modules_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server that forks the processes imports what they run, which needs its path."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


@pytest.mark.parametrize("what", ["clone", "pull", "push"])
@pytest.mark.sampled(4)
def test_a_killed_run_is_continued_to_the_same_state(tmp_path: Path, what: str, amount: Amount) -> None:
    with served_clone(tmp_path / "whole") as clone:
        prepare(clone, what)
        clone.server.count = 0
        started(clone, what).join()
        whole, requests = outcome(clone), clone.server.count
    stride = amount(11, 1)
    for kind, kill in runs(what):
        number, killed = 1, 0
        while True:
            with served_clone(tmp_path / kind / str(number)) as clone:
                prepare(clone, what)
                process = kill(clone, number)
                process.join()
                if process.exitcode != -signal.SIGKILL:
                    break
                killed += 1
                clone.server.fault = lambda *_: None
                if what == "clone":
                    assert not clone.folder.exists() or clone.tree()
                if not clone.folder.exists() or what != "clone":
                    started(clone, what).join()
                assert outcome(clone) == whole, (kind, number)
                writes = [(method, page) for method, page in clone.site.writes if method != "label"]
                assert len(writes) == len(set(writes)), (kind, number)
            number += stride
        assert killed >= 1 + requests // stride // 2, kind
