"""Records of unchanged documents are the same objects at the next generation, and those of changed ones are new."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.query import ListQuery
from commonplace.index.catalogue import document_rows
from indexed import Indexed

FILES = {"a.md": "---\nid: tea\n---\n# A\n", "b.md": "# B\n", "in/c.md": "# C\n"}


def by_path(base: Indexed) -> dict[str, object]:
    return {record.address.path: record for record in base.index.records()}


def test_only_changed_records_are_new(tmp_path: Path) -> None:
    with Indexed(tmp_path, FILES) as base:
        before = by_path(base)
        base.update("b.md", "# Better\n")
        base.update("new.md", "# New\n")
        (base.folder / "in/c.md").unlink()
        base.index.update([Address("in/c.md")], 60)
        after = by_path(base)
        assert list(after) == ["a.md", "b.md", "new.md"]
        assert after["a.md"] is before["a.md"]
        assert tuple(after.values()) == base.index.list(ListQuery()).records


def test_a_record_changes_when_another_document_takes_its_id(tmp_path: Path) -> None:
    with Indexed(tmp_path, FILES) as base:
        assert not any(record.shares_id for record in base.index.records())
        base.update("b.md", "---\nid: tea\n---\n# B\n")
        assert [record.address.path for record in base.index.records() if record.shares_id] == ["a.md", "b.md"]


def test_of_too_many_documents_no_record_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_rows, "MAX_REUSED", 2)
    with Indexed(tmp_path, FILES) as base:
        before = by_path(base)
        base.update("b.md", "# Better\n")
        after = by_path(base)
        assert after["a.md"] == before["a.md"]
        assert after["a.md"] is not before["a.md"]
