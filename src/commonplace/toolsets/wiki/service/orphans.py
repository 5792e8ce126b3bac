"""Orphaned notes: notes to which no hub links."""

from __future__ import annotations

from commonplace.toolsets.wiki.rules.wiki import NoteFilter, NoteSummary, Wiki

HUB = "index"
"""The category of hubs, the notes that lead to others. Hubs are never orphans."""


def orphans(wiki: Wiki) -> list[NoteSummary]:
    """Notes to which no note of category `index` links, in the order of the list of notes."""
    notes = wiki.notes.list(NoteFilter()).notes
    hubs = {note.path for note in notes if is_hub(note)}
    led_to = wiki.queries.linked_from_any(hubs)
    return [note for note in notes if note.path not in hubs and note.path not in led_to]


def is_hub(note: NoteSummary) -> bool:
    """Whether a note is a hub."""
    return note.category.casefold() == HUB
