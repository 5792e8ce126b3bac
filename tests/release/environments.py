"""Virtual environments outside the checkout with the product as people install it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support import ROOT

SECONDS = 300
"""Until an installation is given up."""


@dataclass(frozen=True, slots=True)
class Installed:
    """An installed program, run outside the checkout with a home of its own."""

    program: Path
    home: Path

    def __call__(self, *arguments: str | Path, stdin: str = "", code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run one command, which must end with `code`."""
        line = [str(self.program), *map(str, arguments)]
        done = subprocess.run(
            line, cwd=self.home, input=stdin, env=outside(self.home), capture_output=True, text=True, check=False,
            timeout=100,
        )  # fmt: skip
        assert done.returncode == code, (line, done.returncode, done.stdout, done.stderr)
        return done


def outside(home: Path) -> dict[str, str]:
    """The environment of a user whose home this is, who knows nothing of the checkout."""
    kept_values = {
        name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "UV_", "LANG", "LC_"))
    }
    return kept_values | {"HOME": str(home), "PATH": f"{home}/.local/bin:/usr/local/bin:/usr/bin:/bin"}


def dist(out: Path) -> Path:
    """The result of `make dist`, in `out`."""
    command = [sys.executable, str(ROOT / "tools" / "release" / "build_dist.py"), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")
    return out


def environment(folder: Path, *requirements: str) -> Path:
    """A new virtual environment with these requirements, installed by pip; its folder of programs.

    Skips the test where no package index answers, unless REQUIRE_TOOLS says that it must.
    """
    venv.create(folder)
    # What is started compiles what it needs; pip would compile all of some sixty packages.
    options = ("-q", "--no-input", "--no-compile")
    into = ("--python", str(folder / "bin" / "python"))  # of the pip that is here: one of its own takes longer to make
    command = [sys.executable, "-m", "pip", *into, "install", *options, *requirements]
    done = subprocess.run(
        command, env=outside(folder), capture_output=True, text=True, check=False, timeout=SECONDS, cwd=folder
    )
    if "No matching distribution" in done.stderr and "REQUIRE_TOOLS" not in os.environ:
        pytest.skip("needs a package index that pip reaches")
    assert done.returncode == 0, done.stderr
    return folder / "bin"


def first_answer(entry: dict[str, Any], home: Path, query: str) -> str:
    """The text that the server of a client's entry answers to a search over stdio."""
    messages = [
        {"id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "walk", "version": "1"}}},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "search", "arguments": {"query": query}}},
    ]  # fmt: skip
    with subprocess.Popen(
        [entry["command"], *entry["args"]], cwd=home, env=outside(home), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as server:  # fmt: skip
        assert server.stdin
        assert server.stdout
        for message in messages:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            server.stdin.flush()
        answers = (json.loads(line) for line in server.stdout)
        answer = next(other_answer for other_answer in answers if other_answer.get("id") == 2)
        server.stdin.close()
        server.wait(60)
    text: str = answer["result"]["content"][0]["text"]
    return text
