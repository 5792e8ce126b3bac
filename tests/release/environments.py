"""Virtual environments outside the checkout with the product as people install it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

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


def linked_environment(folder: Path, wheel: Path) -> Path:
    """A new virtual environment with a wheel, and with links to the packages here that its metadata asks for.

    A package that it does not ask for cannot be imported there, and one whose version it refuses fails the test. Its
    programs are in the returned folder.
    """
    venv.create(folder)
    options = ("-q", "--no-input", "--no-compile", "--no-deps", "--no-index")
    command = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", *options, str(wheel)]
    subprocess.run(command, env=outside(folder), capture_output=True, check=True, timeout=SECONDS, cwd=folder)
    (site,) = folder.glob("lib/python*/site-packages")
    here = Path(sysconfig.get_path("purelib"))
    (installed,) = distributions(path=[str(site)])
    for needed in _needed(installed):
        for name in {file.parts[0] for file in needed.files or ()} - {"..", "__pycache__"}:
            if not (site / name).exists():
                (site / name).symlink_to(here / name)
    return folder / "bin"


def _needed(asking: Distribution, extras: Iterable[str] = ()) -> Iterator[Distribution]:
    """The packages that a package asks for with these extras, and those that they ask for; some are named twice."""
    for line in asking.requires or ():
        requirement = Requirement(line)
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            package = distribution(requirement.name)
            assert requirement.specifier.contains(package.version, prereleases=True), requirement
            yield package
            yield from _needed(package, requirement.extras)


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
