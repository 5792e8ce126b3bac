"""Plugins of the older server's kind read by SQL and lists, and write through the toolset's own writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent import Agent, agent
from plugin_findings import plugin_findings
from site_packages import add_plugin
from support import ROOT

PAGES = {
    "kb.yaml": "name: base\nkb_type: books\n",
    "a.md": "---\ntitle: Alpha\ntags: [red]\ndue: '2024-01-01'\nstatus: open\n"
    "links:\n- target: b\n  relation: supports\n---\nSome words, see [[c]].\n",
    "b.md": "---\ntitle: Beta\nimportance: 9\ndue: '2024-02-01'\nmetadata:\n  weight: 3\n---\nMore words.\n",
    "c.md": "---\ntitle: Gamma\ndue: '2026-01-01'\n---\nText.\n",
}
NEED_PORTING = {
    "ledger_vote": "it writes to tables of the older server",
    "ledger_votes": "it reads the table ledger_vote",
    "ledger_file": "it writes files by pyrite.services.kb_service",
    "ledger_session": "it uses db.session",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    folder = tmp_path_factory.mktemp("ledger")
    source = (ROOT / "tests" / "helpers" / "site_packages" / "ledger.py").read_text()
    add_plugin(folder / "site", "ledger", source, "pyrite.plugins")
    (folder / "site" / "ledger_sums.py").write_text(
        "def total(db):\n    return sum(r['metadata'].get('weight', 0) for r in db.list_entries('base'))\n"
    )
    (folder / "base").mkdir()
    for path, text in PAGES.items():
        (folder / "base" / path).write_text(text)
    return folder / "base", {"PYTHONPATH": str(folder / "site")}


@pytest.fixture(scope="module")
def reader(made: tuple[Path, dict[str, str]]) -> Iterator[Agent]:
    with agent("mcp", "--toolset", "kb", made[0], env=made[1]) as client:
        yield client


def test_sql_reads_entries_with_their_columns_and_bodies(reader: Agent) -> None:
    assert reader.call("ledger_due")["due"] == [
        ["a", "Alpha", 5, "open", "Some words, see [[c]].\n"],
        ["b", "Beta", 9, None, "More words.\n"],
    ]
    assert reader.call("ledger_linked", id="a")["links"] == [["b", "supports"], ["c", "wikilink"]]


def test_lists_searches_and_links_answer(reader: Agent) -> None:
    assert reader.call("ledger_page") == {
        "listed": ["a", "b", "c"],
        "found": ["a"],
        "back": [["a", "supported_by"]],
        "sum": 3,
    }
    assert reader.call("ledger_bases") == {"names": ["base"], "type": "books", "no": None}
    assert reader.call("kb_orient", kb_name="base")["ledger"] == "base is books"


@pytest.mark.parametrize(
    "statement",
    [
        "ATTACH DATABASE '/tmp/x.db' AS x",
        "INSERT INTO rows (id) VALUES ('x')",
        "DELETE FROM link",
        "UPDATE rows SET title = ''",
        "CREATE TABLE t (a)",
        "DROP VIEW entry",
        "PRAGMA writable_schema = 1",
        "SELECT load_extension('x')",
        "SELECT * FROM sqlite_master",
        "SELECT * FROM pragma_database_list",
        "VACUUM INTO '/tmp/y.db'",
        "BEGIN",
        "SELECT zeroblob(1000000000)",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
        "SELECT * FROM nothing",
    ],
)
def test_sql_neither_writes_nor_reaches_files_nor_runs_for_ever(reader: Agent, statement: str) -> None:
    assert len(reader.call("ledger_attach", id=statement)["refused"]) == 1
    assert reader.call("ledger_loop")["rows"] == len(PAGES) - 1


def test_a_tool_that_reads_writes_nothing_and_one_that_writes_does_so_by_the_schema(
    made: tuple[Path, dict[str, str]], reader: Agent
) -> None:
    base, environment = made
    assert "ledger_book" not in reader.tools()
    with agent("mcp", "--toolset", "kb", base, "--tier", "write", env=environment) as writer:
        for client in (reader, writer):
            assert client.refusal("ledger_sneak")["error_code"] == "KB_READ_ONLY"
        assert writer.call("ledger_book", id="booked")["metadata"]["due"] == "2024-05-01"
        assert "id: booked\ntitle: Booked\ntype: note\n" in (base / "notes" / "booked.md").read_text()
        assert writer.call("ledger_book", id="c")["title"] == "Booked"
        assert (base / "c.md").read_text().startswith("---\ntitle: Booked\ndue: '2024-05-01'\n")
        assert [row[0] for row in writer.call("ledger_due")["due"]] == ["a", "b", "c", "booked"]
        for name in ("booked", "c"):
            assert writer.call("ledger_strike", id=name)["deleted"]
        assert not writer.call("ledger_strike", id="c")["deleted"]
    (base / "c.md").write_text(PAGES["c.md"])
    assert not (base / "sneaked.md").exists()


def test_tools_that_need_more_are_named_and_not_listed(made: tuple[Path, dict[str, str]], reader: Agent) -> None:
    assert not NEED_PORTING.keys() & reader.tools().keys()
    assert set(plugin_findings(*made)) == {
        ("ledger", f"get_mcp_tools: the tool {name} needs porting and is not listed: {why}")
        for name, why in NEED_PORTING.items()
    }
