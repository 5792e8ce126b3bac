"""Checks that almost no line of the product is written twice.

Two measures, both over code alone (comments, docstrings, blank lines, imports and lone brackets are left out):

- the same text: runs of `MIN_DUPLICATE_SIMILARITY` lines and more that stand elsewhere word for word;
- the same shape: runs of `SHAPE` lines and more that differ in names and literals only. A plain list (one class after
  another with one field each) has few kinds of lines and is no such run.

A line counts when it lies in the second or a later occurrence of a run. Runs do not cross the end of a file.
"""

from __future__ import annotations

import argparse
import ast
import io
import keyword
import sys
import tokenize
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from sources import ROOT, python_files, report

SAME = 6
SHAPE = 12
KINDS = 6
"""How many different shapes a run of the second measure has at the least."""
PERCENT = 1.0
"""Share of the product's code lines that may be duplicates, exclusive."""
_SKIPPED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of code: its number in the file, its text without blanks, and its shape without names."""

    number: int
    text: str
    shape: str


@dataclass(frozen=True, slots=True)
class Run:
    """Lines `first` to `last` of `path` repeat those that begin at line `origin_line` of `origin`."""

    path: str
    first: int
    last: int
    origin: str
    origin_line: int


def main() -> int:
    """Compare the sources at `--root`; 1 and a line for each repeated run on stderr when the share is too high."""
    parser = argparse.ArgumentParser(description="Check that almost no line of the product is written twice.")
    parser.add_argument("--root", type=Path, default=ROOT, help="the project to compare")
    parser.add_argument("--show", action="store_true", help="list the repeated runs even when they are few")
    arguments = parser.parse_args()
    root: Path = arguments.root
    files = {path.relative_to(root).as_posix(): code_lines(path.read_text(encoding="utf-8")) for path in _paths(root)}
    runs = [*repeated(files, SAME, 1, lambda line: line.text), *repeated(files, SHAPE, KINDS, lambda line: line.shape)]
    total = sum(len(lines) for lines in files.values())
    share = 100 * len(_covered(files, runs)) / max(total, 1)
    rows = [f"{r.path}:{r.first}-{r.last} repeats {r.origin}:{r.origin_line}" for r in runs]
    if share < PERCENT and not arguments.show:
        return 0
    report("dups", rows)
    sys.stderr.write(f"dups: {share:.2f} % of {total:,} code lines are duplicates, under {PERCENT:g} % may be\n")
    return int(share >= PERCENT)


def _paths(root: Path) -> list[Path]:
    return python_files(root, ["src"])


def code_lines(source: str) -> list[Line]:
    """The lines of a file that say something of its own."""
    left_out = _docstring_and_import_lines(ast.parse(source))
    texts: dict[int, list[str]] = defaultdict(list)
    shapes: dict[int, list[str]] = defaultdict(list)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        number = token.start[0]
        if token.type not in _SKIPPED and number not in left_out:
            texts[number].append(token.string)
            shapes[number].append(_shape(token))
    lines = (Line(number, " ".join(words), " ".join(shapes[number])) for number, words in sorted(texts.items()))
    return [line for line in lines if any(c.isalnum() for c in line.text)]


def _shape(token: tokenize.TokenInfo) -> str:
    if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
        return "N"
    return "L" if token.type in {tokenize.STRING, tokenize.NUMBER} else token.string


def _docstring_and_import_lines(tree: ast.Module) -> set[int]:
    """Lines of imports and of strings that stand alone."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) or (isinstance(node, ast.Expr) and _is_text(node.value)):
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def repeated(files: dict[str, list[Line]], length: int, kinds: int, key: Callable[[Line], str]) -> list[Run]:
    """Runs of at least `length` lines whose keys stood before, earlier in the same file or in an earlier one.

    Args:
        files: The code lines of each file, in the order in which "before" is meant.
        length: Lines that make a run.
        kinds: How many different keys the first `length` lines of a run have at the least.
        key: What makes two lines equal.
    """
    seen: dict[tuple[str, ...], tuple[str, int]] = {}
    runs: list[Run] = []
    for path, lines in files.items():
        keys = [key(line) for line in lines]
        at = 0
        while at + length <= len(lines):
            window = tuple(keys[at : at + length])
            origin = seen.setdefault(window, (path, at))
            if len(set(window)) < kinds or (origin[0] == path and origin[1] + length > at):
                at += 1
                continue
            size = _extent(keys, at, [key(line) for line in files[origin[0]]], origin[1], length)
            numbers = (lines[at].number, lines[at + size - 1].number)
            runs.append(Run(path, *numbers, origin[0], files[origin[0]][origin[1]].number))
            at += size
    return runs


def _extent(keys: list[str], at: int, others: list[str], start: int, length: int) -> int:
    """How many lines from `at` equal those from `start`, `length` being known to."""
    while at + length < len(keys) and start + length < len(others) and keys[at + length] == others[start + length]:
        length += 1
    return length


def _covered(files: dict[str, list[Line]], runs: Iterable[Run]) -> set[tuple[str, int]]:
    """Every code line that lies in a repeated run, once."""
    return {(run.path, line.number) for run in runs for line in files[run.path] if run.first <= line.number <= run.last}


if __name__ == "__main__":
    sys.exit(main())
