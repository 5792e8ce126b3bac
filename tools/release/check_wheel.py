"""Runs the suites of `kb`, the command line and the language server against the built wheel instead of the checkout.

    make check-wheel          ARGS="-k search" is passed to pytest

The wheel is built and installed with its extras into a new virtual environment outside the checkout. The suites run
there from a copy of the tests and the example, so that nothing from `src` can be imported.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from build_dist import exported
from pins import ROOT

SUITES = ("tests/acceptance/kb", "tests/acceptance/cli", "tests/acceptance/lsp")
EXTRAS = "cluster,lsp,meaning"
TOOLS = ("hypothesis", "pytest", "pytest-lsp", "pytest-timeout", "pytest-xdist", "pyyaml")
"""Packages that the tests need besides the product, installed in the versions that are pinned for the checkout."""
NEEDED = ("tests", "examples", "docs", "README.md", "pyproject.toml")
"""Files and folders of the checkout that the tests read."""


def main() -> int:
    """Run the suites; return pytest's exit code, or 1 if the environment cannot be created."""
    with tempfile.TemporaryDirectory(prefix="wheel-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # some tests run the program as another user
        python = _environment(folder)
        sources = exported(ROOT, folder / "sources")
        elsewhere = folder / "elsewhere"
        elsewhere.mkdir()
        for needed in NEEDED:
            (sources / needed).rename(elsewhere / needed)
        configured = (elsewhere / "pyproject.toml").read_text(encoding="utf-8")
        (elsewhere / "pyproject.toml").write_text(
            configured.replace('pythonpath = ["src", "tests"]', 'pythonpath = ["tests"]').replace(
                "-p no:schemathesis -p no:anyio", "-p no:anyio"
            ),
            encoding="utf-8",
        )
        where = _run([python, "-P", "-c", "import commonplace; print(commonplace.__file__)"], elsewhere).strip()
        print(f"check-wheel: the suites run on {where}", flush=True)
        if Path(where).is_relative_to(ROOT):
            sys.stderr.write("check-wheel: this is the checkout, not the wheel\n")
            return 1
        command = [python, "-m", "pytest", "-q", *SUITES, *sys.argv[1:]]
        return subprocess.run(command, cwd=elsewhere, env=_outside(), check=False).returncode


def _environment(folder: Path) -> str:
    """Create a virtual environment with the wheel, its extras and the packages of the tests; return its Python."""
    _run([sys.executable, str(Path(__file__).with_name("build_dist.py")), "--out", str(folder / "dist")], ROOT)
    wheel = next((folder / "dist").glob("*.whl"))
    venv.create(folder / "venv", with_pip=True)
    python = str(folder / "venv" / "bin" / "python")
    lock = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
    pins = re.findall(r"^([a-z0-9.-]+==\S+)( ; .*?)? \\$", lock, re.MULTILINE)
    (folder / "pins.txt").write_text("".join(f"{pin}{marker}\n" for pin, marker in pins), encoding="utf-8")
    pip = [python, "-m", "pip", "install", "-q", "-c", str(folder / "pins.txt")]
    _run([*pip, f"commonplace[{EXTRAS}] @ {wheel.as_uri()}", *TOOLS], folder)
    return python


def _outside() -> dict[str, str]:
    """The environment variables of the process without those that would lead Python back into the checkout."""
    return {
        name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
    }


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, env=_outside(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"check-wheel: {' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
