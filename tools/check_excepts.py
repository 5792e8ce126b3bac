"""Checks that only the edges of the product catch every exception: its faces, and calls of foreign code.

Elsewhere `except Exception` hides errors. Two kinds are allowed: a handler that cleans up and ends in a bare `raise`,
and calls of libraries that raise nothing more specific, which are listed below with the reason.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from sources import ROOT, python_files, report

BROAD = frozenset({"Exception", "BaseException", "ExceptionGroup", "BaseExceptionGroup"})
EDGES = re.compile(r"src/commonplace/(faces|plugins|toolsets/\w+/(mcp|rest|cli)(?=[/.]))[/.]")
"""Paths of the faces, of a toolset's face modules, and of the calls of plugins."""
DOORS = {
    "src/commonplace/embed/encoder.py": "The model's runtime and tokenizer raise plain `Exception`.",
}
"""Files that may catch broadly, with the reason. An entry that is not needed is a breach."""
MAX_BROAD = 8
"""Maximum number of broad handlers in the product.

Most faces need none: `traced_call` converts the errors of a call.
"""


def main() -> int:
    """Check every handler of the product at `--root`; return 1 after writing a line for each breach to stderr."""
    parser = argparse.ArgumentParser(description="Check where the product catches any exception at all.")
    parser.add_argument("--root", type=Path, default=ROOT, help="the project to look at")
    root: Path = parser.parse_args().root
    found_lines = {
        path.relative_to(root).as_posix(): lines
        for path in python_files(root, ["src"])
        if (lines := list(_broad(ast.parse(path.read_text(encoding="utf-8")))))
    }
    breaches = [
        f"{where}:{line}: catches any exception; name those that are meant, or end the handler in a bare raise"
        for where, lines in found_lines.items()
        if not EDGES.match(where) and where not in DOORS
        for line in lines
    ]
    stale = [
        f"{where}: catches nothing broadly; delete its entry"
        for where in DOORS
        if (root / where).exists() and where not in found_lines
    ]
    count = sum(map(len, found_lines.values()))
    many = (
        [f"src/commonplace: {count} handlers catch any exception; at most {MAX_BROAD} may"] if count > MAX_BROAD else []
    )
    return report("excepts", [*breaches, *stale, *many])


def _broad(tree: ast.Module) -> Iterator[int]:
    """The lines of handlers that catch every exception and do not raise it again."""
    for node in ast.walk(tree):
        match node:
            case ast.ExceptHandler():
                found_flag = _catches_all(node.type) and not _raises_again(node)
            case ast.Call():
                found_flag = _name(node.func) == "suppress" and any(map(_catches_all, node.args))
            case _:
                continue
        if found_flag:
            yield node.lineno


def _catches_all(kind: ast.expr | None) -> bool:
    """Whether a handler's type is missing, broad, or a tuple with a broad type."""
    if isinstance(kind, ast.Tuple):
        return any(map(_catches_all, kind.elts))
    return kind is None or _name(kind) in BROAD


def _name(node: ast.expr) -> str:
    """The last part of a dotted name; "" for any other expression."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _raises_again(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    returns = any(isinstance(node, ast.Return | ast.Continue | ast.Break) for node in ast.walk(handler))
    return isinstance(last, ast.Raise) and last.exc is None and not returns


if __name__ == "__main__":
    sys.exit(main())
