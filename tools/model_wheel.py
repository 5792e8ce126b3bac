"""Builds a wheel that contains the installed model, so that its users need no download and no conversion.

make model-wheel          dist/commonplace_model_minilm-<version>-py3-none-any.whl
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from commonplace.embed.installer import MODEL, PACKAGE
from commonplace.settings import load_settings

ROOT = Path(__file__).resolve().parents[1]
VERSION = "1.0"
PROJECT = f"""\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{PACKAGE.replace("_", "-")}"
version = "{VERSION}"
description = "The sentence model {MODEL} in 8-bit integers, for searching by meaning with commonplace"
license = "Apache-2.0"
requires-python = ">=3.11"

[tool.hatch.build.targets.wheel]
packages = ["{PACKAGE}"]
"""


def main() -> int:
    """Build the wheel from the installed model; return 1 with a line on stderr if no model is installed."""
    source = load_settings().model_dir / MODEL
    if not source.is_dir():
        sys.stderr.write("model-wheel: no model is installed. Run: commonplace model install\n")
        return 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
        shutil.copytree(source, folder / PACKAGE / "model")
        (folder / PACKAGE / "__init__.py").write_text(f'"""The sentence model {MODEL}."""\n', encoding="utf-8")
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(ROOT / "dist")]
        return subprocess.run(command, cwd=folder, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
