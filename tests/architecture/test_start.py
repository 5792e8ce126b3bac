"""Modules that a process loads: heavy libraries are imported only when they are needed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cases import each_case
from support import new_repo

HEAVY = {"faiss", "numpy", "onnxruntime", "rich", "tokenizers", "typer"}
OWN_MODULES = {"__main__", "commonplace", "_virtualenv", "_distutils_hack", "__editable___commonplace_finder"}
FRAMEWORKS = {"anyio", "asyncio", "mcp", "pydantic", "pygit2", "sqlite3", "starlette", "tantivy", "watchfiles", *HEAVY}


def _loaded_by(statement: str) -> set[str]:
    """Top-level modules that a fresh interpreter has loaded after a statement."""
    return {name.partition(".")[0] for name in _modules_after(statement)}


def _modules_after(statement: str) -> set[str]:
    program = f"{statement}\nimport json, sys\nprint('\\n' + json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_the_probe_sees_what_is_loaded() -> None:
    assert "sqlite3" in _loaded_by("import sqlite3")


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert not _loaded_by("import commonplace") & FRAMEWORKS


def test_importing_the_command_loads_nothing_heavy() -> None:
    assert not _loaded_by("import commonplace.main") & {*HEAVY, "mcp", "tantivy", "pygit2"}


@each_case("module", ["documents", "document_reader", "ports", "query", "frontmatter", "errors"])
def test_the_domain_loads_no_framework(module: str) -> None:
    assert not _loaded_by(f"import commonplace.domain.{module}") & FRAMEWORKS


@pytest.mark.parametrize(
    ("name", "tools"),
    [("notes", "commonplace.toolsets.notes.mcp.queries"), ("kb", "commonplace.toolsets.kb.mcp.entries")],
)
@pytest.mark.sampled(2)
def test_a_server_loads_what_serves_its_calls_after_the_first_answer(tmp_path: Path, name: str, tools: str) -> None:
    arguments = ["mcp", str(tmp_path), "--toolset", name]
    serving = "from commonplace.faces.mcp.transports import stdio; from commonplace.main import main; "
    begun = _modules_after(f"{serving}stdio.serve_stdio = lambda *_: None; main({arguments!r})")
    ended = _modules_after(f"{serving}stdio.serve_stdio = lambda _, lifetime: lifetime.start(); main({arguments!r})")
    late = {tools, "commonplace.services.searches", "tantivy", "yaml"}
    assert f"commonplace.toolsets.{name}.mcp" in begun
    assert not begun & late
    assert late <= ended


def test_the_first_search_loads_nothing_of_clusters_remotes_and_meaning(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "notes", {"a.md": "# A\n\nalpha\n"})
    program = f"""
from pathlib import Path
from commonplace.bootstrap import Application
from commonplace.domain.query import SearchQuery
from commonplace.services.searches import search
from commonplace.settings import load_settings
flags = {{"embed": "false", "cache_dir": {str(tmp_path / "cache")!r}, "state_dir": {str(tmp_path / "state")!r}}}
application = Application([Path({str(repo.path)!r})], load_settings({{}}, flags))
application.sync()
assert search(application.services.collections.members, SearchQuery(text="alpha"), "keyword").hits
"""
    loaded = _modules_after(program)
    assert "commonplace.index.fulltext.searcher" in loaded
    late = (
        "commonplace.domain.cluster",
        "commonplace.embed",
        "commonplace.services.cluster",
        "commonplace.store.remotes",
    )
    assert not [name for name in loaded if name.startswith(late)]


def test_a_relay_loads_the_standard_library_alone_and_a_resident_all_that_its_sessions_use(tmp_path: Path) -> None:
    relay = _modules_after("import commonplace.relay")
    assert not [name for name in relay if name.partition(".")[0] not in {*sys.stdlib_module_names, *OWN_MODULES}]
    assert not relay & {"asyncio", "pathlib", "subprocess", "typing"}
    repo = new_repo(tmp_path / "notes", {"a.md": "# A\n\nalpha\n"})
    program = f"""
from commonplace.resident import load_modules
load_modules()
import sys, threading
assert threading.active_count() == 1
loaded = set(sys.modules)
from pathlib import Path
from commonplace.bootstrap import Application
from commonplace.domain.query import SearchQuery
from commonplace.services.searches import search
from commonplace.settings import load_settings
flags = {{"embed": "false", "cache_dir": {str(tmp_path / "cache")!r}, "state_dir": {str(tmp_path / "state")!r}}}
application = Application([Path({str(repo.path)!r})], load_settings({{}}, flags))
application.start()
application.wait_indexed(60)
assert search(application.services.collections.members, SearchQuery(text="alpha"), "keyword").hits
late = [name for name in sys.modules if name.startswith("commonplace.") and name not in loaded]
application.close()
print("\\n", late)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1].strip() == "[]"
