"""Writes `requirements.lock` (what a checkout runs) and `requirements-dev.lock` (what its checks and tests add).

Both are resolved from `pyproject.toml` for every platform and Python that the project supports; every file that an
index offers for a pinned version is named by its SHA-256, no index or host is. Present pins are kept where they still
fit, so that running this twice changes nothing; `--upgrade` forgets them.

    make lock                 add what pyproject.toml newly asks for
    make lock UPGRADE=1       take the newest versions that it allows
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUNTIME = ROOT / "requirements.lock"
DEV = ROOT / "requirements-dev.lock"
_HOST = re.compile(r"\w+://|--(?:extra-)?index|--find[-]links")
_ENTRY = re.compile(r"^[a-z0-9][a-z0-9._-]*==", re.MULTILINE)
_HEADERS = {
    RUNTIME: "# What a checkout needs to run, its build backend included. Written by `make lock`; do not edit.\n",
    DEV: "# All of requirements.lock and what checks and tests add. Written by `make lock`; do not edit.\n",
}


def main() -> int:
    """Resolve both files; return 1 with a line on stderr on failure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions that pyproject.toml allows")
    upgrade = parser.parse_args().upgrade
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = [element for extra in project["project"]["optional-dependencies"].values() for element in extra]
    runtime = [*project["project"]["dependencies"], *extras, *project["build-system"]["requires"]]
    dev = [*runtime, *project["dependency-groups"]["dev"]]
    _lock(runtime, RUNTIME, ["--upgrade"] if upgrade else [])
    _lock(dev, DEV, ["--constraints", str(RUNTIME), *(["--upgrade"] if upgrade else [])])
    return 0


def _lock(requirements: list[str], target: Path, options: list[str]) -> None:
    """Resolve into `target`. The resolver, uv, reads the existing file first and keeps pins that still fit."""
    command = [
        str(Path(sys.executable).with_name("uv")),
        "pip",
        "compile",
        "-",
        "--output-file",
        str(target),
        "--quiet",
        "--no-config",
    ]
    command += ["--universal", "--python-version", "3.11", "--generate-hashes", "--no-header", "--no-annotate"]
    subprocess.run([*command, *options], input="\n".join(requirements), text=True, check=True, cwd=ROOT)
    target.write_text(_HEADERS[target] + _tidy(target.read_text(encoding="utf-8")), encoding="utf-8")


def _tidy(text: str) -> str:
    """The resolver's output without entries for Python in browsers; fails if the output names a host."""
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith("#")]
    starts = [match.start() for match in _ENTRY.finditer("".join(lines))]
    joined = "".join(lines)
    entries = [joined[start:end] for start, end in zip(starts, [*starts[1:], len(joined)], strict=True)]
    kept_entries = [entry for entry in entries if "sys_platform == 'emscripten'" not in entry.splitlines()[0]]
    tidy = re.sub(r" ; sys_platform != 'emscripten'(?= \\)", "", "".join(kept_entries))
    if match := _HOST.search(tidy):
        raise SystemExit(f"lock: the resolver's output names a host or an index ({match.group()}); nothing may.")
    return tidy


if __name__ == "__main__":
    sys.exit(main())
