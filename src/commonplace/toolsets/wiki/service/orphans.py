"""Notes that nobody is led to: those that no hub links to."""

from __future__ import annotations

from commonplace.toolsets.wiki.rules.wiki import NoteFilter, NoteSummary, Wiki

HUB = "index"
"""The category of notes that lead to others; hubs are no orphans themselves."""


def orphans(wiki: Wiki) -> list[NoteSummary]:
    """Notes that no note of category `index` links to, in the order of a list."""
    notes = wiki.notes.list(NoteFilter()).notes
    hubs = {note.path for note in notes if is_hub(note)}
    led_to = wiki.queries.linked_from_any(hubs)
    return [note for note in notes if note.path not in hubs and note.path not in led_to]


def is_hub(note: NoteSummary) -> bool:
    """Whether a note is there to lead to others."""
    return note.category.casefold() == HUB
