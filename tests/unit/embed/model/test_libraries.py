"""The libraries of search by meaning: which are missing is said with the command that installs them."""

from __future__ import annotations

import shlex
import sys
import tomllib

import pytest

from commonplace.domain.errors import ConfigError
from commonplace.embed.model import libraries
from support import ROOT


def test_missing_libraries_are_named_with_the_command_that_installs_the_whole_extra() -> None:
    with pytest.raises(ConfigError, match=r"not installed: no_such_library, nor_this\.") as refused:
        libraries.require_libraries(["numpy", "no_such_library", "nor_this"])
    installer, *requirements = refused.value.hint.removeprefix("Run: ").partition(" install ")[::2]
    assert shlex.split(installer) == [sys.executable, "-m", "pip"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {one.partition(">")[0] for one in project["optional-dependencies"]["meaning"]}
    assert {one.partition("<")[0] for one in shlex.split(requirements[0])} == declared
    assert declared == {"faiss-cpu", "numpy", "onnx", "onnxruntime", "tokenizers"}, "conversion included"


def test_without_pip_the_command_is_that_of_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)  # as where it is not installed
    assert libraries.install_command().startswith(f"uv pip install --python {sys.executable} ")


def test_installed_libraries_are_no_error() -> None:
    libraries.require_libraries([*libraries.SEARCH_LIBRARIES, *libraries.CONVERTER_LIBRARIES])
