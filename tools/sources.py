"""Functions shared by the checks of the sources: listing Python files, and reporting breaches."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("src", "tools", "benchmarks", "tests")


def python_files(root: Path, folders: Iterable[str] = FOLDERS) -> list[Path]:
    """Every Python file under the named folders of `root`, sorted."""
    return sorted(
        path for folder in folders for path in (root / folder).rglob("*.py") if "__pycache__" not in path.parts
    )


def report(name: str, breaches: list[str]) -> int:
    """Write the breaches to stderr, one per line; return the exit code of the check."""
    for breach in breaches:
        sys.stderr.write(f"{name}: {breach}\n")
    return 1 if breaches else 0
