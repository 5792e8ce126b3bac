"""What the checks of the sources share: which Python files there are, and how a breach is reported."""

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
    """Write the breaches, one a line, to stderr; the exit code of the check."""
    for breach in breaches:
        sys.stderr.write(f"{name}: {breach}\n")
    return 1 if breaches else 0
