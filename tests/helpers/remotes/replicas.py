"""Servers that follow Git remotes, and the remotes."""

from __future__ import annotations

import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from serving import Server, served
from support import GitRepo, eventually, new_repo

WRITES = ("--replica-writes", "--tier", "write", "--rate-limit", "0")
"""Flags of a server that writes."""


@contextmanager
def replica(
    home: Path,
    *remotes: Path | str,
    env: dict[str, str] | None = None,
    poll: int = 1,
    flags: tuple[str, ...] = (),
    port: int = 0,
) -> Generator[Server]:
    """A server that follows remotes, with clones and indexes of its own."""
    named = [word for remote in remotes for word in ("--replica-of", str(remote))]
    environment = {"XDG_CACHE_HOME": str(home), **(env or {})}
    with served(*named, "--replica-poll", str(poll), *flags, env=environment, port=port) as server:
        yield server


@contextmanager
def writing_pair(home: Path, remote: Path, *, peers: bool) -> Generator[tuple[Server, Server]]:
    """Two ready servers that write to one remote and read it on demand only; peers hand their writes to one of them."""
    ports = (free_port(), free_port())
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    secret = {"COMMONPLACE_CLUSTER_SECRET": "of these two"}
    named = [(*WRITES, "--node-url", own, "--peer", other) if peers else WRITES for own, other in (urls, urls[::-1])]
    with (
        replica(home / "one", remote, flags=named[0], env=secret, poll=3600, port=ports[0]) as server,
        replica(home / "two", remote, flags=named[1], env=secret, poll=3600, port=ports[1]) as two,
    ):
        wait_ready(server)
        wait_ready(two)
        yield server, two


def free_port() -> int:
    """A port that nothing listens on now, for servers that must know each other's before they start."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def team(folder: Path, name: str = "team", text: str = "# Alpha\n\nfirst words\n") -> tuple[GitRepo, Path]:
    """A work tree, and its bare remote."""
    remote = folder / f"{name}.git"
    work = new_repo(folder / f"{name}-work", {"a.md": text})
    work.git("clone", "--quiet", "--bare", str(work.path), str(remote))
    work.git("remote", "add", "origin", str(remote))
    return work, remote


def push(work: GitRepo, path: str, text: str, *options: str) -> str:
    """The id of a pushed commit."""
    commit = work.commit(f"Write {path}", **{path: text})
    work.git("push", "--quiet", *options, "origin", "HEAD")
    return commit


def wait_ready(server: Server) -> None:
    """Wait until every collection of a server is ready."""
    eventually(lambda: server.ask("GET", "/health/ready").json == {"status": "ready"}, 60)
