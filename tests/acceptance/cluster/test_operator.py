"""An operator sees on one page each what is wrong: the ten questions of docs/runbook.md, with the faults made."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from remotes.replicas import WRITES, free_port, push, replica, team, wait_ready
from remotes.slow import SlowRemote, slow_remote
from serving import Server, commonplace, create_key
from support import ROOT, GitRepo

MONITORING = ROOT / "deploy" / "monitoring"
SUFFIXES = re.compile(r"_(?:bucket|sum|count)$")


@dataclass(frozen=True, slots=True)
class Cluster:
    """Two servers that write to one remote; one of them has a small disk, if one can be mounted."""

    pushing: Server
    other: Server
    small: str
    """Host and port of the one with the small disk."""
    work: GitRepo
    remote: SlowRemote
    disk: Path | None
    keys: dict[str, str]

    def table(self) -> list[dict[str, str]]:
        """The rows of the table of servers, by column."""
        text = self.pushing.ask("GET", "/health/cluster?format=text", key=self.keys["operator"]).body.decode()
        head, *rows = text.splitlines()
        width = max(map(len, rows))
        heads = re.finditer(r"\S+(?: \S+)*\s*", head.ljust(width))
        columns = [(match[0].strip(), match.start(), match.end()) for match in heads]
        return [{name: row[begin:end].strip() for name, begin, end in columns} for row in rows]

    def metrics(self) -> dict[str, float]:
        """The samples of the server that pushes."""
        text = self.pushing.ask("GET", "/metrics", key=self.keys["operator"]).body.decode()
        pairs = (line.rpartition(" ") for line in text.splitlines() if line and not line.startswith("#"))
        return {name: float(value) for name, _, value in pairs}

    def write(self, page: str, key: str = "busy") -> int:
        """The status of a write at the server that pushes."""
        return self.pushing.page("PUT", page, {"content": f"# {page}\n"}, key=self.keys[key]).status


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Servers with a search cluster that does not answer, and callers of which one writes much and one is refused."""
    folder = tmp_path_factory.mktemp("cluster")
    work, bare = team(folder)
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        keys = {name: create_key(name, "--tier", "write") for name in ("operator", "busy")}
        keys["reader"] = create_key("reader", "--tier", "read")
        disk = _small_disk(folder / "small", stack)
        remote = stack.enter_context(slow_remote(bare))
        ports = (free_port(), free_port())
        urls = [f"http://127.0.0.1:{port}" for port in ports]
        env = {"COMMONPLACE_CLUSTER_SECRET": "of these two", "COMMONPLACE_WRITE_TIMEOUT": "6"}
        servers: list[Server] = []
        for home, port, own, other in zip(
            (folder / "one", disk or folder / "two"), ports, urls, urls[::-1], strict=True
        ):
            flags = (*WRITES, "--node-url", own, "--peer", other, "--engine-url", "http://127.0.0.1:9")
            servers.append(stack.enter_context(replica(home, remote.url, flags=flags, env=env, poll=3600, port=port)))
        for server in servers:
            wait_ready(server)
        small = _name(servers[1])
        made = Cluster(servers[0], servers[1], small, work, remote, disk, keys)
        assert made.write("once", "operator") == 201
        owners = {row["LEASE"].partition(" for ")[0] for row in made.table()}
        pushing, other = sorted(servers, key=lambda server: _name(server) not in owners)
        yield Cluster(pushing, other, small, work, remote, disk, keys)


def _name(server: Server) -> str:
    return server.url.partition("://")[2]


def _small_disk(folder: Path, stack: ExitStack) -> Path | None:
    """A file system of 40 MB; None if none can be mounted here."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        return None
    stack.callback(subprocess.run, ["umount", "--lazy", str(folder)], check=True)
    return folder


def test_the_ten_questions_are_answered_while_the_faults_are_there(cluster: Cluster, tmp_path: Path) -> None:
    _who_writes_and_who_is_refused(cluster)
    _how_large_and_which_version(cluster)
    _is_one_behind(cluster)
    _is_the_search_cluster_well(cluster)
    _is_the_backup_whole(tmp_path)
    _what_is_filling_up(cluster)
    _why_is_it_slow(cluster)


def _who_writes_and_who_is_refused(cluster: Cluster) -> None:
    assert [cluster.write(f"busy-{number}") for number in range(3)] == [201] * 3
    assert cluster.write("never", "reader") == 403
    owners = {row["LEASE"].partition(" for ")[0] for row in cluster.table()} - {""}
    assert owners == {_name(cluster.pushing)}
    samples = cluster.metrics()
    assert samples['commonplace_writes_total{caller="busy"}'] == 3
    refused = [name for name in samples if name.startswith("commonplace_refusals_total")]
    assert len(refused) == 1
    assert 'caller="reader"' in refused[0]
    assert 'status="403"' in refused[0]
    told = json.loads(commonplace("audit", "--days", "1", "--json").stdout)["writes"]
    assert [row["caller"] for row in told].count("busy") == 3


def _how_large_and_which_version(cluster: Cluster) -> None:
    samples = cluster.metrics()
    assert samples['commonplace_documents{collection="team"}'] == 5
    assert samples['commonplace_index_bytes{collection="team"}'] > 10_000
    (version,) = {row["VERSION"] for row in cluster.table()}
    assert samples[f'commonplace_info{{version="{version}"}}'] == 1


def _is_one_behind(cluster: Cluster) -> None:
    for number in range(5):  # the other server may just be fetching for a write of before
        cluster.work.git("pull", "--quiet", "--rebase", "origin", "main")
        commit = push(cluster.work, "new.md", f"# New {number}\n")
        read = cluster.other.ask("GET", f"/api/v1/search?q=new&at_least={commit}", key=cluster.keys["operator"])
        assert read.status == 200
        commits = {row["SERVER"]: row["COMMIT"] for row in cluster.table()}
        assert commits[_name(cluster.other)] == commit[:8]
        if commits[_name(cluster.pushing)] != commit[:8]:
            return
    pytest.fail("no server was ever behind")


def _is_the_search_cluster_well(cluster: Cluster) -> None:
    assert cluster.pushing.ask("GET", "/api/v1/search?q=first", key=cluster.keys["operator"]).status == 200
    assert all("does not answer" in row["SEARCH CLUSTER"] for row in cluster.table())


def _is_the_backup_whole(folder: Path) -> None:
    file, cut = folder / "backup.tar.gz", folder / "cut.tar.gz"
    assert commonplace("backup", file, "-C", folder).returncode == 0
    cut.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "try"))
        patch.setenv("XDG_CONFIG_HOME", str(folder / "try"))
        assert commonplace("backup", cut, "--restore", "-C", folder).returncode != 0
        assert commonplace("backup", file, "--restore", "-C", folder).returncode == 0
        assert "busy" in commonplace("keys", "list").stdout


def _what_is_filling_up(cluster: Cluster) -> None:
    row = next(row for row in cluster.table() if row["SERVER"] == cluster.small)
    assert int(row["PACKS"]) >= 1
    assert re.fullmatch(r"\d+/(\d+|∞)", row["FILES"])
    if cluster.disk is None:
        return
    filler = cluster.disk / "filler"
    filler.write_bytes(bytes(30_000_000))
    row = next(row for row in cluster.table() if row["SERVER"] == cluster.small)
    assert (row["FREE"], row["WRITES"]) == ("0.0 GB", "failing")
    assert "disk of the clone is full" in row["PROBLEM"]
    filler.unlink()
    assert [row["WRITES"] for row in cluster.table()] == ["writable"] * 2


def _why_is_it_slow(cluster: Cluster) -> None:
    step = 'commonplace_step_seconds_sum{step="push"}'
    begun = cluster.metrics()[step]
    cluster.remote.hangs_in = "advertise"
    assert cluster.write("slow") == 503
    row = next(row for row in cluster.table() if row["SERVER"] == _name(cluster.pushing))
    assert row["REMOTE"].startswith("silent for ")
    assert row["WRITES"] == "failing"
    assert cluster.metrics()[step] - begun > 1


def test_every_metric_of_the_alerts_and_the_dashboard_is_one_that_a_server_exports(cluster: Cluster) -> None:
    assert cluster.pushing.ask("GET", "/api/v1/search?q=first", key="cpk_wrong").status == 401
    assert cluster.pushing.ask("GET", "/api/v1/search?q=first", key=cluster.keys["operator"]).status == 200
    text = cluster.pushing.ask("GET", "/metrics", key=cluster.keys["operator"]).body.decode()
    exported = set(re.findall(r"^(commonplace_\w+)[ {]", text, re.MULTILINE))
    for name in ("alerts.yaml", "dashboard.json"):
        content = (MONITORING / name).read_text(encoding="utf-8")
        named = set(re.findall(r"\bcommonplace_\w+", content))
        assert named - exported == set(), name
        grouped = {label for labels in re.findall(r"\bby \(([\w, ]+)\)", content) for label in labels.split(", ")}
        assert grouped - {"instance"} <= set(re.findall(r'[{,](\w+)="', text)), name
    page = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`(commonplace_\w+)`", page)) - {SUFFIXES.sub("", sample) for sample in exported} == set()
    for column in re.findall(r"\bcolumns? ([A-Z][A-Z ,]*[A-Z])", page):
        assert set(column.split(", ")) <= set(cluster.table()[0]), column
