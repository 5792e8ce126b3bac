"""The SQL view of a plugin: its columns, its lazy parts, and what it refuses."""

from __future__ import annotations

import sqlite3

import pytest

from commonplace.plugins.open_index import SqlView, as_entry


def test_bodies_and_links_are_read_when_a_statement_asks_for_them() -> None:
    requested_texts: list[str] = []

    def body(kb_name: str, path: str) -> str:
        requested_texts.append(f"{kb_name}:{path}")
        return "Text."

    def links() -> list[dict[str, str]]:
        requested_texts.append("links")
        return []

    row = {"id": "a", "kb_name": "kb", "title": "Größe", "file_path": "a.md", "metadata": {"due": "2024"}}
    view = SqlView([as_entry(row)], links, body)
    rows = view.execute("SELECT id, json_extract(metadata, '$.due') AS due FROM entry WHERE title = ?", ["Größe"])
    assert [tuple(row) for row in rows] == [("a", "2024")]
    assert requested_texts == []
    assert view.execute("SELECT body FROM entry").fetchall()[0]["body"] == "Text."
    assert view.execute("SELECT * FROM link").fetchall() == []
    assert requested_texts == ["kb:a.md", "links"]


@pytest.mark.parametrize("statement", ["DELETE FROM rows", "ATTACH ':memory:' AS x", "SELECT * FROM sqlite_schema", ""])
def test_nothing_else_is_run(statement: str) -> None:
    view = SqlView([as_entry({"id": "a"})], list, lambda _kb, _path: "")
    if statement:
        with pytest.raises(sqlite3.Error):
            view.execute(statement)
    view.commit()
    assert view.execute("SELECT count(*) FROM entry").fetchall()[0][0] == 1
