"""Bringing pages and sections back by the tool `restore`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from commonplace.domain.errors import ForbiddenError, GitError, InvalidInputError, KnowledgeError
from commonplace.faces.mcp.toolset import Call, Tier
from commonplace.services.services import Services
from commonplace.services.sessions import SessionMemory
from commonplace.services.writes.recorded import recording_writes
from commonplace.toolsets.notes.mcp import writes
from commonplace.toolsets.notes.mcp.parameters import NotesDelete, NotesRead, NotesRestore
from commonplace.toolsets.notes.mcp.queries import read
from commonplace.toolsets.notes.mcp.restoration import restore
from indexed import Indexed


def call_on(base: Indexed, tier: Tier = "write") -> Call:
    services = Services(collections=base.collections)
    return Call(services=services, tier=tier, progress=lambda *_: None, session=SessionMemory())


def test_a_deleted_page_comes_back_from_the_trash_without_git(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"a.md": "# A\n\nOnly here.\n"}) as base:
        call = call_on(base)
        read(call, NotesRead(page="a"))
        assert 'Back: restore {"page": "a.md"}' in str(writes.delete(call, NotesDelete(page="a")))
        assert str(restore(call, NotesRestore(page="a.md"))).startswith("Restored a.md rev ")
        assert (base.folder / "a.md").read_text() == "# A\n\nOnly here.\n"


def test_a_warning_is_told_once_before_the_size(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"a.md": "# A\n\n[Gone](nowhere.md)\n"}) as base:
        call = call_on(base)
        read(call, NotesRead(page="a"))
        writes.delete(call, NotesDelete(page="a"))
        with recording_writes() as recorded:
            answer = str(restore(call, NotesRestore(page="a.md")))
        assert answer.count("nowhere.md") == 1
        assert re.search(r"\n\(\d+ tokens\)\Z", answer)
        assert not recorded.receipts, "the server adds nothing to the answer"


def test_what_cannot_come_back_says_why(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"a.md": "# A\n\n## B\n\nb\n"}) as base:
        call = call_on(base)
        for given_values, kind, said in (
            ({}, InvalidInputError, "What is to come back"),
            ({"section": "B", "session": "0" * 16}, InvalidInputError, "would be ignored"),
            ({"page": "a", "section": "B"}, InvalidInputError, "As it was when"),
            ({"page": "a", "section": "B", "at": "yesterday"}, GitError, "no history"),
            ({"page": "none.md"}, KnowledgeError, "none"),
        ):
            with pytest.raises(kind, match=said):
                restore(call, NotesRestore.model_validate(given_values))
        with pytest.raises(ForbiddenError, match="needs the tier write") as refusal:
            restore(call_on(base, "propose"), NotesRestore(session="0" * 16))
        assert "withdraw" in refusal.value.hint
