"""Finds missing libraries of an extra, and the command that adds them to the environment of this process.

The command names the libraries and never this package: it is in no package index, where anybody may register its name.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec

from commonplace.domain.errors import ConfigError

ENDPOINT_LIBRARIES = ("faiss", "numpy")
"""Modules needed by semantic search if a server computes the vectors."""
SEARCH_LIBRARIES = ("faiss", "numpy", "onnxruntime", "tokenizers")
"""Modules needed by semantic search if the model runs in this process."""
CONVERTER_LIBRARIES = ("numpy", "onnx")
"""Modules needed for the conversion of the published weights."""


def missing_libraries(modules: Sequence[str]) -> list[str]:
    """The modules of `modules` that are not installed. Imports none of them."""
    return [name for name in dict.fromkeys(modules) if find_spec(name) is None]


def require_libraries(modules: Sequence[str], user: str = "Search by meaning", extra: str = "meaning") -> None:
    """Check that all of `modules` are installed.

    Args:
        modules: Names of the modules.
        user: What needs them, as the subject of a sentence.
        extra: The extra of this package that declares them.

    Raises:
        ConfigError: a module is missing; the hint is the command that installs the extra's libraries. Its kind is
            "model" for semantic search, otherwise "extra".
    """
    if missing := missing_libraries(modules):
        raise ConfigError(
            f"{user} needs libraries that are not installed: {', '.join(missing)}.",
            kind="model" if extra == "meaning" else "extra",
            hint=f"Run: {install_command(extra)}",
        )


def install_command(extra: str) -> str:
    """The command that installs an extra's libraries into the environment of this process."""
    installer = [sys.executable, "-m", "pip", "install"]
    if find_spec("pip") is None:  # uv creates environments without pip
        installer = ["uv", "pip", "install", "--python", sys.executable]
    return shlex.join([*installer, *_requirements(extra)])


def _requirements(extra: str) -> list[str]:
    """The requirements of an extra as declared by the installed package.

    Raises:
        ConfigError: the package has no metadata, as if its folder were only in `PYTHONPATH`.
    """
    try:
        declared = requires("commonplace") or []
    except PackageNotFoundError as error:
        message = "This program is not installed, so its libraries are not known."
        raise ConfigError(message, kind="extra", hint="Run `make setup` in its checkout.") from error
    marked = re.compile(rf"^([^;]+?)\s*;\s*extra == ['\"]{extra}['\"]$")
    return [match[1] for line in declared if (match := marked.match(line))]
