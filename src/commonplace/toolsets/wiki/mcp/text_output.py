"""The plain text of the wiki's answers, one function per answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from commonplace.domain.changes import people_line
from commonplace.domain.errors import ALREADY_EDITED, ALREADY_WRITTEN, Code, KnowledgeError
from commonplace.domain.json import JsonObject
from commonplace.domain.proposals import OWN_CHANGE
from commonplace.faces.write_output import kept_title_lines, not_rewritten_lines
from commonplace.toolsets.wiki.rules import (
    MAX_LINKS,
    Note,
    NoteAttachment,
    NoteChunks,
    NoteCommit,
    NoteFilter,
    NoteHits,
    NoteLinks,
    NoteList,
    NoteSummary,
    RenamedNote,
    SavedNote,
    as_text,
    as_texts,
    note_name,
)

EXCERPT_CHARS = 150
SHORT_REVISION = 8
"""Number of digits of a revision in text for people."""
MORE_LINKS = f"(of more links than {MAX_LINKS:,}, only the first are followed)"
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def note_text(note: Note, content: str, section: Sequence[str] = ()) -> str:
    """A note with its metadata above a line, and its Markdown (the whole text or one section) below."""
    values = note.frontmatter
    lines = [
        f"# {note_name(note.path, values)}",
        f"Path: {note.path}",
        f"Revision: {note.revision}",
        *([f"Section: {' > '.join(section)}"] if section else []),
        _labelled(("Category", as_text(values.get("category"))), ("Tags", ", ".join(as_texts(values.get("tags"))))),
        _labelled(("Confidence", as_text(values.get("confidence"))), ("Last updated", _last_updated(values))),
        _labelled(("Links to", ", ".join((*note.links_to, *([MORE_LINKS] if note.more_links else []))))),
        _labelled(("Linked from", ", ".join(note.linked_from))),
    ]
    return "\n".join([*filter(None, lines), "", "---", content])


def list_text(page: NoteList, note_filter: NoteFilter) -> str:
    """A list of notes with the total, and the offset of the next page."""
    lines = [f"Found {page.total} notes{_conditions(note_filter)}:"]
    if page.notes:
        lines += ["", *map(summary_line, page.notes)]
    end = note_filter.offset + len(page.notes)
    if page.notes and end < page.total:
        lines += ["", f"Showing {len(page.notes)} of {page.total}; pass offset={end} for more."]
    return "\n".join(lines)


def orphans_text(notes: Sequence[NoteSummary]) -> str:
    """The list of orphaned notes."""
    if not notes:
        return "No orphaned notes found."
    return "\n".join([f"Found {len(notes)} orphaned notes:", "", *map(summary_line, notes)])


def summary_line(note: NoteSummary) -> str:
    """A note as one line of a list."""
    facts = [
        note.category,
        f"{note.words} words",
        f"updated {day_text(note.last_updated)}" if note.last_updated else "",
    ]
    return f"- {note.path} ({', '.join(filter(None, facts))})"


def hits_text(query: str, hits: NoteHits, unfinished: str = "") -> str:
    """Notes that match a search by words; `unfinished` says what is not searched yet."""
    rows = [(f"{hit.path} (score: {hit.score:.2f})", hit.snippet) for hit in hits.hits]
    # The contract fixes the text for no results, which contains everything that another notice could say.
    text = _ranked(query, hits.total, rows, hits.notice if rows else unfinished)
    if len(hits.hits) < hits.total:
        text += f"\n\nShowing {len(hits.hits)} of {hits.total}; pass a higher limit or ask more narrowly."
    return text


def chunks_text(query: str, chunks: NoteChunks) -> str:
    """Chunks of notes that match a semantic search."""
    rows = [(f"{chunk.path} (distance: {chunk.distance:.2f})", chunk.snippet) for chunk in chunks.chunks]
    return _ranked(query, len(rows), rows, chunks.notice)


def links_text(links: NoteLinks) -> str:
    """The links of a note, in both directions."""
    lines = [f"Links for {links.path}:", ""]
    for label, paths in (("Links to", links.links_to), ("Linked from", links.linked_from)):
        lines.append(f"{label} ({len(paths)}):")
        lines += [f"  - {path}" for path in paths] or ["  (none)"]
        lines += [f"  {MORE_LINKS}"] if links.more_links and paths is links.links_to else []
    return "\n".join(lines)


def changes_text(changes: Sequence[NoteCommit]) -> str:
    """The latest commits, one per line."""
    heading = f"{len(changes)} recent changes:"
    return _commits(
        heading,
        changes,
        lambda item: f"{minute_text(item.date)} | {people_line(item.author, item.message)} | {', '.join(item.pages)}",
    )


def history_text(path: str, changes: Sequence[NoteCommit]) -> str:
    """The commits that changed a note, one per line."""
    heading = f"History for {path} ({len(changes)} revisions):"
    return _commits(
        heading,
        changes,
        lambda item: (
            f"{item.revision[:SHORT_REVISION]} | {minute_text(item.date)} | {people_line(item.author, item.message)}"
        ),
    )


def attachments_text(path: str, attachments: Sequence[NoteAttachment]) -> str:
    """The attachments of a note, one per line."""
    lines = [f"{len(attachments)} attachments of {path}:"]
    if attachments:
        lines += ["", *(f"- {item.filename} ({item.mime_type}, {item.size} bytes)" for item in attachments)]
    return "\n".join(lines)


def saved_text(verb: str, saved: SavedNote) -> str:
    """The confirmation of a written note."""
    line = f"{verb} {saved.path} (revision: {saved.revision[:SHORT_REVISION]})"
    return f"{line}\nNothing changed: the note already held this text." if saved.unchanged else line


def renamed_text(renamed: RenamedNote, titles: Mapping[str, str]) -> str:
    """The confirmation of a renamed note.

    Args:
        renamed: The renamed note.
        titles: Its title by its path if it is a tiddler.
    """
    lines = [f"Renamed {renamed.old_path} -> {renamed.new_path} (revision: {renamed.revision[:SHORT_REVISION]})"]
    if renamed.updated_pages:
        lines.append(f"Updated {len(renamed.updated_pages)} backreferences:")
        lines += [f"- {path}" for path in renamed.updated_pages]
    else:
        lines.append("No backreferences needed updating.")
    lines += not_rewritten_lines(renamed.not_rewritten) + kept_title_lines(titles)
    return "\n".join(lines)


def minute_text(date: str) -> str:
    """A time as `YYYY-MM-DD HH:MM` in UTC; any other text unchanged."""
    when = _time(date)
    if when is None:
        return date
    utc = when.astimezone(UTC) if when.tzinfo else when
    return f"{utc:%Y-%m-%d %H:%M}".rjust(16, "0")


def day_text(date: str) -> str:
    """The day of a date or time as `YYYY-MM-DD`, in the time's own zone; any other text unchanged."""
    when = _time(date)
    return f"{when:%Y-%m-%d}".rjust(10, "0") if when else date


def _time(text: str) -> datetime | None:
    """A time in a form in which servers send one: ISO 8601, or that of HTTP dates, which Flask gives to YAML dates."""
    parse = datetime.fromisoformat if _ISO_DATE.match(text) else parsedate_to_datetime
    try:
        return parse(text)
    except ValueError:
        return None


def short_excerpt(text: str) -> str:
    """The text as one line of at most `EXCERPT_CHARS` characters, with `...` where it was truncated."""
    line = " ".join(text.split())
    whole = line.rstrip("…")
    if len(whole) <= EXCERPT_CHARS:
        return line if whole == line else f"{whole.rstrip()}..."
    cut = whole[:EXCERPT_CHARS]
    blank = cut.rfind(" ")
    return f"{(cut[:blank] if blank > EXCERPT_CHARS // 2 else cut).rstrip()}..."


def _ranked(query: str, total: int, rows: Sequence[tuple[str, str]], notice: str) -> str:
    blocks = [f'{total} results for "{query}":', *([notice] if notice else [])]
    for number, (heading, snippet) in enumerate(rows, 1):
        shown = short_excerpt(snippet)
        blocks.append(f"{number}. {heading}" + (f"\n   {shown}" if shown else ""))
    return "\n\n".join(blocks)


def _commits(heading: str, changes: Sequence[NoteCommit], line: Callable[[NoteCommit], str]) -> str:
    lines = [heading]
    if changes:
        lines.append("")
    for commit in changes:
        lines.append(f"- {line(commit)}".rstrip(" |"))
        subject = commit.message.partition("\n")[0].strip()
        lines += [f"  {subject}"] if subject else []
    return "\n".join(lines)


def _conditions(note_filter: NoteFilter) -> str:
    parts = [f"{name}={value}" for name, value in _filters(note_filter) if value]
    matching = f" matching {', '.join(parts)}" if parts else ""
    return f"{matching} updated since {note_filter.updated_since}" if note_filter.updated_since else matching


def _filters(note_filter: NoteFilter) -> tuple[tuple[str, str], ...]:
    return (("category", note_filter.category), ("tag", note_filter.tag), ("prefix", note_filter.prefix))


def _labelled(*pairs: tuple[str, str]) -> str:
    return " | ".join(f"{label}: {value}" for label, value in pairs if value)


def _last_updated(values: JsonObject) -> str:
    return day_text(as_text(values.get("last_updated")))


# Texts of errors: one line with the reason, and further lines with help.


AUTHENTICATION = "Authentication failed. The API key may be misconfigured."
CONFLICT = (
    "Conflict: the page was modified since last read. Read the page again to get the current version, then retry."
)
NO_ANSWER = "The wiki API is not responding. It may be restarting. Try again in a few seconds."
NO_MEANING = "Semantic search is not set up on this server. Use search_notes instead: it searches by keywords."


def show_error(error: KnowledgeError) -> str:
    """The text of an error in the contract's words."""
    tell = _OF_KIND.get((error.code, error.kind)) or _OF_CODE.get(error.code, _plain)
    reported_text = tell(error)
    return "\n".join([reported_text, *(line for line in _help(error) if line not in reported_text)])


def _not_found(error: KnowledgeError) -> str:
    path = error.context.get("reference", "")
    if not path:
        return error.advice
    if error.hint.endswith(f"{OWN_CHANGE}."):
        return f"Page not found: {path}. {error.hint}"
    return f"Page not found: {path}. Use write_note to create it, or list_notes to see available pages."


def _invalid(error: KnowledgeError) -> str:
    return f"Invalid request: {error}"


def _plain(error: KnowledgeError) -> str:
    return error.advice


def _help(error: KnowledgeError) -> list[str]:
    lines: list[str] = []
    nearest = error.context.get("nearest")
    if isinstance(nearest, list) and nearest:
        lines.append(f"Did you mean: {', '.join(nearest)}")
    current = error.context.get("current_revision")
    if isinstance(current, str) and current:
        lines.append(f"Current revision: {current}")
    lines += [line for line in (ALREADY_WRITTEN, ALREADY_EDITED) if error.hint.startswith(line)]
    return lines


_OF_KIND: dict[tuple[Code, str], Callable[[KnowledgeError], str]] = {
    (Code.NOT_FOUND, "page"): _not_found,
    (Code.NOT_FOUND, "document"): _not_found,  # it went away during the call
    (Code.UNAVAILABLE, "semantic"): lambda _: NO_MEANING,
    (Code.UNAVAILABLE, "api"): lambda _: NO_ANSWER,
}
_OF_CODE: dict[Code, Callable[[KnowledgeError], str]] = {
    Code.UNAUTHENTICATED: lambda _: AUTHENTICATION,
    Code.CONFLICT: lambda _: CONFLICT,
    Code.INVALID: _invalid,
}
