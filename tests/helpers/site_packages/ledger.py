"""A plugin as they are written for the older server: SQL that reads, entries written through the database."""

from __future__ import annotations

import sqlite3
from typing import Any

from ledger_sums import total


class Plugin:
    name = "ledger"

    def set_context(self, ctx: Any) -> None:
        self.ctx = ctx

    def get_orient_supplement(self, kb_name: str, kb_type: str) -> dict[str, Any]:
        return {"ledger": f"{kb_name} is {kb_type}"}

    def get_mcp_tools(self, tier: str) -> dict[str, dict[str, Any]]:
        reading = [self._due, self._linked, self._page, self._bases, self._sneak, self._loop, self._attach]
        broken = [self._vote, self._votes, self._file, self._session]
        handlers = [*reading, *broken, *([self._book, self._strike] if tier != "read" else [])]
        schema = {"type": "object", "properties": {"id": {"type": "string"}}}
        return {
            f"ledger{handler.__name__}": {"description": handler.__name__, "inputSchema": schema, "handler": handler}
            for handler in handlers
        }

    def _due(self, _: dict[str, Any]) -> dict[str, Any]:
        rows = self.ctx.db._raw_conn.execute(
            "SELECT * FROM entry WHERE json_extract(metadata, '$.due') < ? ORDER BY title", ("2025",)
        ).fetchall()
        return {"due": [[row["id"], row["title"], row["importance"], row["status"], row["body"]] for row in rows]}

    def _linked(self, args: dict[str, Any]) -> dict[str, Any]:
        query = "SELECT target_id, relation FROM link WHERE source_id = ? ORDER BY target_id"
        return {"links": [tuple(row) for row in self.ctx.db._raw_conn.execute(query, (args["id"],)).fetchall()]}

    def _page(self, _: dict[str, Any]) -> dict[str, Any]:
        db = self.ctx.db
        listed = db.list_entries(kb_name="base", entry_type="note", limit=5000, sort_by="title", sort_order="asc")
        match = db.search("words", kb_name="base", entry_type="note", tags=["red"], limit=5)
        return {
            "listed": [row["id"] for row in listed],
            "found": [row["id"] for row in match],
            "back": [[row["id"], row["relation"]] for row in db.get_backlinks("b", "base")],
            "sum": total(db),
        }

    def _bases(self, _: dict[str, Any]) -> dict[str, Any]:
        config = self.ctx.config
        kb = config.get_kb("base")
        return {
            "names": [knowledge_base.name for knowledge_base in config.knowledge_bases],
            "type": kb.kb_type,
            "no": config.get_kb("none"),
        }

    def _sneak(self, _: dict[str, Any]) -> dict[str, Any]:
        self.ctx.db.upsert_entry({"id": "sneaked", "kb_name": "base", "title": "Sneaked"})
        return {}

    def _loop(self, _: dict[str, Any]) -> dict[str, Any]:
        return {"rows": self.ctx.db._raw_conn.execute("SELECT count(*) FROM entry").fetchone()[0]}

    def _attach(self, args: dict[str, Any]) -> dict[str, Any]:
        refused: list[str] = []
        for statement in args["id"].split(";"):
            try:
                self.ctx.db._raw_conn.execute(statement)
            except sqlite3.Error as error:
                refused.append(str(error))
        return {"refused": refused}

    def _book(self, args: dict[str, Any]) -> dict[str, Any]:
        entry = {"id": args["id"], "kb_name": "base", "title": "Booked", "entry_type": "note", "tags": ["new"]}
        self.ctx.db.upsert_entry({**entry, "body": "Sum.", "importance": 8, "metadata": {"due": "2024-05-01"}})
        return self.ctx.db.get_entry(args["id"], "base")

    def _strike(self, args: dict[str, Any]) -> dict[str, Any]:
        return {"deleted": self.ctx.db.delete_entry(args["id"], "base")}

    def _vote(self, _: dict[str, Any]) -> dict[str, Any]:
        self.ctx.db._raw_conn.execute("INSERT INTO ledger_vote VALUES (1)")
        return {}

    def _votes(self, _: dict[str, Any]) -> dict[str, Any]:
        return {"rows": list(self.ctx.db._raw_conn.execute("SELECT id FROM entry e LEFT JOIN ledger_vote v ON 1"))}

    def _file(self, _: dict[str, Any]) -> dict[str, Any]:
        from pyrite.services.kb_service import KBService  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

        return KBService(self.ctx.config, self.ctx.db).create_entry()

    def _session(self, _: dict[str, Any]) -> dict[str, Any]:
        db = self.ctx.db
        return {"rows": db.session.query()}
