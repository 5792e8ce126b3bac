"""The import rules of pyproject.toml hold for the sources, and each of them catches a deliberate breach."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from support import ROOT

PACKAGE = ROOT / "src" / "commonplace"
CORE_THIRD_PARTY = {"pyromark", "yaml"}
"""Imports allowed in the domain besides the standard library: a Markdown and a YAML parser. Services import neither."""

BREACHES = [
    ("Dependencies point down", "domain/breach.py", "from commonplace.services import reads"),
    ("Dependencies point down", "services/breach.py", "from commonplace.faces import errors"),
    ("Dependencies point down", "store/breach.py", "import commonplace.index"),
    ("Dependencies point down", "index/breach.py", "from commonplace.store import open_store"),
    ("Dependencies point down", "services/breach.py", "import commonplace.bootstrap"),
    ("Faces do not know each other", "faces/cli/breach.py", "from commonplace.faces.mcp import server"),
    ("Faces do not know each other", "faces/mcp/breach.py", "import commonplace.faces.cli"),
    ("Toolsets do not know each other", "toolsets/kb/breach.py", "from commonplace.toolsets import wiki"),
    ("Toolsets do not know the SDK", "toolsets/wiki/mcp/breach.py", "import mcp_types"),
    (
        "Within a toolset dependencies point down",
        "toolsets/wiki/service/breach.py",
        "from commonplace.toolsets.wiki import mcp",
    ),
    (
        "Within a toolset dependencies point down",
        "toolsets/wiki/rules.py",
        "from commonplace.toolsets.wiki import service",
    ),
    ("The core knows no framework", "toolsets/wiki/service/breach.py", "import pydantic"),
    (
        "Only the composition root names adapters",
        "toolsets/wiki/mcp/breach.py",
        "from commonplace.store import open_store",
    ),
    ("Only the registration finds toolsets", "bootstrap.py", "from commonplace.toolsets import wiki"),
    ("Dependencies point down", "faces/mcp/breach.py", "from commonplace.toolsets import wiki"),
    ("Only the MCP face knows the SDK", "faces/cli/breach.py", "from mcp.server.lowlevel import Server"),
    ("Only what is derived lies in SQLite", "store/breach.py", "import sqlite3"),
    ("Only embedding knows models and vectors", "index/breach.py", "import numpy"),
    ("Only embedding knows models and vectors", "services/breach.py", "import onnxruntime"),
    ("Only the index knows its engines", "faces/mcp/breach.py", "import tantivy"),
    ("Only the store knows Git", "index/breach.py", "import pygit2"),
    ("The core knows no framework", "domain/breach.py", "import sqlite3"),
    ("The core knows no framework", "domain/breach.py", "import pydantic"),
    ("The core knows no framework", "services/breach.py", "from asyncio import Queue"),
    ("The core knows no framework", "services/breach.py", "import pygit2"),
    ("Only the composition root names adapters", "faces/cli/breach.py", "from commonplace.store import open_store"),
    ("Only the composition root names adapters", "main.py", "from commonplace.index import open_index"),
    (
        "Dependencies point down",
        "domain/breach.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from commonplace.services import reads",
    ),
]
UNPLACED = ["annexe/__init__.py", "faces/telex/__init__.py", "toolsets/wiki/annexe/__init__.py"]


def _lint(project: Path) -> subprocess.CompletedProcess[str]:
    command = Path(sysconfig.get_path("scripts")) / "lint-imports"
    environment = {"PYTHONPATH": str(project / "src"), "PATH": "/usr/bin:/bin", "COLUMNS": "1000"}
    return subprocess.run(
        [sys.executable, str(command), "--no-cache", "--no-logo"],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def _copied(project: Path) -> Path:
    """A copy of the sources; their folder."""
    copy = project / "src" / "commonplace"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    shutil.copy(ROOT / "pyproject.toml", project)
    return copy


@pytest.fixture(scope="module")
def breached(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The report on every rule by name, if each breach is in a separate module."""
    project = tmp_path_factory.mktemp("breached")
    sources = _copied(project)
    for number, (_, file, statement) in enumerate(BREACHES):
        target = sources / _numbered(file, number)
        present = target.read_text(encoding="utf-8") if target.exists() else '"""A breach."""\n'
        target.write_text(f"{present}\n{statement}\n", encoding="utf-8")
    done = _lint(project)
    assert done.returncode == 1, done.stdout + done.stderr
    parts = re.split(r"^(\S.*)\n-+$", done.stdout, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _numbered(file: str, number: int) -> str:
    return file.replace("breach.py", f"breach{number}.py")


def test_the_sources_keep_every_import_rule() -> None:
    done = _lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("number", range(len(BREACHES)), ids=lambda number: f"{BREACHES[number][1]}-{number}")
def test_a_breach_of_an_import_rule_is_caught(breached: dict[str, str], number: int) -> None:
    rule, file, statement = BREACHES[number]
    module = ".".join(("commonplace", *Path(_numbered(file, number)).with_suffix("").parts))
    package, _, name = statement.rpartition("from ")[2].removeprefix("import ").partition(" import ")
    if not package.startswith("commonplace."):
        package = package.partition(".")[0]
    arrow = rf"\b{re.escape(module)} -> {re.escape(package)}(\.{name})?\b"
    assert re.search(arrow, breached[rule]), breached[rule]


@pytest.mark.parametrize("file", UNPLACED)
def test_a_part_that_nobody_placed_is_caught(tmp_path: Path, file: str) -> None:
    target = _copied(tmp_path) / file
    target.parent.mkdir()
    target.touch()

    done = _lint(tmp_path)

    assert done.returncode == 1, done.stdout + done.stderr
    module = ".".join(("commonplace", *Path(file).parent.parts))
    assert f"not listed as layers:\n\n- {module}\n" in done.stdout


def test_a_cycle_is_caught(tmp_path: Path) -> None:
    with (_copied(tmp_path) / "domain" / "documents.py").open("a", encoding="utf-8") as documents:
        documents.write("\nimport commonplace.domain.document_reader\n")

    done = _lint(tmp_path)

    assert done.returncode == 1, done.stdout + done.stderr
    assert "No package is cyclic BROKEN" in done.stdout


def test_the_domain_stands_on_the_standard_library_and_two_parsers() -> None:
    allowed = {*sys.stdlib_module_names, *CORE_THIRD_PARTY, "commonplace"}
    assert _imports("domain") <= allowed, _imports("domain") - allowed


def test_the_services_stand_on_the_standard_library_alone() -> None:
    allowed = {*sys.stdlib_module_names, "commonplace"}
    assert _imports("services") <= allowed, _imports("services") - allowed


def test_every_adapter_is_protected() -> None:
    """A rule that names what is not there fails, so `embed` joins the rule when it is built: this says so."""
    rules = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    protected = next(line for line in rules.splitlines() if line.startswith('protected_modules = ["commonplace.store"'))
    for adapter in ("store", "index", "embed"):
        if (PACKAGE / adapter).exists():
            assert f'"commonplace.{adapter}"' in protected


def _imports(part: str) -> set[str]:
    """Top-level names of every package that a part of the product imports, wherever the statement stands."""
    parts: set[str] = set()
    for path in (PACKAGE / part).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                parts.update(alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                parts.add(node.module.partition(".")[0])
    return parts
