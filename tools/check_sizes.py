"""Checks that files and functions stay small and simple enough to be read in one go.

Larger ones are listed in `tools/ratchet.toml` with a limit and a reason. An entry that is no longer needed, or whose
limit could be lower, is a breach too, so that sizes only decrease.
"""

from __future__ import annotations

import argparse
import ast
import statistics
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure_code import HIGH, complexities
from sources import ROOT, python_files, report

LIMITS = {"file-lines": 600, "function-lines": 50, "complexity": HIGH, "complex-functions": 0}
"""Limits by what is measured. `complexity` is that of the product's worst function, by radon; `complex-functions` is
the number of functions above that limit."""
MEDIAN_FUNCTION_LINES = 10
SLACK = 1.1
"""Maximum ratio of an exception's limit to the current size, so that not every edit is a breach."""


@dataclass(frozen=True, slots=True)
class Size:
    """One measured size. `what` names the limit, `where` the measured thing (`path` or `path::name`)."""

    what: str
    where: str
    value: int


@dataclass(frozen=True, slots=True)
class Exemption:
    """One entry of the ratchet."""

    what: str
    where: str
    limit: int
    reason: str


def main() -> int:
    """Measure the tree at `--root`; return 1 after writing a line for each breach to stderr."""
    parser = argparse.ArgumentParser(description="Check the sizes of files and functions, and their complexity.")
    parser.add_argument("--root", type=Path, default=ROOT, help="the project to measure")
    root: Path = parser.parse_args().root
    sizes = [*(size for path in python_files(root) for size in _measure(path, root)), *_complexity(root)]
    return report("sizes", [*_breaches(sizes, _exemptions(root / "tools" / "ratchet.toml")), *_median(root)])


def _measure(path: Path, root: Path) -> Iterator[Size]:
    """The sizes of a file and of every function in it."""
    text = path.read_text(encoding="utf-8")
    where = path.relative_to(root).as_posix()
    yield Size("file-lines", where, len(text.splitlines()))
    for name, node in _definitions(ast.parse(text), ""):
        if not isinstance(node, ast.ClassDef):
            yield Size("function-lines", f"{where}::{name}", _length(node))


def _complexity(root: Path) -> Iterator[Size]:
    """The highest complexity of the product's functions, and the number of functions above the limit."""
    values = [value for path in python_files(root, ["src"]) for _, value in complexities(path.read_text("utf-8"))]
    yield Size("complexity", "src", max(values, default=0))
    yield Size("complex-functions", "src", sum(value > HIGH for value in values))


def _definitions(
    node: ast.AST, prefix: str
) -> Iterator[tuple[str, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{prefix}{child.name}", child
            yield from _definitions(child, f"{prefix}{child.name}.")
        else:
            yield from _definitions(child, prefix)


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Number of lines from `def` to the end, including the docstring."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _exemptions(path: Path) -> list[Exemption]:
    if not path.exists():
        return []
    entries: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8")).get("exception", [])
    return [Exemption(entry["what"], entry["where"], entry["limit"], entry["reason"]) for entry in entries]


def _breaches(sizes: list[Size], exemptions: list[Exemption]) -> Iterator[str]:
    allowed = {(exemption.what, exemption.where): exemption for exemption in exemptions}
    measured = {(size.what, size.where): size.value for size in sizes}
    for size in sizes:
        exemption = allowed.get((size.what, size.where))
        limit = exemption.limit if exemption else LIMITS[size.what]
        if size.value > limit:
            yield f"{size.where}: {size.what} is {size.value}, at most {limit}"
    for key, exemption in allowed.items():
        yield from _stale(exemption, measured.get(key))


def _stale(exemption: Exemption, value: int | None) -> Iterator[str]:
    """The errors of an entry in the ratchet itself."""
    entry = f"tools/ratchet.toml: {exemption.what} of {exemption.where}"
    if not exemption.reason.strip():
        yield f"{entry} gives no reason"
    if value is None:
        yield f"{entry}: there is no such thing; delete the entry"
    elif value <= LIMITS[exemption.what]:
        yield f"{entry} is {value} and within the limit; delete the entry"
    elif exemption.limit > value * SLACK:
        yield f"{entry} is {value}; tighten its limit of {exemption.limit}"


def _median(root: Path) -> Iterator[str]:
    """The breach if the product's median function is too long."""
    sizes = [size for path in python_files(root, ["src"]) for size in _measure(path, root)]
    lengths = [size.value for size in sizes if size.what == "function-lines"]
    if lengths and (median := statistics.median(lengths)) > MEDIAN_FUNCTION_LINES:
        yield f"src: the median function has {median:g} lines, at most {MEDIAN_FUNCTION_LINES}"


if __name__ == "__main__":
    sys.exit(main())
