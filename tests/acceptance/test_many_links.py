"""A page with more links than an answer follows: the first ones are listed, and each face says that there are more."""

from __future__ import annotations

from pathlib import Path

from agent import agent
from commonplace.toolsets.wiki.rules import MAX_LINKS
from serving import served

MORE = "(of more links than 5,000, only the first are followed)"


def test_the_first_links_of_a_page_are_listed_and_the_rest_is_told(tmp_path: Path) -> None:
    names = [f"p{number}" for number in range(MAX_LINKS + 1)]
    (tmp_path / "many.md").write_text(" ".join(f"[[{name}]]" for name in names))
    (tmp_path / "all.md").write_text(" ".join(f"[[{name}]]" for name in names[:MAX_LINKS]))
    with served(str(tmp_path)) as server:
        for page, more in (("many", True), ("all", False)):
            for path in (f"/api/v1/pages/{page}", f"/api/v1/links/{page}"):
                shown = server.ask("GET", path).json
                assert shown["links_to"] == names[:MAX_LINKS]
                assert shown.get("links_truncated", False) == more
    with agent("mcp", str(tmp_path), "--toolset", "kb", env={}) as kb:
        for page, more in (("many", True), ("all", False)):
            entry = kb.call("kb_get", entry_id=page)["entry"]
            assert [link["target_id"] for link in entry["links"]] == names[:MAX_LINKS]
            assert entry.get("links_truncated", False) == more
    with agent("mcp", str(tmp_path), "--toolset", "wiki", env={}) as wiki:
        for page, more in (("many", True), ("all", False)):
            assert (f", p4999, {MORE}\n" in wiki.text("read_note", path=page)) == more
            assert (f"  - p4999\n  {MORE}\n" in wiki.text("get_links", path=page)) == more
