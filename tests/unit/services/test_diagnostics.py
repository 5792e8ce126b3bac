"""Diagnostics of `doctor` about folders, plugins and indexes, in order and not."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from committing import committing
from commonplace.domain.documents import Severity
from commonplace.domain.errors import NotFoundError
from commonplace.services.diagnostics import (
    MAX_SHOWN_FILES,
    collection_diagnostics,
    embedding,
    index_diagnostics,
    opening_diagnostics,
    plugin_diagnostics,
)
from indexed import PERMISSIONS, Indexed, permissions_hold
from support import new_repo


def test_an_index_in_step_is_in_order(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"a.md": "# A\n"}) as base:
        (diagnostic,) = index_diagnostics(base.collection)
        assert (diagnostic.severity, diagnostic.message) == (None, "The index matches the files: 1 page.")
        base.write("b.md", "# B\n")
        (found_diagnostic,) = index_diagnostics(base.collection)
        assert found_diagnostic.message.endswith("2 pages.")


def test_bytes_that_changed_while_size_and_times_did_not_are_noticed(tmp_path: Path) -> None:
    with Indexed(tmp_path) as base:
        for number in range(MAX_SHOWN_FILES + 2):
            base.write_settled(f"{number}.md", "# Old\n")
        base.index.sync()
        for number in range(MAX_SHOWN_FILES + 2):
            file = base.folder / f"{number}.md"
            before = file.stat()
            with file.open("r+b") as opened:
                opened.write(b"# New\n")
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        diagnostics = list(index_diagnostics(base.collection))
    # The change time cannot be set back, so a sync may see them all; if not, they are named.
    assert len(diagnostics) == 1
    assert diagnostics[0].severity in {None, Severity.WARNING}


@PERMISSIONS
def test_files_that_cannot_be_read_are_counted_apart(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"a.md": "# A\n"}) as base:
        base.write("shut.md", "# B\n")
        (base.folder / "shut.md").chmod(0)
        with permissions_hold():
            diagnostics = list(index_diagnostics(base.collection))
    assert [diagnostic.check for diagnostic in diagnostics] == ["index", "files"]
    assert "shut.md" in diagnostics[1].message
    assert str(tmp_path) not in diagnostics[1].message


def test_a_schema_that_cannot_be_read_or_declares_nonsense_is_said(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"kb.yaml": "types: [\n"}) as base:
        assert [diagnostic.severity for diagnostic in collection_diagnostics(base.collection)] == [Severity.ERROR]
        base.write("kb.yaml", "name: base\ntypes: {note: {fields: {size: {type: enormous}}}}\n")
        assert {diagnostic.check for diagnostic in collection_diagnostics(base.collection)} == {"bad_declaration"}
        base.write("kb.yaml", "name: base\n")
        assert list(collection_diagnostics(base.collection)) == []


def test_a_folder_in_which_nothing_can_be_written_can_be_read_all_the_same(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", {"a.md": "# A\n"})
    repo.git("checkout", "--quiet", "--detach")
    with Indexed(tmp_path) as base:
        diagnostics = list(collection_diagnostics(replace(base.collection, store=committing(base.folder))))
    assert [(diagnostic.check, diagnostic.severity) for diagnostic in diagnostics] == [("read_only", Severity.INFO)]
    assert diagnostics[0].message.startswith("Nothing can be written: ")


def test_search_by_meaning_that_is_switched_off_is_no_fault(tmp_path: Path) -> None:
    with Indexed(tmp_path) as base:
        (diagnostic,) = embedding(replace(base.collection, semantic_index=None))
    assert (diagnostic.severity, diagnostic.message.startswith("Search by meaning: off.")) == (None, True)


def test_faults_of_plugins_and_folders_that_do_not_open_become_diagnostics() -> None:
    assert list(plugin_diagnostics([])) == []
    (diagnostic,) = plugin_diagnostics([("letters", "It raised.")])
    assert (diagnostic.severity, diagnostic.message, bool(diagnostic.hint)) == (Severity.WARNING, "It raised.", True)
    shown = opening_diagnostics(NotFoundError("There is no folder 'x'.", hint="Name one."))
    assert (shown.severity, shown.message, shown.hint) == (Severity.ERROR, "There is no folder 'x'.", "Name one.")
