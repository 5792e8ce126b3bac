"""The needs of a tool's handler are seen in its code, and in what it calls in its own package."""

from __future__ import annotations

from functools import partial
from typing import Any

from commonplace.plugins.toolset_extension import missing_for


class Tools:
    def reads(self, db: Any) -> object:
        """Create nothing: UPDATE is a word here."""
        return db._raw_conn.execute("SELECT id FROM entry e JOIN link l ON l.source_id = e.id")

    def writes(self, db: Any) -> object:
        return self.below(db)

    def below(self, db: Any) -> object:
        return list(db._raw_conn.execute("DELETE FROM entry"))

    def asks(self, db: Any) -> object:
        return db.session.query()


def test_the_first_need_is_named() -> None:
    tools = Tools()
    assert missing_for(tools.reads) == ""
    assert missing_for(partial(tools.writes, None)) == "it writes to tables of the older server"
    assert missing_for(tools.asks) == "it uses db.session"
    others: tuple[object, ...] = (len, Tools, 5, str.upper)
    for other in others:
        assert missing_for(other) == ""
