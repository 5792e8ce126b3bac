"""Notes that no hub leads to."""

from __future__ import annotations

from pathlib import Path

from commonplace.toolsets.wiki.service.local import local_wiki
from commonplace.toolsets.wiki.service.note_queries import orphans
from commonplace.toolsets.wiki.service.notes import WikiOptions
from indexed import Indexed

HUB = "---\ncategory: INDEX\nlast_updated: 2026-01-05\n---\n"


def found(place: Path, files: dict[str, str]) -> list[str]:
    with Indexed(place, files) as base:
        return [note.path for note in orphans(local_wiki(base.collection, WikiOptions()))]


def test_a_note_that_only_other_notes_link_to_is_an_orphan_and_a_hub_is_none(tmp_path: Path) -> None:
    dated = "---\nlast_updated: 2026-01-0{}\n---\n{}"
    files = {
        "Hub.md": f"{HUB}[[led]]\n",
        "alone.md": HUB,
        "led.md": dated.format(1, "[[by a note]]\n"),
        "by a note.md": dated.format(2, "x\n"),
        "loose.md": dated.format(3, "[[loose]]\n"),
    }
    assert found(tmp_path, files) == ["loose", "by a note"]


def test_without_a_hub_every_note_is_an_orphan(tmp_path: Path) -> None:
    assert sorted(found(tmp_path, {"a.md": "[[b]]\n", "b.md": "[[a]]\n"})) == ["a", "b"]
