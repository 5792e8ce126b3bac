"""The libraries of the extras: a missing one is named with the command that installs them here."""

from __future__ import annotations

import re
import shlex
import sys
import tomllib

import pytest

from commonplace.domain import errors
from commonplace.domain.errors import ConfigError
from commonplace.index.opensearch.connection import ClusterAddress, Connection
from commonplace.lsp_server import serve_editor
from commonplace.settings import load_settings
from support import ROOT


def test_missing_libraries_are_named_with_the_command_that_installs_the_whole_extra() -> None:
    with pytest.raises(ConfigError, match=r"not installed: no_such_library, nor_this\.") as refused:
        errors.require_libraries(["numpy", "no_such_library", "nor_this"])
    installer, *requirements = refused.value.hint.removeprefix("Run: ").partition(" install ")[::2]
    assert shlex.split(installer) == [sys.executable, "-m", "pip"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {element.partition(">")[0] for element in project["optional-dependencies"]["meaning"]}
    assert {part.partition("<")[0] for part in shlex.split(requirements[0])} == declared
    assert declared == {"faiss-cpu", "numpy", "onnx", "onnxruntime", "tokenizers"}, "conversion included"


def test_without_pip_the_command_is_that_of_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)  # as where it is not installed
    assert errors.install_command("meaning").startswith(f"uv pip install --python {sys.executable} ")


def test_installed_libraries_are_no_error() -> None:
    errors.require_libraries([*errors.SEARCH_LIBRARIES, *errors.CONVERTER_LIBRARIES])


@pytest.mark.parametrize("extra", ["meaning", "lsp", "cluster"])
def test_the_command_names_the_libraries_and_never_this_package(extra: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    parts = {re.split("[<>]", element)[0] for element in project["optional-dependencies"][extra]}
    named = shlex.split(errors.install_command(extra).partition(" install ")[2])
    assert {re.split("[<>]", element)[0] for element in named} == parts


def test_a_missing_library_of_an_extra_is_an_error_of_the_command_that_needs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pygls", None)  # as where it is not installed
    with pytest.raises(ConfigError, match=r"The language server needs libraries .*: pygls\.") as refused:
        serve_editor(load_settings({}, {}))
    assert refused.value.hint.startswith(f"Run: {sys.executable} -m pip install 'pygls")
    monkeypatch.setitem(sys.modules, "opensearchpy", None)
    with pytest.raises(ConfigError, match=r"The search cluster needs libraries .*: opensearchpy\.") as refused:
        Connection(ClusterAddress(("http://127.0.0.1:1",)))
    assert "opensearch-py" in refused.value.hint
