"""The change `supersede`: new text in place of the old, which stays marked or in a history section of its page."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from posixpath import relpath

from commonplace.domain import edits
from commonplace.domain.activity import moment_of_write
from commonplace.domain.appends import append_text, definitions_start, is_outline, text_end
from commonplace.domain.citations import (
    COPY_KEYS,
    ITEM_KEYS,
    READ_KEYS,
    Citation,
    citation_of_item,
    citation_text,
    citations_of,
    day_of_citation,
    free_labels,
    plain_citation,
    read_citation,
    rest_of_citation,
    uses_list,
)
from commonplace.domain.document_reader import read_again
from commonplace.domain.documents import Document, Section
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.frontmatter import set_fields
from commonplace.domain.json import Json
from commonplace.domain.markdown.wikitext import is_wikitext
from commonplace.domain.status import REPLACED_KEYS, history_of, kept_texts, lapsed_sections, spelled_key
from commonplace.domain.yaml_loader import load

MAX_LEVEL = 6
"""The deepest level of a heading in Markdown."""
_MARKS = re.compile(rb"#{1,6}")
_BLANK_LINES = re.compile(r"\A(?:[ \t]*\r?\n)+")
_TAIL = re.compile(r"(\s*)\Z")
_REFERENCE = re.compile(r"\[\^([^\[\]\s]+)\](?!:)")
_LINKED = re.compile(r"\]\(|\[\[")
_UNFIT = re.compile(r"[\s\"'{}]")


def require_markdown(document: Document, what: str) -> None:
    """Raise if a page is wikitext, which has no form for what a change writes.

    Args:
        document: The page.
        what: What the change writes: `history` or `sources`.

    Raises:
        InvalidInputError: kind "document": the page is wikitext.
    """
    if document.frontmatter.is_fields and is_wikitext(document.frontmatter):
        raise InvalidInputError(
            f"The page is wikitext of TiddlyWiki, which has no form for {what}.",
            kind="document",
            hint="Give the text alone, with what stood there or where it is from in words.",
        )


def require_history(document: Document) -> None:
    """Raise if a page has no form for a history.

    Raises:
        InvalidInputError: kind "document": the page is wikitext, or an outline.
    """
    require_markdown(document, "a history")
    if is_outline(document):
        raise InvalidInputError(
            "The page is an outline of blocks, as Logseq writes it, which has no form for a history.",
            kind="document",
            hint="Give by without text to mark a section, or change it with do section or replace; Git has the old"
            " text.",
        )


def superseded_page(document: Document, by: str, reason: str) -> bytes:
    """The page, marked as superseded by another one in its front matter.

    Raises:
        InvalidInputError: kind "argument": nothing replaces the page, or it would replace itself.
    """
    if not by:
        raise InvalidInputError(
            "A superseded page needs 'by', the page that replaces it.",
            kind="argument",
            hint="Give by, or section or old with the new text.",
        )
    if by.partition("#")[0] in {document.address.path, document.address.id}:
        raise InvalidInputError("A page does not supersede itself.", kind="argument", hint="Name another page in by.")
    values = document.frontmatter.values
    fields: dict[str, Json] = {spelled_key(values, *REPLACED_KEYS): by}
    if (status := spelled_key(values, "status")) in values:
        fields[status] = "superseded"
    if reason:
        fields["superseded_reason"] = " ".join(reason.split())
    return set_fields(document, fields)


def superseded_section(document: Document, section: Section, text: str, by: str, reason: str) -> bytes:
    """The page with a new text of a section, whose old text is in the history; without one, the heading is marked.

    The old text is that of the section and its subsections, without what is kept there: the history of the page, and
    the definitions of footnotes and links at the page's end.

    Raises:
        InvalidInputError: kind "argument": the section is superseded, or its heading cannot be marked.
    """
    if not text.strip():
        return _marked(document, section, by, reason)
    require_history(document)
    _require_holding(document, section)
    parts = _replaced_parts(document, section)
    level = _kept_level(history_of(document))
    old = "\n\n".join(filter(None, (_old_text(document, start, end, section.level, level) for start, end in parts)))
    rest = document.raw
    for start, end in reversed(parts[1:]):
        rest = rest[:start] + rest[end:]
    shortened = read_again(document, rest)
    line = document.raw[section.start : section.content].decode("utf-8", "replace")
    changed = edits.replace_range(shortened, *parts[0], edits.without_heading(line, text))
    return _kept(read_again(document, changed), section.anchor, section.heading, old, by, reason)


def superseded_passage(document: Document, old: str, text: str, section: Section | None, by: str, reason: str) -> bytes:
    """The page with a passage replaced, and the old one in the history.

    Raises:
        InvalidInputError: the passage does not occur once, or is in a section that is superseded.
    """
    require_history(document)
    within = None if section is None else (section.start, section.tree_end if section.level else section.end)
    start, end = edits.place_of(document, old, within=within)
    around = _section_at(document, start)
    _require_holding(document, around)
    changed = read_again(document, edits.replace_once(document, old, text, within=within))
    inside = [each.level for each in document.sections[1:] if start <= each.start < end]
    kept_text = _old_text(document, start, end, min(inside, default=1) - 1, _kept_level(history_of(changed)))
    return _kept(changed, around.anchor, around.heading or document.title, kept_text, by, reason)


def _section_at(document: Document, offset: int) -> Section:
    """The section at a byte offset; that before the first heading for one in the front matter."""
    return next((each for each in reversed(document.sections) if each.start <= offset), document.sections[0])


def _require_holding(document: Document, section: Section) -> None:
    """Raise if a section is superseded, so that a new text in it would be, too.

    Raises:
        InvalidInputError: kind "argument".
    """
    lapsed = next((old for old in lapsed_sections(document) if old.ordinal <= section.ordinal <= old.last), None)
    if lapsed is not None:
        raise InvalidInputError(
            f"The section {document.sections[lapsed.ordinal].heading!r} is {lapsed.word or 'superseded'} already: a new"
            " text in it would not hold.",
            kind="argument",
            hint="Supersede the section that holds now, or correct the old text with do section or replace.",
        )


def _replaced_parts(document: Document, section: Section) -> list[tuple[int, int]]:
    """The byte ranges of a section's text that a new text replaces, in order; the first may be empty."""
    end = section.tree_end
    if end == len(document.raw) and document.raw[section.content :].strip():
        definitions = definitions_start(document.raw, section.content)
        # A section of nothing but definitions has them as its text.
        end = definitions if document.raw[section.content : definitions].strip() else end
    history = history_of(document)
    sections = kept_texts(document, section) if history == section else [history] if history else []
    parts, at = [(section.content, end)], section.content
    for each in sections:
        if at <= each.start < end:
            parts[-1:] = [(at, each.start), (each.tree_end, max(end, each.tree_end))]
            at = each.tree_end
    return parts


def _kept_level(history: Section | None) -> int:
    """The level of the heading of a kept text."""
    return min((history.level if history else 2) + 1, 6)


def _old_text(document: Document, start: int, end: int, above: int, level: int) -> str:
    """A range of a page as text below a heading of a level.

    Args:
        document: The page.
        start: Start of the range.
        end: End of the range.
        above: Level of the heading above the range.
        level: Level of the heading below which the text is kept.
    """
    parts: list[bytes] = []
    for section in document.sections:
        if section.level and start <= section.start and section.content <= end:
            parts += [document.raw[start : section.start], _heading(document, section, section.level + level - above)]
            start = section.content
    text = b"".join([*parts, document.raw[start:end]]).decode("utf-8", "replace")
    return _BLANK_LINES.sub("", text).rstrip()


def _heading(document: Document, section: Section, level: int) -> bytes:
    """The heading line of a section at another level; bold text at one that Markdown does not have."""
    line = document.raw[section.start : section.content]
    if level > MAX_LEVEL:
        return f"**{section.heading}**{document.newline}".encode()
    if section.atx:
        return _MARKS.sub(b"#" * level, line, count=1)
    text = line.partition(b"\n")[0].strip()
    return b"%s %s%s" % (b"#" * level, text, document.newline.encode())


def _marked(document: Document, section: Section, by: str, reason: str) -> bytes:
    if not by or not section.atx:
        raise InvalidInputError(
            "A superseded section needs 'text', the new text, or 'by', what replaces it, and a heading with #.",
            kind="argument",
            hint="Give text, or by such as 'network.md#port'.",
        )
    end = document.raw.find(b"\n", section.start)
    end = len(document.raw) if end < 0 else end
    line = document.raw[section.start : end].decode("utf-8", "replace").rstrip()
    own = section.attributes
    heading = line[: line.rfind("{")].rstrip() if own and line.endswith("}") else line.rstrip("#").rstrip()
    anchor = "" if "#" in own.split(" ")[0] else f"#{section.anchor}"
    attributes = " ".join(filter(None, (anchor, own, "status=superseded", f"by={_quoted(by)}")))
    marked = read_again(document, edits.replace_range(document, section.start, end, f"{heading} {{{attributes}}}"))
    if not reason:
        return marked.raw
    return append_text(marked, marked.sections[section.ordinal], f"Superseded: {' '.join(reason.split())}")


def _kept(document: Document, anchor: str, name: str, old: str, by: str, reason: str) -> bytes:
    """The page with an old text in its history, which is made at the end of the page if there is none.

    It goes behind the history's own text, before the texts that were kept earlier.
    """
    if not old:
        return document.raw
    day = moment_of_write().date().isoformat()
    target = by or (f"#{anchor}" if anchor else document.address.path)
    history = history_of(document)
    level = _kept_level(history)
    head = "" if history else "## History\n\n"
    because = f"\n\nSuperseded: {' '.join(reason.split())}" if reason else ""
    attributes = f"status=superseded by={_quoted(target)}"
    kept_text = f"{head}{'#' * level} {name}, until {day} {{{attributes}}}\n\n{old}{because}"
    if history is None:
        return edits.insert_text(document, len(document.raw), kept_text)
    earlier = (section.start for section in kept_texts(document, history) if section.level == level)
    return edits.insert_text(document, next(earlier, history.tree_end), kept_text)


def _quoted(reference: str) -> str:
    return f'"{reference}"' if _UNFIT.search(reference) else reference


# Sources of a change, in the page's own style.


def source_line(source: str | Mapping[str, Json], pin: Callable[[Citation], Citation]) -> str:
    """A source that a caller gives, as one line for `source_texts`.

    Args:
        source: A text, or an item with the keys of `sources` in a front matter, also as text: `{path: a.md, quote: …}`.
        pin: Returns the citation with the path from the base, and with the commit at which it is made, if it lacks one
            and needs it. A link is relative already.

    Raises:
        InvalidInputError: kind "argument": it names no source, or has a part that cannot be kept.
    """
    item = source if isinstance(source, Mapping) else _item_in(source)
    line = plain_citation(_of_item(item)) if item is not None else " ".join(str(source).split())
    citation = _kept_citation(line)
    pinned = pin(citation)
    if _LINKED.search(line):
        pinned = pinned._replace(target=citation.target)
    if pinned == citation:
        return line
    return ", ".join(filter(None, (plain_citation(pinned), rest_of_citation(line))))


def _item_in(text: str) -> Mapping[str, Json] | None:
    """The item that a text has in braces; None if the text is none."""
    value = load(text).value if text.lstrip().startswith("{") else None
    return value if isinstance(value, Mapping) else None


def _of_item(item: Mapping[str, Json]) -> Citation:
    citation = citation_of_item(item)
    if citation is None:
        raise _no_source("{}" if not item else str(next(iter(item.values()))))
    if unfit := [*(item.keys() - ITEM_KEYS), *(key for key in COPY_KEYS if key in item)]:
        raise _not_kept(f"Its key {unfit[0]!r}", "Known are path or url, section, quote, read and commit.")
    if not READ_KEYS.isdisjoint(item) and not citation.read:
        raise _not_kept("Its day of reading, which is none,", "Give a day such as 2026-01-03.")
    return citation


def _kept_citation(line: str) -> Citation:
    """The citation in a line, of which nothing would be lost or changed.

    Raises:
        InvalidInputError: kind "argument".
    """
    citation = read_citation(line)
    if citation is None and not _IS_PROSE.search(line):
        citation = read_citation(line, whole=True)
    if citation is None or not (citation.target or citation.fragment):
        raise _no_source(line)
    day, lines, rest = day_of_citation(line), _CITED_LINES.search(line), rest_of_citation(line)
    if day and not citation.read:
        raise _not_kept(f"{day!r} is no day. It", "Give a day such as 2026-01-03.")
    if citation.read > (datetime.now(UTC) + timedelta(days=1)).date().isoformat():
        raise _not_kept(f"The day {day} lies in the future. It", "Give the day on which it was read.")
    if citation.first and lines and int(lines[2]) < int(lines[1]):
        raise _not_kept(f"The lines {lines[0][1:]!r} end before they begin. They", "Give the first line first.")
    if rest.startswith("@"):
        raise _not_kept(
            f"{rest.split()[0]!r} is no commit. It", "Leave it out: the commit that has the lines is added."
        )
    return citation


_IS_PROSE = re.compile(r"[,;()]|\.(?:\s|\Z)")
"""A text that is no path and no title."""
_IS_PATH = re.compile(r"/|\.\w+\Z")
_CITED_LINES = re.compile(r"#L(\d{1,9})-L?(\d{1,9})")


def _no_source(text: str) -> InvalidInputError:
    return InvalidInputError(
        f"{text[:80]!r} names no source.",
        kind="argument",
        hint="Give 'guide.md#install', '[[Title]]', 'src/app.py#L10-L20@1a2b3c4' or a URL, then a quotation in marks."
        " Text without a reference goes into the page.",
    )


def _not_kept(what: str, hint: str) -> InvalidInputError:
    return InvalidInputError(f"A source cannot be written. {what} would be lost.", kind="argument", hint=hint)


def source_texts(sources: Sequence[str], folder: str) -> list[str]:
    """The sources as one line each, in the form that `read_citation` reads.

    Args:
        sources: A path, a title in [[ ]], a URL, or one of these with a quotation, each; other text behind it is kept.
        folder: Folder of the citing page, to which links to pages are relative.

    Raises:
        InvalidInputError: kind "argument": a text names no source, or has a part that cannot be kept.
    """
    return [_source_text(" ".join(source.split()), folder) for source in sources]


def _source_text(line: str, folder: str) -> str:
    citation = _kept_citation(line)
    if _LINKED.search(line):
        return line
    if not citation.is_url and not citation.first and _IS_PATH.search(citation.target):
        citation = citation._replace(target=relpath(citation.target, folder or "."))
    text = ", ".join(filter(None, (citation_text(citation), rest_of_citation(line))))
    if source_key(text) != citation.key:
        raise _not_kept(f"A part of {line[:80]!r}", "Give the reference and a quotation alone, or a link.")
    return text


def with_references(document: Document, text: str, texts: Sequence[str]) -> tuple[str, list[str]]:
    """A new text with references to the footnotes of sources, and their labels; unchanged in a page with a list.

    A source that the page cites in a footnote already has its label. `[^2]` in the text refers to the second source,
    unless the page has such a footnote. The others are referred to at the end. An empty text has no references.
    """
    if uses_list(document) or not texts or not text.strip():
        return text, []
    numbers = [str(number) for number in range(1, len(texts) + 1)]
    own = [label for label in numbers if f"[^{label}]" in text and f"[^{label}]:" not in document.text + text]
    labels = _labels(document, texts, numbers, own)
    text = _with_labels(text, dict(pair for pair in zip(numbers, labels, strict=True) if pair[0] in own))
    return _referring(text, labels), labels


def _with_labels(text: str, labels: Mapping[str, str]) -> str:
    """A text in which references with these labels have others."""
    return _REFERENCE.sub(lambda match: f"[^{labels.get(match[1], match[1])}]", text)


def _referring(text: str, labels: Sequence[str]) -> str:
    """A text with the references that it lacks at its end, below a heading, which has none."""
    there = {match[1] for match in _REFERENCE.finditer(text)}
    references = "".join(f"[^{label}]" for label in dict.fromkeys(labels) if label not in there)
    tail = _TAIL.search(text)
    end = tail.start() if tail else len(text)
    below = "\n\n" if references and text[:end].rpartition("\n")[2].startswith("#") else ""
    return text[:end] + below + references + text[end:]


def _labels(document: Document, texts: Sequence[str], numbers: Sequence[str], own: Sequence[str]) -> list[str]:
    """The labels of sources: of their footnotes in the page, else the numbers in the text, else free ones."""
    labels = {citation.key: citation.label for citation in citations_of(document) if citation.line}
    free = (label for label in free_labels(document, 2 * len(numbers)) if label not in own)
    for text, number in zip(texts, numbers, strict=True):
        if source_key(text) not in labels:
            labels[source_key(text)] = number if number in own else next(free)
    return [labels[source_key(text)] for text in texts]


def source_key(text: str) -> tuple[str, str, str]:
    """The key of the citation in a text of `source_texts`."""
    citation = read_citation(text)
    return citation.key if citation else (text, "", "")


def with_sources(raw: bytes, document: Document, texts: Sequence[str], labels: Sequence[str]) -> bytes:
    """The page with sources: items of its list, or the footnotes with these labels at its end; none is there twice."""
    changed = read_again(document, raw)
    if not labels:
        return _with_listed(changed, texts)
    fresh = {label: text for label, text in zip(labels, texts, strict=True) if f"[^{label}]:" not in changed.text}
    item = "- " if is_outline(changed) else ""
    notes = "\n".join(f"{item}[^{label}]: {text}" for label, text in fresh.items())
    at = text_end(changed, changed.body_start, len(changed.raw), notes)
    return edits.insert_text(changed, at, notes) if notes else raw


def _with_listed(document: Document, texts: Sequence[str]) -> bytes:
    """The page with sources in the list of its front matter, without those that it cites already."""
    value = document.frontmatter.values.get("sources")
    listed: list[Json] = list(value) if isinstance(value, (list, tuple)) else [value] if value else []
    keys = {citation.key for citation in citations_of(document)}
    fresh = {key: text for text in texts if (key := source_key(text)) not in keys}
    return set_fields(document, {"sources": [*listed, *fresh.values()]}) if fresh else document.raw


def text_with_sources(document: Document, sources: Sequence[str]) -> str:
    """The text of a whole page with sources in its own style.

    Args:
        document: The page in its own form.
        sources: As in `source_texts`.

    Raises:
        InvalidInputError: kind "argument": a text names no source; kind "document": the page is wikitext.
    """
    texts = source_texts(sources, document.address.folder)
    require_markdown(document, "sources")
    referring, labels = with_references(document, document.raw.decode(), texts)
    return with_sources(referring.encode(), document, texts, labels).decode()
