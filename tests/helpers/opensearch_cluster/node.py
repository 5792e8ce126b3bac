"""One OpenSearch node: a Java process that can be killed and started again on its data."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opensearch_cluster.artifacts import MissingError

CLUSTER = "commonplace-test"
HEAP_MIB = 512
START_SECONDS = 300.0
"""Timeout in seconds of a node's start until it answers over HTTP on a busy machine."""
STOP_SECONDS = 20.0
OLDEST_JAVA, NEWEST_JAVA = 17, 23
"""Feature releases of Java; from 24 on there is no security manager, without which this version does not start."""
JAVA_OPTIONS = (
    f"-Xms{HEAP_MIB}m", f"-Xmx{HEAP_MIB}m", f"-XX:MaxDirectMemorySize={HEAP_MIB // 2}m",
    "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:ActiveProcessorCount=1", "-XX:-OmitStackTraceInFastThrow",
    "-XX:+ExitOnOutOfMemoryError", "-Xshare:auto", "-Djava.security.manager=allow", "-Djava.awt.headless=true",
    "-Dfile.encoding=UTF-8", "-Djna.nosys=true", "-Djava.locale.providers=SPI,COMPAT",
    "-Dio.netty.noUnsafe=true", "-Dio.netty.noKeySetOptimization=true",
    "-Dio.netty.recycler.maxCapacityPerThread=0", "-Dio.netty.allocator.numDirectArenas=0",
    "-Dlog4j.shutdownHookEnabled=false", "-Dlog4j2.disable.jmx=true", "-Dopensearch.distribution.type=zip",
    "-Djava.util.concurrent.ForkJoinPool.common.threadFactory=org.opensearch.secure_sm.SecuredForkJoinWorkerThreadFactory",
)  # fmt: skip
"""Java options of the distribution's launcher, for a short life on a small machine: one collector thread, one compiler.
"""
LOGGING = """\
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%c{1.}] %m%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
"""


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of a node in its cluster."""

    name: str
    http_port: int
    transport_port: int
    owner: int | None = None
    """The user and group to run as; None for those of this process."""
    address: str = "127.0.0.1"
    namespace: Path | None = None
    """The network namespace that has the address; None for that of this process."""


class Node:
    """A node with a folder of its own for configuration, data, log and temporary files.

    `home` is the installation, `seeds` the identities of all nodes that form the cluster at its first start, and
    `java_options` follow JAVA_OPTIONS, so that they win.
    """

    def __init__(
        self, home: Path, folder: Path, identity: Identity, seeds: Sequence[Identity], java_options: Sequence[str] = ()
    ) -> None:
        self.identity = identity
        self.name = identity.name
        self.url = f"http://{identity.address}:{identity.http_port}"
        self._home = home
        self._folder = folder
        self._options = (*JAVA_OPTIONS, *java_options)
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        _configure(folder, identity, seeds)

    @property
    def pid(self) -> int:
        """The process; an assertion fails where the node does not run."""
        assert self._process is not None, f"{self.name} does not run"
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process is alive."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the process and return at once; `wait_until_up` waits for it.

        Raises:
            MissingError: there is no Java here that can run it.
        """
        assert not self.running, f"{self.name} runs already"
        environment = {"PATH": os.defpath, "TMPDIR": str(self._folder / "tmp"), "LC_ALL": "C.UTF-8"}
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command(),
                cwd=self._folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **self._user(),
            )
        # Ends the node when this process ends without having stopped it, killed ones included: then its input ends.
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", 'read -r _; kill -9 "$0"', str(self.pid)],
            stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def wait_until_up(self, timeout: float = START_SECONDS) -> None:
        """Wait until the node answers over HTTP; an assertion with its log fails after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while self.running and time.monotonic() < deadline:
            if self._answers():
                return
            time.sleep(0.1)
        raise AssertionError(f"{self.name} did not start: {self.log()[-4000:]}")

    def kill(self) -> None:
        """End the process as `kill -9` does; its data stays as it is on disk at this moment."""
        self._end(signal_first=False)

    def stop(self) -> None:
        """Ask the process to end; kill it after STOP_SECONDS."""
        self._end(signal_first=True)

    def log(self) -> str:
        """All that the node has written, over all its starts."""
        return (self._folder / "log").read_text(encoding="utf-8", errors="replace")

    def memory(self) -> int:
        """The process's resident memory in bytes."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8")
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS:"))

    def _end(self, *, signal_first: bool) -> None:
        process, guard = self._process, self._guard
        if process is None or guard is None:
            return
        guard.kill()  # before the node is reaped: its number may be another process's afterwards
        guard.communicate()
        if signal_first:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
        else:
            process.kill()
        process.wait()
        self._process = self._guard = None

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection(self.identity.address, self.identity.http_port, timeout=5)
        try:
            connection.request("GET", "/")
            answer: dict[str, Any] = json.loads(connection.getresponse().read())
        except (OSError, http.client.HTTPException, ValueError):
            return False
        finally:
            connection.close()
        return answer.get("name") == self.name

    def _command(self) -> list[str]:
        paths = (
            f"-Djava.io.tmpdir={self._folder / 'tmp'}",
            f"-XX:ErrorFile={self._folder / 'java-error.log'}",
            f"-Dopensearch.path.home={self._home}",
            f"-Dopensearch.path.conf={self._folder / 'config'}",
        )
        classes = ("-cp", f"{self._home / 'lib'}/*", "org.opensearch.bootstrap.OpenSearch")
        return [*self._entering(), str(java()), *self._options, *paths, *classes]

    def _entering(self) -> list[str]:
        """The command that enters the namespace as root and continues as the owner."""
        if self.identity.namespace is None:
            return []
        owner = self.identity.owner
        drop = [] if owner is None else ["setpriv", f"--reuid={owner}", f"--regid={owner}", "--clear-groups"]
        return ["nsenter", f"--net={self.identity.namespace}", *drop]

    def _user(self) -> dict[str, Any]:
        """The user of the process, unless it changes to it by itself."""
        if self.identity.owner is None or self.identity.namespace is not None:
            return {}
        return {"user": self.identity.owner, "group": self.identity.owner, "extra_groups": []}


def java() -> Path:
    """The program `java` of a release that runs this version.

    Raises:
        MissingError: none was found, in JAVA_HOME, in PATH or where systems install it.
    """
    tried: list[Path] = []
    if home := os.environ.get("JAVA_HOME"):
        tried.append(Path(home) / "bin" / "java")
    if found_text := shutil.which("java"):
        tried.append(Path(found_text))
    tried += sorted(Path("/usr/lib/jvm").glob("*/bin/java"))
    for program in tried:
        if OLDEST_JAVA <= _feature_release(program) <= NEWEST_JAVA:
            return program
    raise MissingError(f"no Java from {OLDEST_JAVA} to {NEWEST_JAVA} was found")


def _feature_release(program: Path) -> int:
    """17 for Java 17.0.15; 0 where the program does not run."""
    command = [str(program), "-XshowSettings:properties", "-version"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    for line in done.stderr.splitlines():
        name, _, value = line.partition(" = ")
        if name.strip() == "java.specification.version" and value.strip().isdigit():
            return int(value)
    return 0


def _configure(folder: Path, identity: Identity, seeds: Sequence[Identity]) -> None:
    for part in ("config", "data", "tmp"):
        (folder / part).mkdir(parents=True)
    settings = {
        "cluster.name": CLUSTER,
        "node.name": identity.name,
        "network.host": identity.address,
        "http.port": identity.http_port,
        "transport.port": identity.transport_port,
        "path.data": str(folder / "data"),
        "path.logs": str(folder),
        "discovery.seed_hosts": [f"{seed.address}:{seed.transport_port}" for seed in seeds],
        "cluster.initial_cluster_manager_nodes": [seed.name for seed in seeds],
        # The machine's disk may be fuller than a node wants to see it; tests of a full disk set this themselves.
        "cluster.routing.allocation.disk.threshold_enabled": False,
        "node.processors": 1,
    }
    lines = "".join(f"{name}: {json.dumps(value)}\n" for name, value in settings.items())
    (folder / "config" / "opensearch.yml").write_text(lines, encoding="utf-8")
    (folder / "config" / "log4j2.properties").write_text(LOGGING, encoding="utf-8")
    if identity.owner is not None:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, identity.owner, identity.owner)
