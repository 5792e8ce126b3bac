"""Three servers, three nodes of the engine and a Git host, each in a network namespace, under load while parts fail.

What was acknowledged is in the remote, in an order that all clients can agree with; no answer has anything of another
base; and each answer is complete or says that it may not be.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from opensearch_cluster.cluster import PORTS, running
from serving import create_key
from soak.cluster.bases import Base
from soak.cluster.clients import Balancer, Client, Reader, Request, Writer, paced
from soak.cluster.clock_ahead import clock_ahead
from soak.cluster.faults import FaultSchedule, Parts, all_faults
from soak.cluster.network import Host, network
from soak.cluster.nodes import Program, Running, Team, is_ready, server, wait_until
from soak.cluster.observed import Observed
from soak.cluster.register_history import Register, problems
from soak.sampling import percentile

log = logging.getLogger(__name__)

MINUTES = float(os.environ.get("SOAK_CLUSTER_MINUTES", "30"))
SEARCHES = float(os.environ.get("SOAK_CLUSTER_SEARCHES", "200"))
WRITES = float(os.environ.get("SOAK_CLUSTER_WRITES", "20"))
"""A second."""
FAULT_SECONDS = 30.0
READERS, WRITERS = 24, 12
GIT_PORT = 8080
BASES = (Base("alpha"), Base("beta"), Base("gamma"))
SERVERS, ENGINES = ("server-1", "server-2", "server-3"), ("engine-1", "engine-2", "engine-3")
HEAP = ("-Xms768m", "-Xmx768m", "-XX:TieredStopAtLevel=4")
"""Nodes that live long compile with both compilers."""
RECOVERY_SECONDS = 600.0
"""Maximum seconds until all is as before a fault. A node of the engine alone needs minutes on a busy machine."""


@dataclass(frozen=True, slots=True)
class Stage:
    """All that runs."""

    parts: Parts
    hosts: Sequence[Host]
    keys: Mapping[str, str]
    folder: Path


@contextmanager
def stage(folder: Path) -> Generator[Stage]:
    """The whole, started and settled; this thread is in the clients' namespace."""
    with network(["clients", "git", *SERVERS, *ENGINES]) as hosts, hosts["clients"].inside():
        engine_hosts = [hosts[name] for name in ENGINES]
        keys = {base.name: create_key(base.name, "--tier", "write", "--collection", base.name) for base in BASES}
        keys[""] = create_key("everything", "--tier", "read")
        git = _git_host(folder, hosts["git"])
        with running(len(ENGINES), HEAP, engine_hosts) as engines:
            team = Team(
                folder,
                [f"http://{hosts['git'].address}:{GIT_PORT}/{base.name}.git" for base in BASES],
                [f"http://{host.address}:{PORTS[0]}" for host in engine_hosts],
                [hosts[name] for name in SERVERS],
            )
            ahead = clock_ahead(folder, hours=1)
            servers = [server(team, hosts[name], ahead if name == SERVERS[-1] else {}) for name in SERVERS]
            parts = Parts(servers, engines, engine_hosts, git)
            try:
                git.start()
                for other_running in servers:
                    other_running.start()
                yield Stage(parts, team.hosts, keys, folder)
            finally:
                for other_running in (*servers, git):
                    other_running.kill()


def _git_host(folder: Path, host: Host) -> Running:
    (folder / "git").mkdir()
    for base in BASES:
        base.remote(folder)
    words = [sys.executable, "-m", "soak.cluster.git_host", str(folder / "git"), host.address, str(GIT_PORT)]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "helpers")}
    return Running(Program(host, words, environment, folder / "git.log"))


@pytest.mark.soak
@pytest.mark.timeout(3 * 3600)
def test_no_acknowledged_write_is_lost_and_no_answer_is_wrong_while_parts_of_a_cluster_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    tmp_path.chmod(0o755)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Server\n\temail = server@example.org\n")
    monkeypatch.delenv("GIT_CONFIG_GLOBAL")
    for library in ("opensearch", "opensearchpy.trace"):
        logging.getLogger(library).setLevel(logging.ERROR)
    observed = Observed()
    with stage(tmp_path) as running_parts:
        settled = _settled(running_parts)
        settled()
        spent = _spent(running_parts)
        began = time.monotonic()
        schedule = _under_load(running_parts, observed, settled)
        seconds = time.monotonic() - began
        spent = {name: now - spent[name] for name, now in _spent(running_parts).items()}
        figures = _figures(observed, schedule, seconds, spent)
        log.info("%s", json.dumps(figures, indent=1))
        settled()
        unsettled = _final_state(running_parts, observed)
    history_problems = _history_problems(tmp_path, observed)
    for name, value in figures.items():
        record_property(name, value)
    assert schedule.problems == []
    assert dict(observed.violations) == {}
    assert history_problems == []
    assert unsettled == []
    assert observed.counts["write acknowledged"] > 0


def _settled(running_parts: Stage) -> Callable[[], None]:
    """A function that waits until every part is available again."""

    def wait() -> None:
        running_parts.parts.engines.wait_until_green(seconds=RECOVERY_SECONDS)
        for host in running_parts.hosts:
            wait_until(lambda host=host: is_ready(host), f"{host.address} is ready", RECOVERY_SECONDS)

    return wait


def _under_load(running_parts: Stage, observed: Observed, settled: Callable[[], None]) -> FaultSchedule:
    """Readers and writers at work until the time is over, while parts fail."""
    balancer = Balancer(running_parts.hosts)
    ending, calm = threading.Event(), threading.Event()
    schedule = FaultSchedule(all_faults(running_parts.parts), FAULT_SECONDS, 23, settled)
    latest: dict[str, str] = {}

    def read(number: int) -> None:
        with closing(Client(balancer, observed, number)) as client:
            paced(Reader(client, BASES, running_parts.keys).search, SEARCHES / READERS, ending, client.chance)

    def write(number: int) -> None:
        with closing(Client(balancer, observed, 1000 + number)) as client:
            paced(Writer(client, BASES, running_parts.keys, latest).write, WRITES / WRITERS, ending, client.chance)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(READERS)]
    threads += [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    failing = threading.Thread(target=schedule.run, args=(calm,))
    balancer.start()
    for thread in (*threads, failing):
        thread.start()
    try:
        calm.wait(MINUTES * 60)
        calm.set()
        failing.join()
    finally:
        calm.set()
        ending.set()
        for thread in threads:
            thread.join()
        balancer.stop()
    return schedule


def _spent(running_parts: Stage) -> dict[str, float]:
    """Processor seconds of each kind of part; what Git commands used is in the system's sum alone."""
    parts = running_parts.parts
    times = os.times()
    with Path("/proc/stat").open() as stat:
        busy = [int(word) for word in stat.readline().split()[1:9]]
    ticks = os.sysconf("SC_CLK_TCK")
    return {
        "servers": sum(other_running.cpu for other_running in parts.servers),
        "clients": times.user + times.system,
        "machine": (sum(busy) - busy[3] - busy[4]) / ticks,
    }


def _final_state(running_parts: Stage, observed: Observed) -> list[str]:
    """The parts of the final state that a server lacks after recovery: each page's last state, and its words."""
    with closing(Client(Balancer(running_parts.hosts), observed, 0)) as client:
        return [
            problem
            for base in BASES
            for host in running_parts.hosts
            for problem in _in_the_end(client, host, base, running_parts.keys[base.name], running_parts.folder)
        ]


def _in_the_end(client: Client, host: Host, base: Base, key: str, folder: Path) -> list[str]:
    last = {page: changes[-1].commit for page, changes in _changes(folder, base).items()}

    def asked(path: str) -> Any:
        return client.ask(host, Request("GET", path, key, seconds=60)).json

    def wrong() -> list[str]:
        shown = {page: asked(f"/api/v1/pages/{quote(page, safe='')}")["revision"] for page in base.written}
        found_texts = [f"{page} is at {at}, not at {last[page]}" for page, at in shown.items() if at != last[page]]
        state = asked("/health/collections")["collections"][base.name]["shared_index"]
        total, count = asked(f"/api/v1/search?q={base.mark}&limit=1")["total"], len(base.files())
        found_texts += [] if state == "current" else [f"the engine: {state}"]
        return found_texts + ([] if total == count else [f"{total} of {count} pages are found"])

    deadline = time.monotonic() + RECOVERY_SECONDS
    while (wrongs := wrong()) and time.monotonic() < deadline:
        time.sleep(1)
    return [f"{base.name} at {host.address}: {wrong}" for wrong in wrongs[:5]]


@dataclass(frozen=True, slots=True)
class Change:
    """A commit that changed a page, and the blob that the page was from then on."""

    commit: str
    blob: str


def _changes(folder: Path, base: Base) -> dict[str, list[Change]]:
    """The changes of each page, in the order of the branch."""
    bare = folder / "git" / f"{base.name}.git"
    command = ["git", "--git-dir", str(bare), "log", "--reverse", "--raw", "--no-abbrev", "--format=%H", "--root"]
    changes: defaultdict[str, list[Change]] = defaultdict(list)
    commit = ""
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        facts, _, path = line.partition("\t")
        if path:
            changes[path.removesuffix(".md")].append(Change(commit, facts.split()[3]))
        elif facts:
            commit = facts
    return changes


def _history_problems(folder: Path, observed: Observed) -> list[str]:
    """Impossible facts in the histories of all pages."""
    history_problems: list[str] = []
    for base in BASES:
        changes = _changes(folder, base)
        for page in base.written:
            blobs = {change.commit: change.blob for change in changes[page]}
            writes = [
                replace(write, expected=blobs.get(write.expected, write.expected)) for write in observed.writes[page]
            ]
            reads = [replace(read, revision=blobs.get(read.revision, read.revision)) for read in observed.reads[page]]
            register = Register([change.blob for change in changes[page]], writes, reads)
            history_problems += [f"{page}: {problem}" for problem in problems(register)]
            history_problems += [
                f"{page}: {blob} was acknowledged as {commit}, which has {blobs.get(commit)}"
                for blob, commit in observed.commits[page]
                if blobs.get(commit) != blob
            ]
    return history_problems


def _figures(
    observed: Observed, schedule: FaultSchedule, seconds: float, spent: Mapping[str, float]
) -> dict[str, object]:
    counts, load = observed.counts, Path("/proc/loadavg").read_text().split()[:3]
    figures: dict[str, object] = {"minutes": round(seconds / 60, 1), "load": " ".join(load)}
    for what in ("search", "read", "write"):
        times = observed.times[what]
        figures[f"{what}es" if what == "search" else f"{what}s"] = (
            f"{counts[what]:,} ({counts[what] / seconds:.1f}/s), p50 {1000 * percentile(times, 0.5):.0f} ms, "
            f"p99 {1000 * percentile(times, 0.99):.0f} ms, max {max(times, default=0):.1f} s"
        )
    figures["faults"] = len(schedule.happened)
    figures["kinds"] = ", ".join(
        f"{name}: {times}" for name, times in Counter(n for *_, n in schedule.happened).items()
    )
    figures["requests that no server answered"] = len(observed.failures)
    figures |= {name: number for name, number in sorted(counts.items()) if name not in {"search", "read", "write"}}
    figures["CPU s"] = ", ".join(f"{name} {value:.0f}" for name, value in spent.items())
    figures |= {f"{name}, for example": "; ".join(violations[:3]) for name, violations in observed.violations.items()}
    figures["failures"] = "; ".join(reason for _, reason in observed.failures[:5])
    return figures
