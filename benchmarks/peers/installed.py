"""The other programs, each installed on first use into a separate environment in the user's cache."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "commonplace-benchmarks"
QMD = "2.8.3"
NODE = f"node-{sys.platform}-{'arm64' if platform.machine() in {'arm64', 'aarch64'} else 'x64'}"
"""The npm package of Node.js, because the machine's own may be too old for qmd."""
NODE_VERSION = "22"
VAULT = "5.1.0"
INSTALL_SECONDS = 900


def qmd() -> Path | None:
    """The command of qmd; None if it cannot be installed. No model is downloaded."""

    def install(folder: Path) -> None:
        packages = (f"@tobilu/qmd@{QMD}", f"{NODE}@{NODE_VERSION}")
        _run(["npm", "install", "--prefix", str(folder), "--ignore-scripts", "--no-audit", "--no-fund", *packages])

    return _installed(f"qmd-{QMD}", Path("node_modules/.bin/qmd"), install)


def markdown_vault_mcp() -> Path | None:
    """The command of markdown-vault-mcp; None if it cannot be installed."""

    def install(folder: Path) -> None:
        venv.create(folder, with_pip=True)
        _run([str(folder / "bin" / "pip"), "install", "--quiet", f"markdown-vault-mcp=={VAULT}"])

    return _installed(f"markdown-vault-mcp-{VAULT}", Path("bin/markdown-vault-mcp"), install)


def ripgrep() -> Path | None:
    """The ripgrep of this machine, or of Debian's package; None if neither is available."""
    if own := shutil.which("rg"):
        return Path(own)

    def install(folder: Path) -> None:
        folder.mkdir(parents=True)
        _run(["apt-get", "--quiet=2", "download", "ripgrep"], folder)
        package = next(folder.glob("ripgrep_*.deb"))
        _run(["dpkg", "-x", str(package), str(folder)])

    return _installed("ripgrep", Path("usr/bin/rg"), install)


def version(command: Path) -> str:
    """The version of a command: the first word of its `--version` output that begins with a digit."""
    completed = subprocess.run(
        [str(command), "--version"], check=True, capture_output=True, text=True, env=environment(command)
    )
    return next(word for word in completed.stdout.split() if word[0].isdigit())


def environment(command: Path) -> dict[str, str]:
    """The environment in which a command finds the Node.js that was installed with it."""
    node = command.parent.parent / NODE / "bin"
    return {**os.environ, "PATH": f"{node}{os.pathsep}{os.environ.get('PATH', '')}"}


def _installed(name: str, command: Path, install: Callable[[Path], None]) -> Path | None:
    folder = CACHE / name
    done = folder / ".installed"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        try:
            install(folder)
            done.touch()
        except (OSError, subprocess.SubprocessError, StopIteration) as error:
            print(f"peers: {name} is left out, because it cannot be installed: {error}", file=sys.stderr)
            shutil.rmtree(folder, ignore_errors=True)
            return None
    return folder / command


def _run(command: Sequence[str], folder: Path | None = None) -> None:
    subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL, timeout=INSTALL_SECONDS)
