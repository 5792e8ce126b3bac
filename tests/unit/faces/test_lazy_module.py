"""Modules that are loaded with their first call."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A folder with a module that adds."""
    (tmp_path / "written_late.py").write_text("def add(a, *, b):\n    return a + b\n")
    return tmp_path


def run(folder: Path, *lines: str) -> None:
    """Run assertions in a process of their own, as what is named for later stays named."""
    code = "\n".join(["import gc, sys", "from commonplace.faces import lazy_module", *lines])
    places = os.pathsep.join([str(folder), *sys.path])
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": places}, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_a_function_can_be_named_before_its_module_is_loaded_and_called_later(written: Path) -> None:
    run(
        written,
        "add = lazy_module.LazyModule('written_late').add",
        "assert 'written_late' not in sys.modules",
        "assert add(1, b=2) == 3",
        "assert 'written_late' in sys.modules",
    )


def test_a_function_that_is_not_there_fails_when_it_is_called(written: Path) -> None:
    run(
        written,
        "missing = lazy_module.LazyModule('written_late').missing",
        "try:",
        "    missing()",
        "except AttributeError as error:",
        "    assert 'missing' in str(error)",
        "else:",
        "    raise AssertionError",
    )


def test_the_end_of_loading_loads_what_was_named_and_looks_for_garbage_as_before(written: Path) -> None:
    run(
        written,
        "usual = gc.get_threshold()",
        "lazy_module.LazyModule('written_late')",
        "lazy_module.relax_gc()",
        "assert gc.get_threshold()[0] == lazy_module.STARTUP_GC_THRESHOLD",
        "lazy_module.load_lazy_modules()",
        "assert 'written_late' in sys.modules",
        "assert gc.get_threshold() == usual",
        "assert gc.get_freeze_count() > 0",
    )
