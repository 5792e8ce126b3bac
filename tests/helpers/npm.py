"""Programs from npm, each at one version, run on the Node that they need."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from functools import cache

import pytest

from support import UNPACKED

NODE = "node@22.23.3"
"""Node.js from npm, because the machine's own may be too old."""
needs_npm = pytest.mark.skipif(
    shutil.which("npx") is None and "REQUIRE_TOOLS" not in os.environ,
    reason="needs npx, with which programs of npm are run",
)
"""Skips where there is no npx; where everything is required (`.ci/run`) its absence is a failure."""


@cache
def environment(*packages: str) -> dict[str, str]:
    """An environment in whose PATH the programs of these packages are, such as `oauth2-mock-server@8`."""
    chosen = [part for package in (NODE, *packages) for part in ("-p", package)]
    UNPACKED.mkdir(parents=True, exist_ok=True)
    with (UNPACKED.parent / "npm.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two of npx that install the same at once spoil it for both
        done = subprocess.run(
            ["npx", "-y", *chosen, "-c", "printenv PATH"], capture_output=True, text=True, check=False, timeout=300
        )
    assert done.returncode == 0, done.stderr
    return {**os.environ, "PATH": done.stdout.strip().splitlines()[-1], "NO_COLOR": "1"}
