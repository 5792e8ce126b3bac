"""Sets up `.venv` for this checkout: the pinned packages, and the package itself, byte-compiled. Idempotent.

Packages are installed by uv, which needs a third of pip's time, and by pip where uv cannot reach them.

Run by `make setup` (packages of the product) and `make setup-dev` (packages of checks and tests) with the machine's own
Python, so it uses the standard library only.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
PIP = (str(PYTHON), "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-input")
UV = VENV / "bin" / "uv"
_PINNED_UV = re.compile(r"^uv==.*\n(?: .*\n)+", re.MULTILINE)
_ELSEWHERE = re.compile(r"index|proxy|trusted-host|client-cert")
"""Parts of the names of settings of pip that lead to packages elsewhere; uv does not read them."""


class SetupError(Exception):
    """A step failed; the message is for the person at the terminal."""


def main() -> int:
    """Set up the requested packages; return 1 with the reason on stderr if a step fails."""
    parser = argparse.ArgumentParser(description="Make .venv fit this checkout.")
    parser.add_argument("--dev", action="store_true", help="with what checks and tests need")
    dev = parser.parse_args().dev
    try:
        _once("requirements.lock", "the product and its packages", _install_product)
        if dev:
            _once("requirements-dev.lock", "what checks and tests need", _install_checks)
    except SetupError as error:
        sys.stderr.write(f"setup: {error}\n")
        return 1
    return 0


def _once(lock: str, contents: str, install: Callable[[str], None]) -> None:
    """Install, unless the environment was last set up from this lock file, at this path, for this Python."""
    stamp = VENV / f".fits-{lock}"
    digest = _digest(lock)
    if PYTHON.exists() and stamp.is_file() and stamp.read_text(encoding="utf-8") == digest:
        return
    began = time.monotonic()
    sys.stderr.write(f"setup: installing {contents} ({lock}) into .venv (once) ...\n")
    install(lock)
    stamp.write_text(digest, encoding="utf-8")
    sys.stderr.write(f"setup: done in {time.monotonic() - began:.0f} s\n")


def _install_product(lock: str) -> None:
    _make_venv()
    _install_uv()
    _install(["--require-hashes", "-r", lock], "the pinned packages cannot be installed")
    _install(["--no-deps", "--no-build-isolation", "-e", "."], "the package itself cannot be installed")
    _run([str(PYTHON), "-m", "compileall", "-q", "src"], "the sources cannot be compiled")


def _install_checks(lock: str) -> None:
    reason = "the pinned packages for checks and tests cannot be installed"
    _install(["--require-hashes", "-r", lock], reason)


def _install_uv() -> None:
    """Install uv as it is pinned, unless pip's settings say where packages come from."""
    settings = subprocess.run([str(PYTHON), "-m", "pip", "config", "list"], capture_output=True, text=True, check=False)
    pinned = _PINNED_UV.search((ROOT / "requirements-dev.lock").read_text(encoding="utf-8"))
    if pinned is None or _ELSEWHERE.search(settings.stdout):
        return
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as lock:
        lock.write(pinned[0])
        lock.flush()
        _run([*PIP, "--no-compile", "--require-hashes", "-r", lock.name], "the installer uv cannot be installed")


def _install(packages: list[str], reason: str) -> None:
    """Install packages by uv, else by pip."""
    if UV.exists():
        try:
            _run([str(UV), "pip", "install", "-qq", "--no-config", "--python", str(PYTHON), *packages], reason)
        except SetupError:  # pip finds another way, or says what is wrong
            sys.stderr.write("setup: uv cannot install them, so pip does ...\n")
        else:
            return
    _run([*PIP, *packages], reason)


def _make_venv() -> None:
    """Keep a complete `.venv` that this Python created here. Replace a copied or incomplete one."""
    if VENV.is_symlink():
        raise SetupError(".venv is a link, and another checkout may use what it leads to. Remove the link first.")
    made = VENV / ".made"
    origin = f"{ROOT}\n{sys.version}\n"
    whole = PYTHON.exists() and (VENV / "bin" / "pip").exists()  # pip is installed last
    if whole and (not made.exists() or made.read_text(encoding="utf-8") == origin):
        made.write_text(origin, encoding="utf-8")
        return
    if whole:
        sys.stderr.write(f"setup: .venv is made anew with Python {sys.version.split()[0]}\n")
    reason = "no virtual environment can be made; on Debian and Ubuntu: apt-get install python3-venv"
    _run([sys.executable, "-m", "venv", "--clear", str(VENV)], reason)
    made.write_text(origin, encoding="utf-8")


def _run(command: list[str], reason: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}
    environment["PIP_REQUIRE_VIRTUALENV"] = "0"
    began = time.monotonic()
    with subprocess.Popen(command, cwd=ROOT, env=environment) as running:
        while (code := _ended(running, 1.0 if sys.stderr.isatty() else 10.0)) is None:
            _show_wait(time.monotonic() - began)
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    if code:
        raise SetupError(f"{reason}.")


def _ended(running: subprocess.Popen[bytes], seconds: float) -> int | None:
    """The exit code; None if the process still runs after `seconds`."""
    try:
        return running.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


def _show_wait(seconds: float) -> None:
    """Show that the step is still running: on a terminal a line that is overwritten, else one line per call."""
    line = f"setup: {seconds:.0f} s ..."
    sys.stderr.write(f"\r{line}" if sys.stderr.isatty() else f"{line}\n")
    sys.stderr.flush()


def _digest(lock: str) -> str:
    """Digest of everything on which the environment depends: its path, its Python, the pins and `pyproject.toml`."""
    digest = hashlib.sha256(f"{ROOT}\n{sys.version}\n".encode())
    for name in (lock, "pyproject.toml"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


if __name__ == "__main__":
    sys.exit(main())
