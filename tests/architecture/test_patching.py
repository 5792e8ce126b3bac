"""Tests change what the product declares to be a limit, and none of its functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from support import ROOT

REPLACED = {
    "tests/acceptance/proposals/test_notes_at_propose.py",
    "tests/helpers/spaces/places.py",
    "tests/property/test_kept_findings.py",
    "tests/unit/embed/local/test_background.py",
    "tests/unit/faces/cli/test_text_input.py",
    "tests/unit/index/test_index_files.py",
    "tests/unit/index/test_ingestion.py",
    "tests/unit/services/proposals/test_decisions.py",
    "tests/unit/store/folder/test_proposal_branches.py",
    "tests/unit/store/git/past/test_revision_walk.py",
}
"""Tests that replace something else; the list only gets shorter.

Standard streams of the process; and what cannot be seen or made to fail from outside: which documents are compared or
read again, and a failure between two steps of the libraries below the index.
"""


def replaced(test: Path) -> Iterator[str]:
    """Names that a test replaces with `setattr` of a `MonkeyPatch`, except constants."""
    for call in ast.walk(ast.parse(test.read_text(encoding="utf-8"))):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "setattr":
            continue
        names = [node.value for node in call.args[:2] if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        name = names[0].rpartition(".")[2] if names else ast.unparse(call)
        if not name.isupper() or name.startswith("_"):
            yield name


def test_tests_replace_limits_only() -> None:
    posixes = {test.relative_to(ROOT).as_posix() for test in (ROOT / "tests").rglob("*.py") if any(replaced(test))}
    assert posixes == REPLACED


def test_a_replaced_function_is_found_and_a_limit_is_not(tmp_path: Path) -> None:
    test = tmp_path / "test_x.py"
    test.write_text("monkeypatch.setattr(a, 'MAX', 1)\nmonkeypatch.setattr('a.b.WAIT_SECONDS', 1)\n", encoding="utf-8")
    assert list(replaced(test)) == []
    test.write_text("patched.setattr(Folder, 'read', 1)\nm.setattr(owner, name, 1)\n", encoding="utf-8")
    assert list(replaced(test)) == ["read", "m.setattr(owner, name, 1)"]
