"""The test of a module is found at the module's path below `tests/unit`."""

from __future__ import annotations

from pathlib import Path

from support import ROOT

PACKAGE = ROOT / "src" / "commonplace"
UNIT = ROOT / "tests" / "unit"
LEAST = 0.74
"""The share of modules that have their own file; it only goes up. The aim is 0.9."""
ELSEWHERE = 6
"""Test files that belong to no single module; it only goes down."""


def mirrored(module: Path) -> Path:
    """Where the test of a module lies."""
    relative = module.relative_to(PACKAGE)
    return UNIT / relative.parent / f"test_{relative.name}"


def modules() -> list[Path]:
    return [path for path in PACKAGE.rglob("*.py") if path.name not in {"__init__.py", "__main__.py"}]


def test_the_share_of_modules_with_their_own_test_file_does_not_fall() -> None:
    found = modules()
    have = [path for path in found if mirrored(path).exists()]
    assert len(have) / len(found) >= LEAST, f"{len(have)} of {len(found)}"


def test_few_test_files_belong_to_no_module() -> None:
    expected = set(map(mirrored, modules()))
    others = sorted(path.relative_to(UNIT).as_posix() for path in UNIT.rglob("test_*.py") if path not in expected)
    assert len(others) <= ELSEWHERE, others


def test_a_file_that_mirrors_a_module_has_a_test() -> None:
    empty = [path for path in map(mirrored, modules()) if path.exists() and "def test_" not in path.read_text("utf-8")]
    assert empty == []
