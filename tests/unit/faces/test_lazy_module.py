"""Modules that are loaded with their first call."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest

from commonplace.faces import lazy_module
from commonplace.faces.lazy_module import LazyModule


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "written_late.py").write_text("def add(a, *, b):\n    return a + b\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(lazy_module, "_named", [])
    monkeypatch.delitem(sys.modules, "written_late", raising=False)
    return "written_late"


def test_a_function_can_be_named_before_its_module_is_loaded_and_called_later(written: str) -> None:
    add = LazyModule(written).add
    assert written not in sys.modules
    assert add(1, b=2) == 3
    assert written in sys.modules


def test_a_function_that_is_not_there_fails_when_it_is_called(written: str) -> None:
    missing = LazyModule(written).missing
    with pytest.raises(AttributeError, match="missing"):
        missing()


def test_the_end_of_loading_loads_what_was_named_and_looks_for_garbage_as_before(
    written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = gc.get_threshold()
    monkeypatch.setattr(gc, "freeze", lambda: None)  # the objects of other tests are not to stay for ever
    LazyModule(written)
    lazy_module.relax_gc()
    hurried = gc.get_threshold()
    lazy_module.load_lazy_modules()
    assert hurried[0] == lazy_module.STARTUP_GC_THRESHOLD
    assert written in sys.modules
    assert gc.get_threshold() == usual
