"""The tools `search` and `read` of the toolset `notes`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import find_fragment, read_document
from commonplace.domain.documents import Document
from commonplace.domain.errors import IndexingError, InvalidInputError, NotFoundError
from commonplace.domain.foreground import foreground
from commonplace.domain.query import Filter, Record, SearchQuery
from commonplace.domain.ranking import excerpt, paragraphs, query_words
from commonplace.domain.revisions import revision_of
from commonplace.domain.tokens import QUARTERS, fitting, size_of, tokens_of
from commonplace.domain.words.moments import Since
from commonplace.faces.mcp.toolset import Call, ToolResult
from commonplace.services.collections import Collection, Collections, unfinished_notice
from commonplace.services.evidence import MAX_EVIDENCE_DOCUMENTS, Evidence, EvidenceSection, evidence, fit, gather
from commonplace.services.health.citations import page_citation_findings
from commonplace.services.past import since_of
from commonplace.services.past.moments import day_of, moment_of
from commonplace.services.searches import has_meaning
from commonplace.services.statuses import CollectionStatuses
from commonplace.toolsets.notes.mcp.parameters import MAX_PAGES, MIN_TOKENS, NotesRead, NotesSearch
from commonplace.toolsets.notes.mcp.past_calls import SHORT_REVISION, call_at, is_path_then, page_at, version_of
from commonplace.toolsets.notes.mcp.text_output import (
    BoundedAnswer,
    LineRange,
    NoRoomError,
    ShownLines,
    add_lines,
    add_outline,
    line_of,
    line_range,
    next_call,
    no_room,
)
from commonplace.toolsets.notes.rules.page_edits import section_of
from commonplace.toolsets.notes.service.page_lookup import (
    FoundPage,
    folder_prefix,
    page_in_files,
    page_or_none,
    page_path,
    require_known_folder,
    require_known_tag,
    require_known_type,
    shown_path,
)

MIN_OUTLINE_ROOM = 400
"""Quarters of a token of room below which a read shows no outline, only the beginning of the text."""
MAX_PAGE_SECTIONS = 500
"""Maximum number of matching sections of a page that is read with a question."""
BUILDING_WAIT_SECONDS = 0.8
"""Timeout in seconds for the first index before a page is read from its file alone."""
_CURSOR = re.compile(r"(\d{1,6})\.(\d{1,4})")


def search(call: Call, arguments: NotesSearch) -> ToolResult:
    """The best matching sections within a budget."""
    answer = BoundedAnswer(arguments.max_tokens, arguments.at)
    with call_at(call, arguments.at, answer) as then:
        since = since_of(call.services.collections, arguments.since) if arguments.since else None
        return _search(then, arguments, answer, since)


def _search(call: Call, arguments: NotesSearch, answer: BoundedAnswer, since: Since | None) -> str:
    chosen, prefix = folder_prefix(call.services.collections, arguments.folder)
    query = SearchQuery(
        text=arguments.query, filter=_filter(arguments, prefix, chosen), status=arguments.status, since=since
    )
    window, skipped = _cursor(arguments.cursor)
    unfinished = unfinished_notice(chosen)
    gathered = evidence(chosen, query, "hybrid", offset=window)
    sections = without_repeats(gathered.sections)
    if not sections and not window:
        if not unfinished:
            _require_known(arguments, chosen, prefix)
        return _nothing(arguments, chosen, answer, gathered.notice, yet=" yet" if unfinished else "")
    if len(sections) <= skipped:
        answer.add("No more results.")
        return answer.text()
    later = gathered.notice  # sections take precedence over a long notice
    if later and (unfinished or size_of(later) < answer.room // 4):
        answer.add(later)
        later = ""
    further = _further(call, gathered)
    answer.reserve(max(next_call("search", query="", cursor="999999.9999"), further, key=size_of))
    left = sections[skipped:]
    numbers = {id(item): number for number, item in enumerate(left, skipped + 1 + window)}

    def form(section: EvidenceSection, text: str) -> tuple[tuple[str, str], int]:
        head = _hit_line(call, section, numbers[id(section)], answer.room)
        return (head, text), size_of(head) + size_of(text) + 2

    rows = fit(left, answer.room, form)
    if not rows:
        head, _ = form(left[0], "")[0]
        if not answer.add(head):
            raise no_room(answer, size_of(head) + size_of(next_call("search", query="", cursor="999999.9999")))
    for part in filter(None, (*chain.from_iterable(rows), later)):
        answer.add(part)
    shown = skipped + max(len(rows), 1)
    more = _more(window, shown, len(sections), {section.record.address for section in sections})
    return answer.text(f"More: cursor={more!r}" if more else further)


def _further(call: Call, gathered: Evidence) -> str:
    """A line that names a page with matching sections beyond those of the answer; "" if there is none."""
    if not gathered.incomplete:
        return ""
    hit = gathered.incomplete[0]
    path = line_of(shown_path(call.services.collections, hit.collection, hit.hit.record.address), 80)
    others = f" and {len(gathered.incomplete) - 1} more" if len(gathered.incomplete) > 1 else ""
    return f"Further sections of {path}{others} match: read with query."


def _require_known(arguments: NotesSearch, chosen: Sequence[Collection], prefix: str) -> None:
    """Raise if the folder, tag or type that narrows a search does not exist."""
    if prefix:
        require_known_folder(chosen, prefix)
    if arguments.tag:
        require_known_tag(chosen, arguments.tag.lstrip("#"))
    if arguments.type:
        require_known_type(chosen, arguments.type)


def _nothing(
    arguments: NotesSearch, chosen: Sequence[Collection], answer: BoundedAnswer, notice: str, *, yet: str = ""
) -> str:
    answer.add_shortened(f"Nothing found{yet} for {line_of(arguments.query, 80)!r}.")
    compared = bool(arguments.at) or any(map(has_meaning, chosen))
    words_alone = "" if compared else "Only words were compared: there is no model for meaning."
    for sentence in filter(None, (notice, words_alone)):
        answer.add(sentence)
    narrowed = arguments.model_dump(exclude_unset=True).keys() - {"query", "max_tokens", "at"}
    if narrowed:
        by = [f"fields ({', '.join(arguments.fields)})" if text == "fields" else text for text in sorted(narrowed)]
        answer.add(f"It was narrowed by {', '.join(by)}. {answer.following('search', query=arguments.query)}")
    near = [name for collection in chosen for name in collection.index.nearest(arguments.query)]
    if near:
        answer.add(f"Nearest pages: {', '.join(near[:3])}")
    return answer.text()


def _more(window: int, shown: int, count: int, pages: set[object]) -> str:
    """The cursor of the next page: number of skipped documents, and of skipped sections after them; "" at the end."""
    if shown < count:
        return f"{window}.{shown}"
    return f"{window + MAX_EVIDENCE_DOCUMENTS}.0" if len(pages) >= MAX_EVIDENCE_DOCUMENTS else ""


def _hit_line(call: Call, section: EvidenceSection, number: int, room: int) -> str:
    """The place of a section, with its headings if there is room for them."""
    path = shown_path(call.services.collections, section.collection, section.record.address)
    anchor = f"#{section.anchor}" if section.anchor else ""
    headings = " > ".join(section.path)
    title = headings if headings.startswith(section.record.title) else " > ".join([section.record.title, *section.path])
    mark = f" {line_of(section.status.mark, 120)}" if section.status and section.status.mark else ""
    place = f"[{number}] {path}{anchor}{mark}"
    whole = f"{place} ({line_of(title, 120)})"
    return whole if size_of(whole) <= room else place


def _filter(arguments: NotesSearch, prefix: str, chosen: Sequence[Collection]) -> Filter:
    return Filter(
        prefix=prefix,
        types=(arguments.type,) if arguments.type else (),
        tags=(arguments.tag.lstrip("#"),) if arguments.tag else (),
        fields=tuple(arguments.fields.items()),
        updated_to=_day(chosen, arguments.until) if arguments.until else "",
    )


def _day(chosen: Sequence[Collection], text: str) -> str:
    """The day that a text names, as a moment of the first collection that has one."""
    return next(filter(None, (day_of(collection, text) for collection in chosen)), "") or moment_of(chosen[0], text).day


def _cursor(text: str) -> tuple[int, int]:
    match = _CURSOR.fullmatch(text) if text else None
    if text and match is None:
        raise InvalidInputError(
            f"Invalid cursor {text[:40]!r}.", kind="argument", hint="Give the one of the last answer, or none."
        )
    return (int(match[1]), int(match[2])) if match else (0, 0)


MAX_CITATION_FINDINGS = 3
"""Maximum number of lines about citations after the text of a page."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a page's text in an answer."""

    start: int
    end: int
    name: str
    """A heading path, a block id, or "" for the whole page."""


def read(call: Call, arguments: NotesRead) -> ToolResult:
    """One or several pages, whole or in part, within one budget."""
    pages = _references(arguments.page)
    if not 1 <= len(pages) <= MAX_PAGES:
        raise InvalidInputError(f"page is a list of {len(pages)}.", kind="argument", hint=f"Give 1 to {MAX_PAGES}.")
    if arguments.lines and (arguments.section or arguments.query):
        raise InvalidInputError(
            "lines are counted in the whole page.", kind="argument", hint="Give lines alone, or section without lines."
        )
    state = _building(call)
    if len(pages) == 1:
        answer = BoundedAnswer(arguments.max_tokens, arguments.at)
        _read_reference(call, pages[0], arguments, answer, state)
        return answer.text()
    answer = BoundedAnswer(arguments.max_tokens)
    for number, reference in enumerate(pages):
        left = answer.room // QUARTERS
        share = min(max(left // (len(pages) - number), MIN_TOKENS), left)
        if share < MIN_TOKENS:
            rest = next_call("read", page=pages[number:], **({"at": arguments.at} if arguments.at else {}))
            answer.add_shortened(f"No room for {len(pages) - number} more. {rest}")
            break
        part = BoundedAnswer(share, arguments.at)
        try:
            _read_reference(call, reference, arguments, part, state)
        except NoRoomError:
            part = BoundedAnswer(share, arguments.at)
            part.add_shortened(f"{reference}: no room for its text. {part.following('read', page=reference)}")
        except NotFoundError as error:
            nearest = error.context.get("nearest")
            near = f" Nearest: {', '.join(nearest)}." if isinstance(nearest, list) and nearest else ""
            part.add_shortened(f"{error}{near}")
        answer.add(part.text().rpartition("\n(")[0])
    return answer.text()


def _references(page: str | list[str]) -> list[str]:
    """The pages that are asked for; a list may be given as JSON text."""
    if isinstance(page, str):
        if not page.startswith('["'):
            return [page]
        with suppress(ValueError):
            listed = json.loads(page)
            page = [name for name in listed if isinstance(name, str)] or page
    return list(dict.fromkeys(page)) if isinstance(page, list) else [page]


def _building(call: Call) -> str:
    """The state of the first index if it is still being built; otherwise ""."""
    try:
        if not call.services.collections.wait_soon_ready(BUILDING_WAIT_SECONDS):
            call.services.collections.wait_ready(0, call.progress)
    except IndexingError as error:
        return str(error)
    return ""


def _read_reference(call: Call, reference: str, arguments: NotesRead, answer: BoundedAnswer, state: str) -> None:
    """Add a page. While the first index is being built, it is found and read in the files, without waiting.

    Args:
        call: The call.
        reference: The page.
        arguments: The arguments of the call.
        answer: The answer.
        state: The state of the first index; "" once it is complete.
    """
    if state and not arguments.at:
        with foreground():
            page = page_in_files(call.services.collections, reference, state)
            _read_one(call, page, arguments.model_copy(update={"query": ""}), answer, is_indexed=False)
        sections = " The sections that answer are not known yet." if arguments.query else ""
        unsaid = "What is said of this page elsewhere, such as a status or a citation, is not known yet."
        answer.add(f"{state}{sections} {unsaid}")
        return
    if arguments.at and not arguments.query and _read_version(call, reference, arguments, answer):
        return
    if state:
        raise IndexingError(state, kind="index", hint="Give a path, or try again in a few seconds.")
    with call_at(call, arguments.at, answer) as then:
        _read_one(then, page_at(call, then, reference), arguments, answer)


def _read_version(call: Call, reference: str, arguments: NotesRead, answer: BoundedAnswer) -> bool:
    """Add a past version of a page, whole or one section; return False if there is none.

    The page is found by its current name or path. Needs no index of the past moment.

    Raises:
        NotFoundError: kind "revision": the page that the reference names now did not exist then.
    """
    collections = call.services.collections
    name = reference.partition("#")[0]
    collection, address, fragment, looked_up = _named_now(collections, reference)
    version = version_of(collection, address, arguments.at)
    # The page that is there now is meant, or a path. To look for another name takes an index of the moment.
    if version is None and (not looked_up or is_path_then(collections, collection, name, arguments.at)):
        raise NotFoundError(
            f"{shown_path(collections, collection, address)} was not there at {line_of(arguments.at, 40)}{looked_up}.",
            kind="revision",
            hint=f"{next_call('changes', page=address.path)}; what had the name then: "
            f"search {json.dumps({'query': reference, 'at': arguments.at}, ensure_ascii=False)}",
            path=address.path,
        )
    if version is None:
        return False
    raw, which = version
    document = read_document(address, raw)
    part = _part(document, arguments.section, fragment)
    source = document.encoded
    text = source[part.start : part.end] if part else source
    first = source.count(b"\n", 0, part.start) + 1 if part else 1
    lines = text.decode("utf-8", "replace").removeprefix("\ufeff").rstrip("\r\n").split("\n")
    wanted_range = line_range(arguments.lines, len(lines)) if arguments.lines else LineRange(1, len(lines))
    path_shown = shown_path(collections, collection, address)
    then = replace(collection, day=day_of(collection, arguments.at))
    mark = CollectionStatuses(then).in_version(document, _ordinal(document, part.name if part else "")).mark
    head = " ".join(filter(None, (path_shown, which, line_of(mark, 120)))) + (f" [{part.name}]" if part else "")
    shifted = LineRange(wanted_range.first + first - 1, wanted_range.last + first - 1, wanted_range.skipped)
    _add_range(head, wanted_range.text_of(lines), path_shown, shifted, answer)
    return True


def _named_now(collections: Collections, reference: str) -> tuple[Collection, Address, str, str]:
    """The page that a reference names now, and its fragment; else the path that it is, and words about this."""
    page = page_or_none(collections, reference)
    if page is None:  # the page may have existed at another moment
        name, _, fragment = reference.partition("#")
        path = page_path(collections, name)
        return path.collection, path.address, fragment, ", looked up by its path alone"
    return page.collection, page.record.address, page.fragment, ""


def _add_range(head: str, text: str, path: str, lines: LineRange, answer: BoundedAnswer) -> ShownLines:
    """A head line, the lines of a range that fit, and the call for the rest."""
    following = answer.following("read", page=path, lines=f"{lines.last}+{len(text)}-{lines.last}")
    answer.reserve(following)
    if not answer.add(head):
        raise no_room(answer, size_of(head) + size_of(following))
    shown = add_lines(answer, text, lines.first, lines.skipped)
    answer.release()
    more = shown.shown or shown.last < lines.last
    rest = answer.following("read", page=path, lines=shown.rest(lines.last)) if more else ""
    if rest:
        answer.add_shortened(f"{shown.note}{rest}")
    return shown


def _read_one(
    call: Call, page: FoundPage, arguments: NotesRead, answer: BoundedAnswer, *, is_indexed: bool = True
) -> None:
    document = page.collection.index.document(page.record.address)
    if arguments.query:
        part = _part(document, arguments.section, page.fragment)
        cited = _show_answering(call, page, document, (arguments.query, part), answer)
    elif arguments.lines:
        cited = _show_lines(call, page, document, arguments.lines, answer)
    else:
        part = _part(document, arguments.section, page.fragment)
        cited = _show_part(call, page, document, part or _Part(0, len(document.encoded), ""), answer)
    findings = page_citation_findings(page.collection, page.record, document, cited) if is_indexed else ()
    for number, finding in enumerate(islice(findings, MAX_CITATION_FINDINGS + 1)):
        more = number == MAX_CITATION_FINDINGS
        answer.add(
            "Check: there are more; a section is read with its own."
            if more
            else f"Check: {line_of(finding.message, 200)} [{finding.rule}]"
        )
    _remember_revision(call, page, document)


def _part(document: Document, section: str, fragment: str) -> _Part | None:
    """The part that an argument `section`, else a link's fragment, names; None if both are "".

    A fragment leads to the first of several sections that match equally well, as a link does.
    """
    if section and not section.startswith("^"):
        with suppress(NotFoundError):
            found_section = section_of(document, section)
            return _Part(
                found_section.start,
                found_section.tree_end if found_section.level else found_section.end,
                " > ".join(found_section.path) or section,
            )
    if name := section or fragment:
        start, end, candidate = find_fragment(document, name.replace(" > ", "#"))
        return _Part(start, end, " > ".join(candidate.path) if candidate and candidate.level else name)
    return None


def _show_part(call: Call, page: FoundPage, document: Document, part: _Part, answer: BoundedAnswer) -> str | None:
    """Add a part, or its outline and as much as fits; its text, or None for the whole page."""
    source = document.encoded
    text = source[part.start : part.end].decode("utf-8", "replace").removeprefix("\ufeff")
    head = _head(call, page, document, part.name)
    if size_of(head) + 1 + size_of(text) <= answer.room:
        answer.add(head)
        answer.add(text.rstrip("\r\n"))
        _remember(call, page, document, part.start, part.end)
        return text if part.name else None
    first = source.count(b"\n", 0, part.start) + 1
    path = shown_path(call.services.collections, page.collection, page.record.address)
    end = first + text.count("\n")
    following = f"Lines {end}-{end}. {answer.following('read', page=path, lines=f'{end}+{len(text)}-{end}')}"
    answer.reserve(following)
    size = f"{head} {tokens_of(text)} tokens, more than fit."
    inner = [section for section in document.sections if section.level and part.start <= section.start < part.end]
    if answer.room - size_of(size) >= MIN_OUTLINE_ROOM:
        answer.add(f"{size} Outline with lines and tokens:")
        add_outline(document, inner, answer)
    elif not answer.add(size):
        raise no_room(answer, size_of(size) + size_of(following))
    shown = add_lines(answer, text, first)
    if shown.whole >= first:
        _remember(call, page, document, part.start, _line_end(source, shown.whole))
    count = text.removesuffix("\n").count("\n") + first
    end = count if part.name else ""  # a section's rest ends with the section
    more = shown.shown or shown.last < count
    rest = answer.following("read", page=path, lines=shown.rest(end)) if more else ""
    answer.release()
    answer.add_shortened(f"{shown.note or f'Lines {first}-{shown.last} shown. '}{rest}".rstrip())
    return text if part.name else None


def _show_lines(call: Call, page: FoundPage, document: Document, lines: str, answer: BoundedAnswer) -> str:
    """Add lines, as many as fit; the text of all of them."""
    every = document.encoded.decode("utf-8", "replace").removeprefix("\ufeff").split("\n")
    count = len(every) - (not every[-1])
    wanted_range = line_range(lines, count)
    head = _head(call, page, document, f"lines {wanted_range.first}-{wanted_range.last} of {count}")
    path = shown_path(call.services.collections, page.collection, page.record.address)
    text = wanted_range.text_of(every)
    shown = _add_range(head, text, path, wanted_range, answer)
    first, source = wanted_range.first + bool(wanted_range.skipped), document.encoded
    if shown.whole >= first:
        _remember(call, page, document, _line_end(source, first - 1), _line_end(source, shown.whole))
    return text


def _show_answering(
    call: Call, page: FoundPage, document: Document, requested_pair: tuple[str, _Part | None], answer: BoundedAnswer
) -> str:
    """Add the page's sections that match a question, best first; only those within a part, if one is named.

    Returns:
        The text of the sections.
    """
    question, part = requested_pair
    best = _answering(page, document, question, part)
    head = _head(call, page, document, part.name if part else "")
    path = shown_path(call.services.collections, page.collection, page.record.address)
    longest = max((" > ".join(section.path) for section in best), key=len, default="")
    following = answer.following("read", page=path, section=longest)
    answer.reserve(following)
    if not answer.add(head):
        raise no_room(answer, size_of(head) + size_of(following))
    words, rest = query_words(question), ""
    for section in best:
        line = f"## {' > '.join(section.path) or '(beginning)'}"
        cut = partial(excerpt, section.text, words)
        text = fitting(cut, section.text, answer.room - size_of(line) - 1)
        added = bool(text) and answer.add(line) and answer.add(text)
        if not added or len(text) < len(section.text.strip()):
            rest = answer.following(
                "read", page=path, **({"section": " > ".join(section.path)} if section.path else {})
            )
            break
    answer.release()
    if not best:
        rest = f"No section answers. {answer.following('read', page=path)}"
    if rest:
        answer.add_shortened(rest)
    return "\n".join(section.text for section in best)


def _answering(page: FoundPage, document: Document, question: str, part: _Part | None) -> list[EvidenceSection]:
    """The sections of a page that match a question, best first; only those within a part, if one is given."""
    address = page.record.address
    query = SearchQuery(text=question, filter=Filter(among=(address,)))
    gathered = gather([page.collection], query, "hybrid", sections=MAX_PAGE_SECTIONS)
    best = [section for section in gathered if section.record.address == address]
    if part is None:
        return best
    inside = {section.anchor for section in document.sections if part.start <= section.start < part.end}
    return [section for section in best if section.anchor in inside]


def _head(call: Call, page: FoundPage, document: Document, part: str) -> str:
    record: Record = page.record
    path = shown_path(call.services.collections, page.collection, record.address)
    revision = revision_of(document.raw)[:SHORT_REVISION]
    changed = f" changed {record.updated[:10]}" if record.updated else ""
    encoding = "" if document.decodable else " not UTF-8, read as CP1252"
    status = CollectionStatuses(page.collection).at(record.address, _ordinal(document, part)).mark
    encoding += f" {line_of(status, 120)}" if status else ""
    return f"{path} rev {revision}{changed}{encoding}" + (f" [{part}]" if part else "")


def _ordinal(document: Document, part: str) -> int:
    """The ordinal of the section whose heading path names a part; 0 for the page and any other part."""
    return next(
        (section.ordinal for section in document.sections if section.level and " > ".join(section.path) == part), 0
    )


def _remember(call: Call, page: FoundPage, document: Document, start: int, end: int) -> None:
    """Record in the session which part of the page the answer shows."""
    if call.session is None:
        return
    revision, name = revision_of(document.raw), page.record.address.path
    span = start, end, len(document.encoded)
    call.session.show_part(page.collection.name, name, revision, document.raw, span)


def _remember_revision(call: Call, page: FoundPage, document: Document) -> None:
    """Record that the answer names a revision of a page whose whole text the session may not have seen."""
    if call.session is None:
        return
    revision, scope, name = revision_of(document.raw), page.collection.name, page.record.address.path
    shown_document = call.session.seen(scope, name)
    if shown_document is None or shown_document.revision != revision:
        call.session.receive_unseen(scope, name, revision)


def _line_end(source: bytes, line: int) -> int:
    """The byte offset after a line and its line end; 0 for line 0."""
    at = 0
    for _ in range(line):
        position = source.find(b"\n", at)
        if position < 0:
            return len(source)
        at = position + 1
    return at


# Removal of repeated text from sections that match a query.


def without_repeats(sections: Sequence[EvidenceSection]) -> list[EvidenceSection]:
    """The sections, best first, with each text once.

    A section that contains a better one is shown without that text.
    """
    evidence_sections: list[EvidenceSection] = []
    for section in sections:
        better = [
            two
            for two in evidence_sections
            if two.record.address == section.record.address and two.collection is section.collection
        ]
        if any(section.anchor in two.anchors for two in better):
            continue
        text = section.text
        for two in better:
            if two.anchor in section.anchors:
                text = _without(text, two.text)
        if text or not section.text:
            changed = section if text is section.text else replace(section, text=text, spans=paragraphs(text))
            evidence_sections.append(changed)
    return evidence_sections


def _without(text: str, inner: str) -> str:
    """The text without an inner section and its heading."""
    before, found_text, after = text.partition(inner) if inner else (text, "", "")
    if not found_text:
        return text
    lines = before.rstrip().split("\n")
    if lines[-1].startswith("#"):
        lines.pop()
    above = "\n".join(lines).rstrip()
    return f"{above}\n\n{after.lstrip()}".strip()
