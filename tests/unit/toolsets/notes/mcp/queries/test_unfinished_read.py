"""`read` while the first index is being built: a page is found by path, file name or title, and read from its file."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.domain.errors import IndexingError
from commonplace.faces.mcp.toolset import Call
from commonplace.services.collections import Collections
from commonplace.services.services import Services
from commonplace.toolsets.notes.mcp.parameters import NotesRead
from commonplace.toolsets.notes.mcp.queries import read
from indexed import Indexed


def _untold(done: int, total: int) -> None:
    del done, total


def _shown(call: Call, page: str | list[str], section: str = "") -> str:
    return str(read(call, NotesRead(page=page, section=section)))


def test_a_page_is_read_from_its_file_while_the_first_index_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(read.__globals__, "BUILDING_WAIT_SECONDS", 0.0)
    files = {"drinks/tea.md": "# Tea\n\nHot.\n\n## Green\n\nCooler.\n", ".hidden/no.md": "# No\n", "ig/no.md": "# No\n"}
    files |= {
        "lang.md": "---\naliases: [Old *name*]\n---\n# C# Basics\n\nSharp.\n\n## Types\n\nInt.\n",
        "x/same.md": "x",
        "y/same.md": "y",
    }
    with Indexed(tmp_path, {**files, ".commonplaceignore": "ig/\n"}) as base, closing(base.another()) as unready:
        base.write("new.md", "# New\n")
        call = Call(
            services=Services(collections=Collections(lambda: [replace(base.collection, name="t", index=unready)])),
            tier="read",
            progress=_untold,
        )
        note = "The index is still being built. What is said of this page elsewhere"
        for page, text in (
            ("drinks/tea", "Hot."),
            ("drinks/tea.md#Green", "Cooler."),
            ("new.md", "# New"),
            ("TEA", "Hot."),
            ("New", "# New"),
            ("C# basics", "Sharp."),
            ("[[C# Basics#Types]]", "Int."),
            ("old *Name*", "Sharp."),
        ):
            answer = _shown(call, page)
            assert text in answer, page
            assert note in answer, page
        assert "Hot." not in _shown(call, "drinks/tea.md", section="Green")
        both = _shown(call, ["drinks/tea.md", "new.md"])
        assert "Hot." in both
        assert "# New" in both
        assert "The sections that answer are not known yet." in str(read(call, NotesRead(page="Tea", query="hot")))
        with pytest.raises(IndexingError, match="'same' names 2 pages"):
            _shown(call, "same")
        with pytest.raises(
            IndexingError, match=r"No page 'None' is known yet: 5 of 5 files were looked at for a title\."
        ):
            _shown(call, "None")
        for page in (".hidden/no.md", "ig/no.md", "../x.md", "none.md"):
            with pytest.raises(IndexingError):
                _shown(call, page)
