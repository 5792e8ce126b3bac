"""A test that does more in `make soak` runs there: it takes `amount`, or has the marker `soak` or `sampled`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import ROOT

TESTS = ROOT / "tests"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _names(node: ast.AST) -> set[str]:
    """The names that stand in a part of a module, and `SOAK` for the variable of the environment."""
    names = {other_node.id for other_node in ast.walk(node) if isinstance(other_node, ast.Name)}
    texts = {
        other_node.value
        for other_node in ast.walk(node)
        if isinstance(other_node, ast.Constant) and other_node.value == "SOAK"
    }
    return names | texts


def _defined(statement: ast.stmt) -> set[str]:
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        return {statement.name}
    targets = statement.targets if isinstance(statement, ast.Assign) else ()
    return {name for target in targets for name in _names(target)}


def _is_longer(test: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    marked = "".join(map(ast.unparse, test.decorator_list))
    arguments = {arg.arg for arg in (*test.args.args, *test.args.kwonlyargs)}
    return (
        "amount" in arguments or "mark.soak" in marked or "mark.sampled" in marked or "usefixtures('amount')" in marked
    )


def left_out(source: str) -> Iterator[str]:
    """The tests of a module that depend on `SOAK` and that `make soak` leaves out."""
    body = ast.parse(source).body
    parts = [(statement, _names(statement), _defined(statement)) for statement in body]
    dependent = {"SOAK"}
    before: set[str] = set()
    while dependent != before:
        before = dependent
        dependent = before.union(*(defined for _, names, defined in parts if names & before))
    for test in body:
        is_test = isinstance(test, FUNCTIONS) and test.name.startswith("test_") and test.name in dependent
        if is_test and not _is_longer(test):
            yield test.name


def test_no_test_that_depends_on_soak_is_left_out_of_it() -> None:
    modules = [path for path in TESTS.rglob("test_*.py") if path != Path(__file__)]
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in modules}
    found_values = {path: [*left_out(text)] for path, text in texts.items() if "SOAK" in text}
    assert not {path: names for path, names in found_values.items() if names}


LONGER = "import os\nROUNDS = 9 if os.environ.get('SOAK') else 1\ndef rounds():\n    return ROUNDS\n"


@pytest.mark.parametrize(
    ("test", "names"),
    [
        ("def test_a():\n    rounds()\n", ["test_a"]),
        ("@pytest.mark.parametrize('seed', range(ROUNDS))\ndef test_a(seed):\n    pass\n", ["test_a"]),
        ("def test_a(amount):\n    rounds()\n", []),
        ("@pytest.mark.soak\ndef test_a():\n    rounds()\n", []),
        ("def test_a():\n    pass\n", []),
    ],
)
def test_a_test_is_seen_by_what_it_names(test: str, names: list[str]) -> None:
    assert [*left_out(LONGER + test)] == names
