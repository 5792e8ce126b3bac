"""Finds missing libraries of the extra `meaning`, and the command that installs them."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec

from commonplace.domain.errors import ConfigError

EXTRA = "meaning"
ENDPOINT_LIBRARIES = ("faiss", "numpy")
"""Modules needed by semantic search if a server computes the vectors."""
SEARCH_LIBRARIES = ("faiss", "numpy", "onnxruntime", "tokenizers")
"""Modules needed by semantic search if the model runs in this process."""
CONVERTER_LIBRARIES = ("numpy", "onnx")
"""Modules needed for the conversion of the published weights."""


def missing_libraries(modules: Sequence[str]) -> list[str]:
    """The modules of `modules` that are not installed. Imports none of them."""
    return [name for name in dict.fromkeys(modules) if find_spec(name) is None]


def require_libraries(modules: Sequence[str]) -> None:
    """Check that all of `modules` are installed.

    Raises:
        ConfigError: kind "model": a module is missing; the hint is the command that installs it.
    """
    if missing := missing_libraries(modules):
        raise ConfigError(
            f"Search by meaning needs libraries that are not installed: {', '.join(missing)}.",
            kind="model",
            hint=f"Run: {install_command()}",
        )


def install_command() -> str:
    """The command that installs the extra's libraries into the environment of this process."""
    installer = [sys.executable, "-m", "pip", "install"]
    if find_spec("pip") is None:  # uv creates environments without pip
        installer = ["uv", "pip", "install", "--python", sys.executable]
    return shlex.join([*installer, *_requirements()])


def _requirements() -> list[str]:
    """The requirements of the extra as declared by the installed package; otherwise the module names."""
    try:
        declared = requires("commonplace") or []
    except PackageNotFoundError:
        declared = []
    marked = re.compile(rf"^([^;]+?)\s*;\s*extra == ['\"]{EXTRA}['\"]$")
    found = [match[1] for one in declared if (match := marked.match(one))]
    return found or sorted({"faiss-cpu", *SEARCH_LIBRARIES, *CONVERTER_LIBRARIES} - {"faiss"})
