"""Checks that almost no line of the product is duplicated.

There are two measures. Both ignore comments, docstrings, blank lines, imports and lone brackets:

- the same text: runs of at least `SAME` lines that occur elsewhere word for word;
- the same shape: runs of at least `SHAPE` lines that differ in names and literals only. A plain list (such as one class
  after another with one field each) has few kinds of lines and does not count.

A line counts as a duplicate if it is in the second or a later occurrence of a run. Runs do not cross the end of a file.
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
"""Minimum number of different shapes in a run of the second measure."""
PERCENT = 1.0
"""Maximum percentage of the product's code lines that may be duplicates, exclusive."""
_SKIPPED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of code: its number in the file, its text without blanks, and its shape without names."""

    number: int
    text: str
    shape: str


@dataclass(frozen=True, slots=True)
class Run:
    """A run: lines `first` to `last` of `path` repeat the lines from `origin_line` of `origin`."""

    path: str
    first: int
    last: int
    origin: str
    origin_line: int


def main() -> int:
    """Compare the sources at `--root`; return 1 and list the runs on stderr if the share of duplicates is too high."""
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
    """The code lines of a file, without imports and docstrings."""
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
    """The line numbers of imports and of string statements."""
    docstring_and_import_lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) or (isinstance(node, ast.Expr) and _is_text(node.value)):
            docstring_and_import_lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return docstring_and_import_lines


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def repeated(files: dict[str, list[Line]], length: int, kinds: int, key: Callable[[Line], str]) -> list[Run]:
    """Runs of at least `length` lines whose keys occurred before, in the same file or in an earlier one.

    Args:
        files: The code lines of each file; the order of files decides which occurrence is the first.
        length: Minimum number of lines in a run.
        kinds: Minimum number of different keys in the first `length` lines of a run.
        key: Returns the value by which lines are compared.
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
    """The number of lines from `at` that equal those from `start`. The first `length` lines are known to be equal."""
    while at + length < len(keys) and start + length < len(others) and keys[at + length] == others[start + length]:
        length += 1
    return length


def _covered(files: dict[str, list[Line]], runs: Iterable[Run]) -> set[tuple[str, int]]:
    """Every code line in a repeated run, once."""
    return {(run.path, line.number) for run in runs for line in files[run.path] if run.first <= line.number <= run.last}


if __name__ == "__main__":
    sys.exit(main())
