"""The tools `search` and `read` of the toolset `notes`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.domain.document_reader import find_fragment, read_document
from commonplace.domain.documents import Document, Section
from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.domain.excerpts import excerpt, query_words
from commonplace.domain.query import Filter, Record, SearchQuery
from commonplace.domain.revisions import revision_of
from commonplace.domain.words.moments import parse_moment, require_moment
from commonplace.faces.mcp.toolset import Call, ToolResult
from commonplace.services.collections import Collection
from commonplace.services.evidence import MAX_EVIDENCE_DOCUMENTS, EvidenceSection, evidence, gather
from commonplace.toolsets.notes.mcp.parameters import MAX_PAGES, MIN_TOKENS, NotesRead, NotesSearch
from commonplace.toolsets.notes.mcp.past_calls import SHORT_REVISION, call_at, version_of
from commonplace.toolsets.notes.mcp.text_output import BoundedAnswer, line_of, next_call, tokens_of
from commonplace.toolsets.notes.rules.page_edits import section_of
from commonplace.toolsets.notes.service.evidence_texts import without_repeats
from commonplace.toolsets.notes.service.known_names import require_known_folder, require_known_tag, require_known_type
from commonplace.toolsets.notes.service.page_lookup import FoundPage, find_page, folder_prefix, page_path, shown_path

MAX_SECTION_SHARE = 0.4
"""The part of a search's budget that one section may take."""
MIN_SECTION_CHARS = 300
"""Characters of a section's text below which it is left out rather than cut."""
MAX_OUTLINE_SHARE = 0.5
"""The part of a read's budget that an outline may take."""
_CURSOR = re.compile(r"(\d{1,6})\.(\d{1,4})")
_LINES = re.compile(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})?\s*)?")


def search(call: Call, arguments: NotesSearch) -> ToolResult:
    """The sections that answer, best first, within a budget."""
    answer = BoundedAnswer(arguments.max_tokens, arguments.at)
    with call_at(call, arguments.at, answer) as then:
        return _search(then, arguments, answer)


def _search(call: Call, arguments: NotesSearch, answer: BoundedAnswer) -> str:
    chosen, prefix = folder_prefix(call.services.collections, arguments.folder)
    query = SearchQuery(text=arguments.query, filter=_filter(arguments, prefix))
    window, skipped = _cursor(arguments.cursor)
    gathered = evidence(chosen, query, "hybrid", offset=window)
    found = without_repeats(gathered.sections)
    if not found and not window:
        _require_known(arguments, chosen, prefix)
        return _nothing(arguments, chosen, answer, gathered.notice)
    if gathered.notice and len(gathered.notice) < answer.room // 4:  # sections come first in a small answer
        answer.add(gathered.notice)
    answer.reserve(next_call("search", query="", cursor="999999.9999"))
    words = query_words(arguments.query)
    most = max(MIN_SECTION_CHARS, int(MAX_SECTION_SHARE * answer.room))
    shown = skipped
    for one in found[skipped:]:
        head = _hit_line(call, one, shown + 1 + window)
        room = answer.room - len(head) - 1
        text = excerpt(one.text, words, min(most, room))
        if room < min(len(one.text), MIN_SECTION_CHARS) and shown > skipped:
            break
        if not answer.add(head) or (text and not answer.add(text)):
            break
        shown += 1
    more = _more(window, shown, len(found), {one.record.address for one in found})
    return answer.text(f"More: cursor={more!r}" if more else "")


def _require_known(arguments: NotesSearch, chosen: Sequence[Collection], prefix: str) -> None:
    """Raise if nothing has the folder, tag or type by which a search is narrowed."""
    if prefix:
        require_known_folder(chosen, prefix)
    if arguments.tag:
        require_known_tag(chosen, arguments.tag.lstrip("#"))
    if arguments.type:
        require_known_type(chosen, arguments.type)


def _nothing(arguments: NotesSearch, chosen: Sequence[Collection], answer: BoundedAnswer, notice: str) -> str:
    answer.add_shortened(f"Nothing found for {line_of(arguments.query, 80)!r}.")
    if notice:
        answer.add(notice)
    narrowed = arguments.model_dump(exclude_unset=True).keys() - {"query", "max_tokens", "at"}
    if narrowed:
        answer.add(
            f"It was narrowed by {', '.join(sorted(narrowed))}. {answer.following('search', query=arguments.query)}"
        )
    near = [name for collection in chosen for name in collection.index.nearest(arguments.query)]
    if near:
        answer.add(f"Nearest pages: {', '.join(near[:3])}")
    return answer.text()


def _more(window: int, shown: int, found: int, pages: set[object]) -> str:
    """Where the rest begins: documents passed over, and sections of the next ones."""
    if shown < found:
        return f"{window}.{shown}"
    return f"{window + MAX_EVIDENCE_DOCUMENTS}.0" if len(pages) >= MAX_EVIDENCE_DOCUMENTS else ""


def _hit_line(call: Call, one: EvidenceSection, number: int) -> str:
    path = shown_path(call.services.collections, one.collection, one.record.address)
    anchor = f"#{one.anchor}" if one.anchor else ""
    headings = " > ".join(one.path)
    title = headings if headings.startswith(one.record.title) else " > ".join([one.record.title, *one.path])
    return f"[{number}] {path}{anchor} ({line_of(title, 120)})"


def _filter(arguments: NotesSearch, prefix: str) -> Filter:
    since = require_moment("since", arguments.since) if arguments.since else None
    until = parse_moment(arguments.until, end=True) if arguments.until else None
    if arguments.until and until is None:
        require_moment("until", arguments.until)
    return Filter(
        prefix=prefix,
        types=(arguments.type,) if arguments.type else (),
        tags=(arguments.tag.lstrip("#"),) if arguments.tag else (),
        fields=tuple(arguments.fields.items()),
        updated_from=f"{since:%Y-%m-%d}" if since else "",
        updated_to=f"{until:%Y-%m-%d}" if until else "",
    )


def _cursor(text: str) -> tuple[int, int]:
    found = _CURSOR.fullmatch(text) if text else None
    if text and found is None:
        raise InvalidInputError(
            f"Invalid cursor {text[:40]!r}.", kind="argument", hint="Give the one of the last answer, or none."
        )
    return (int(found[1]), int(found[2])) if found else (0, 0)


@dataclass(frozen=True, slots=True)
class _Part:
    """The text of a page in an answer."""

    start: int
    end: int
    name: str
    """A heading path, a block or "" for the whole page."""


def read(call: Call, arguments: NotesRead) -> ToolResult:
    """One page or several, whole or in part, within one budget."""
    pages = [arguments.page] if isinstance(arguments.page, str) else list(dict.fromkeys(arguments.page))
    if not 1 <= len(pages) <= MAX_PAGES:
        raise InvalidInputError(f"page is a list of {len(pages)}.", kind="argument", hint=f"Give 1 to {MAX_PAGES}.")
    if len(pages) == 1:
        answer = BoundedAnswer(arguments.max_tokens, arguments.at)
        _read_reference(call, pages[0], arguments, answer)
        return answer.text()
    answer = BoundedAnswer(arguments.max_tokens)
    for number, reference in enumerate(pages):
        share = (answer.room // 4) // (len(pages) - number)
        if share < MIN_TOKENS:
            answer.add_shortened(f"No room for {len(pages) - number} more: {', '.join(pages[number:])}")
            break
        part = BoundedAnswer(share, arguments.at)
        try:
            _read_reference(call, reference, arguments, part)
        except NotFoundError as error:
            nearest = error.context.get("nearest")
            near = f" Nearest: {', '.join(nearest)}." if isinstance(nearest, list) and nearest else ""
            part.add_shortened(f"{error}{near}")
        answer.add(part.text().rpartition("\n(")[0])
    return answer.text()


def _read_reference(call: Call, reference: str, arguments: NotesRead, answer: BoundedAnswer) -> None:
    if arguments.at and not arguments.query and _read_version(call, reference, arguments, answer):
        return
    with call_at(call, arguments.at, answer) as then:
        _read_one(then, find_page(then.services.collections, reference), arguments, answer)


def _read_version(call: Call, reference: str, arguments: NotesRead, answer: BoundedAnswer) -> bool:
    """A version of a page that is found by its present name or path, whole or a section; false if there is none.

    Needs no index of that moment.
    """
    collections = call.services.collections
    try:
        page = find_page(collections, reference)
        collection, address, fragment = page.collection, page.record.address, page.fragment
    except NotFoundError:  # it may have been there then
        name, _, fragment = reference.partition("#")
        path = page_path(collections, name)
        collection, address = path.collection, path.address
    version = version_of(collection, address, arguments.at)
    if version is None:
        return False
    raw, which = version
    document = read_document(address, raw)
    part = _part(document, arguments.section or fragment) if arguments.section or fragment else None
    source = document.encoded
    text = source[part.start : part.end] if part else source
    first = source.count(b"\n", 0, part.start) + 1 if part else 1
    lines = text.decode("utf-8", "replace").removeprefix("\ufeff").rstrip("\r\n").split("\n")
    start, end = _range(arguments.lines, len(lines)) if arguments.lines else (1, len(lines))
    path_shown = shown_path(collections, collection, address)
    answer.add_shortened(f"{path_shown} {which}" + (f" [{part.name}]" if part else ""))
    answer.reserve(answer.following("read", page=path_shown, lines="999999-999999"))
    reached = _add_text("\n".join(lines[start - 1 : end]), first + start - 1, answer) - first + 1
    answer.release()
    if reached < end:
        following = f"{first + reached}-{first + end - 1}"
        answer.add_shortened(answer.following("read", page=path_shown, lines=following))
    return True


def _range(lines: str, count: int) -> tuple[int, int]:
    """The first and last line that a range names, counted from 1."""
    found = _LINES.fullmatch(lines)
    first = int(found[1]) if found else 0
    last = min(int(found[2] or count), count) if found and "-" in lines else first
    if not 1 <= first <= last <= count:
        raise InvalidInputError(
            f"Invalid argument lines: {lines[:40]!r} of {count} lines.",
            kind="argument",
            hint="Give a range such as '10-40', counted from 1.",
        )
    return first, last


def _read_one(call: Call, page: FoundPage, arguments: NotesRead, answer: BoundedAnswer) -> None:
    document = page.collection.index.document(page.record.address)
    name = arguments.section or page.fragment
    if arguments.query:
        _show_answering(call, page, document, arguments.query, answer)
    elif arguments.lines:
        _show_lines(call, page, document, arguments.lines, answer)
    elif name:
        _show_part(call, page, document, _part(document, name), answer)
    else:
        _show_part(call, page, document, _Part(0, len(document.encoded), ""), answer)
    _remember_revision(call, page, document)


def _part(document: Document, name: str) -> _Part:
    if name.startswith("^"):
        start, end, _ = find_fragment(document, name)
        return _Part(start, end, name)
    try:
        section = section_of(document, name)
    except NotFoundError:
        if "#" not in name.lstrip("#"):
            raise
        start, end, found = find_fragment(document, name)
        return _Part(start, end, " > ".join(found.path) if found else name)
    return _Part(section.start, section.tree_end if section.level else section.end, " > ".join(section.path) or name)


def _show_part(call: Call, page: FoundPage, document: Document, part: _Part, answer: BoundedAnswer) -> None:
    source = document.encoded
    text = source[part.start : part.end].decode("utf-8", "replace").removeprefix("\ufeff")
    head = _head(call, page, document, part.name)
    if len(head) + 1 + len(text) <= answer.room:
        answer.add(head)
        answer.add(text.rstrip("\r\n"))
        _remember(call, page, document, part.start, part.end)
        return
    first = source.count(b"\n", 0, part.start) + 1
    answer.add_shortened(f"{head} {tokens_of(text)} tokens, more than fit. Outline with lines and tokens:")
    path = shown_path(call.services.collections, page.collection, page.record.address)
    answer.reserve(f"Lines 999999-999999. {answer.following('read', page=path, lines='999999-999999')}")
    inner = [one for one in document.sections if one.level and part.start <= one.start < part.end]
    _add_outline(document, inner, answer)
    last = _add_text(text, first, answer)
    shown = f"Lines {first}-{last} shown. " if last >= first else ""
    if last >= first:
        _remember(call, page, document, part.start, _line_end(source, last))
    following = answer.following("read", page=path, lines=f"{max(last + 1, first)}-")
    answer.release()
    answer.add_shortened(f"{shown}{following}")


def _add_outline(document: Document, sections: Sequence[Section], answer: BoundedAnswer) -> None:
    """The headings, as deep as half of the room allows, each with its lines and the tokens below it."""
    source = document.encoded
    room = int(MAX_OUTLINE_SHARE * answer.room)
    lines: list[str] = []
    for depth in sorted({one.level for one in sections}):
        deeper = [_outline_line(source, one) for one in sections if one.level <= depth]
        if len(lines) > 1 and sum(len(line) + 1 for line in deeper) > room:
            break
        lines = deeper
    used = 0
    for number, line in enumerate(lines):
        used += len(line) + 1
        if used > room:
            answer.add(f"… and {len(lines) - number} more headings")
            break
        answer.add(line)


def _outline_line(source: bytes, section: Section) -> str:
    first = source.count(b"\n", 0, section.start) + 1
    last = max(first, source.count(b"\n", 0, section.tree_end))
    size = tokens_of(source[section.start : section.tree_end].decode("utf-8", "replace"))
    return f"{'  ' * (section.level - 1)}- {line_of(section.heading, 90)} {first}-{last} ({size})"


def _add_text(text: str, first: int, answer: BoundedAnswer) -> int:
    """As many whole lines as fit; the number of the last one."""
    kept: list[str] = []
    room = answer.room
    for line in text.split("\n"):
        if len(line) + 1 > room:
            break
        kept.append(line)
        room -= len(line) + 1
    return first - 1 + (len(kept) if kept and answer.add("\n".join(kept)) else 0)


def _show_lines(call: Call, page: FoundPage, document: Document, lines: str, answer: BoundedAnswer) -> None:
    every = document.encoded.decode("utf-8", "replace").removeprefix("\ufeff").split("\n")
    count = len(every) - (not every[-1])
    first, last = _range(lines, count)
    answer.add(_head(call, page, document, f"lines {first}-{last} of {count}"))
    path = shown_path(call.services.collections, page.collection, page.record.address)
    answer.reserve(answer.following("read", page=path, lines="999999-999999"))
    reached = _add_text("\n".join(every[first - 1 : last]), first, answer)
    answer.release()
    source = document.encoded
    if reached >= first:
        _remember(call, page, document, _line_end(source, first - 1), _line_end(source, reached))
    if reached < last:
        answer.add_shortened(answer.following("read", page=path, lines=f"{reached + 1}-{last}"))


def _show_answering(call: Call, page: FoundPage, document: Document, question: str, answer: BoundedAnswer) -> None:
    """The page's sections that answer a question, best first."""
    address = page.record.address
    query = SearchQuery(text=question, filter=Filter(among=(address,)))
    best = [one for one in gather([page.collection], query, "hybrid") if one.record.address == address]
    answer.add(_head(call, page, document, ""))
    words = query_words(question)
    for one in best:
        line = f"## {' > '.join(one.path) or '(beginning)'}"
        text = excerpt(one.text, words, answer.room - len(line) - 1)
        if not text or not answer.add(line) or not answer.add(text):
            break
    if not best:
        path = shown_path(call.services.collections, page.collection, address)
        answer.add_shortened(f"No section answers. {answer.following('read', page=path)}")


def _head(call: Call, page: FoundPage, document: Document, part: str) -> str:
    record: Record = page.record
    path = shown_path(call.services.collections, page.collection, record.address)
    revision = revision_of(document.raw)[:SHORT_REVISION]
    changed = f" changed {record.updated[:10]}" if record.updated else ""
    return f"{path} rev {revision}{changed}" + (f" [{part}]" if part else "")


def _remember(call: Call, page: FoundPage, document: Document, start: int, end: int) -> None:
    """Note in the session which part of the page it was shown."""
    if call.session is None:
        return
    revision, name = revision_of(document.raw), page.record.address.path
    span = start, end, len(document.encoded)
    call.session.show_part(page.collection.name, name, revision, document.raw, span)


def _remember_revision(call: Call, page: FoundPage, document: Document) -> None:
    """Note that the answer names the revision of a page whose text the session may not have been shown whole."""
    if call.session is None:
        return
    revision, scope, name = revision_of(document.raw), page.collection.name, page.record.address.path
    known = call.session.seen(scope, name)
    if known is None or known.revision != revision:
        call.session.receive_unseen(scope, name, revision)


def _line_end(source: bytes, line: int) -> int:
    """The offset at which a line ends, its line end included; 0 for line 0."""
    at = 0
    for _ in range(line):
        found = source.find(b"\n", at)
        if found < 0:
            return len(source)
        at = found + 1
    return at
