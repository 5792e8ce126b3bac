"""The tests of a module are found at the module's path below `tests/unit`: one file, or a folder for several."""

from __future__ import annotations

import ast
from pathlib import Path

from support import ROOT

PACKAGE = ROOT / "src" / "commonplace"
UNIT = ROOT / "tests" / "unit"
WITHOUT = 58
"""Modules with code that have no test file of their own; it only goes down."""
ELSEWHERE = 6
"""Test files that belong to no single module; it only goes down."""


def mirrored(module: Path) -> set[Path]:
    """The test files of a module: `test_NAME.py` beside where it would be, and those in the folder `NAME`."""
    relative = module.relative_to(PACKAGE)
    folder = UNIT / relative.parent
    if relative.name == "__init__.py":
        return {path for path in (folder.with_name(f"test_{folder.name}.py"),) if path.exists()}
    alone = folder / f"test_{relative.name}"
    return {*([alone] if alone.exists() else []), *(folder / relative.stem).rglob("test_*.py")}


def modules() -> list[Path]:
    return [
        path
        for path in PACKAGE.rglob("*.py")
        if path.name != "__main__.py" and (path.name != "__init__.py" or has_code(path))
    ]


def has_code(module: Path) -> bool:
    """Whether a module does something; protocols, data classes, constants and types declare only."""
    return any(
        isinstance(node, ast.Lambda)
        or (
            isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            and not all(isinstance(statement, ast.Pass) or _is_constant(statement) for statement in node.body)
        )
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
    )


def _is_constant(statement: ast.stmt) -> bool:
    """A docstring or `...`."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def test_hardly_a_module_lacks_a_test_file_of_its_own() -> None:
    lacking = sorted(
        path.relative_to(PACKAGE).as_posix() for path in modules() if has_code(path) and not mirrored(path)
    )
    assert len(lacking) <= WITHOUT, lacking


def test_a_module_that_only_declares_has_no_code(tmp_path: Path) -> None:
    module = tmp_path / "ports.py"
    module.write_text(
        'class Port(Protocol):\n    def read(self) -> str:\n        """Text."""\n        ...\n', encoding="utf-8"
    )
    assert not has_code(module)
    module.write_text("def read() -> str:\n    return ''\n", encoding="utf-8")
    assert has_code(module)


def test_few_test_files_belong_to_no_module() -> None:
    expected = set().union(*map(mirrored, modules()))
    others = sorted(path.relative_to(UNIT).as_posix() for path in UNIT.rglob("test_*.py") if path not in expected)
    assert len(others) <= ELSEWHERE, others


def test_a_file_that_mirrors_a_module_has_a_test() -> None:
    tests = set().union(*map(mirrored, modules()))
    empty = [path for path in sorted(tests) if "def test_" not in path.read_text("utf-8")]
    assert empty == []
