"""Knowledge documents: their front matter, their headings, and their chapters."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from commonplace.domain.activity import moment_of_write
from commonplace.domain.addresses import Address, visible_form
from commonplace.domain.document_reader import hidden_headings, read_document
from commonplace.domain.documents import Document, Section
from commonplace.domain.edits import remove_section, replace_section
from commonplace.domain.errors import AlreadyExistsError, InvalidInputError, NotFoundError
from commonplace.domain.frontmatter import set_fields
from commonplace.domain.words.amounts import amount

_UPDATED_LINE = re.compile(
    rb"^(updated[ \t]*:[ \t]*)(?P<quote>[\"']?)[^\"'#\r\n\[{|>&*!]*?(?P=quote)([ \t]*(?:[ \t]#[^\r\n]*)?)(?=\r?$)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Metadata:
    """The frontmatter's fields; dates are ISO 8601, "" if missing."""

    title: str
    keywords: tuple[str, ...]
    created: str
    updated: str


def now_text() -> str:
    """The current time in the format of documents: UTC, ISO 8601, milliseconds, `Z`."""
    return iso_text(moment_of_write())


def iso_text(moment: datetime) -> str:
    """A time in the format of documents."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def metadata_of(document: Document) -> Metadata:
    """Title (else the first heading, else the file's name), keywords and dates; missing values are empty."""
    values = document.frontmatter.values
    keywords = values.get("keywords")
    if isinstance(keywords, str):
        words = [word.strip() for word in keywords.split(",")]
    else:
        words = [str(word) for word in keywords if word is not None] if isinstance(keywords, (list, tuple)) else []
    return Metadata(
        document.title,
        tuple(word for word in words if word),
        _moment(values.get("created")),
        _moment(values.get("updated")),
    )


def new_document(
    title: str, keywords: Sequence[str], introduction: str, chapters: Sequence[tuple[str, str]], now: str
) -> bytes:
    """The bytes of a new document.

    Raises:
        InvalidInputError: kind "content": one chapter's text would hide the next.
    """
    body = new_body(chapters, introduction)
    fields = {"title": title, "keywords": list(keywords), "created": now, "updated": now}
    raw = set_fields(f"\n{body}".encode() if body else b"", fields)
    titles = [chapter.title for chapter in read_chapters(read_document(Address("new.md"), raw))]
    wanted_titles = iter(titles)
    if not all(title in wanted_titles for title, _ in chapters):
        raise InvalidInputError(
            "The content of a chapter would hide the next one: a code fence, HTML block or comment is not closed",
            kind="content",
            hint="Close it.",
        )
    return raw


def with_updated(document: Document, raw: bytes, now: str) -> bytes:
    """The bytes of an edited document with `updated` set in its frontmatter. The rest of the frontmatter stays.

    Args:
        document: The document before the edit.
        raw: The edited bytes, with the same frontmatter.
        now: The time.
    """
    block = document.frontmatter
    if not block.present:
        return raw
    start, end = block.span.start, block.span.end
    head, match = raw[start:end], _UPDATED_LINE.search(raw, start, end)
    if match:
        quote = match["quote"]
        key = match[1] if match[1].endswith((b" ", b"\t")) else match[1] + b" "  # `updated:` without a value
        return raw[: match.start()] + key + quote + now.encode() + quote + match[3] + raw[match.end() :]
    if any(finding.rule == "bad_yaml" for finding in block.findings):
        return raw
    return raw[:start] + set_fields(head, {"updated": now}) + raw[end:]


def _moment(value: object) -> str:
    return str(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else ""


# Titles of headings as written on the heading line, so that a title round-trips.


_OPENING = re.compile(r"[ ]{0,3}#{1,6}(?:[ \t]+|$)")
_CLOSING = re.compile(r"(?:(?<=[ \t])|^)#+[ \t]*$")
_UNDERLINE = re.compile(r"\n[ ]{0,3}(?:=+|-+)[ \t]*$")
_MARKED = re.compile(r"(#{1,6})[ \t]+(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class EditedDocument:
    """A document after an edit."""

    raw: bytes
    gone: tuple[str, ...] = ()
    """Titles of the subsections that the edit removed, in order."""


def title_of(document: Document, section: Section) -> str:
    """A section's heading as written, without its markers; inline markup and attributes stay."""
    source = document.encoded  # the section's offsets refer to this encoding
    line = source[section.start : section.content].decode("utf-8", "replace").replace("\r\n", "\n").strip("\n")
    if not section.atx:
        return " ".join(_UNDERLINE.sub("", line).split())
    text = _CLOSING.sub("", _OPENING.sub("", line, count=1)).strip()
    return re.sub(r"\\(#+)$", r"\1", text)


def heading_line(level: int, title: str) -> str:
    """The heading line that parses to this title."""
    # A final run of `#` after a blank would be parsed as a closing sequence.
    text = re.sub(r"((?:^|[ \t]))(#+)$", r"\1\\\2", title)
    return f"{'#' * level} {text}"


def split_header(header: str) -> tuple[int, str]:
    """Level and title of a header such as `## Title`; a title without markers is of level 2."""
    marked = _MARKED.fullmatch(header.strip())
    if marked:
        return len(marked[1]), marked[2].strip()
    return 2, header.strip()


def has_title(document: Document, section: Section, title: str) -> bool:
    """Whether `title` names this section, as written or as rendered."""
    return title in {title_of(document, section), section.heading}


def titles_between(document: Document, start: int, end: int) -> tuple[str, ...]:
    """Titles of the sections that begin in a byte range of the document, in order."""
    sections = [section for section in document.sections if section.level and start <= section.start < end]
    return tuple(title_of(document, section) for section in sections)


def without_hiding(
    document: Document, changed: bytes, behind: Sequence[Section], added: int = 0, what: str = "chapter"
) -> bytes:
    """The new bytes, if the sections after the change and the added one are still parsed.

    Args:
        document: The document before the change.
        changed: Its new bytes.
        behind: Sections after the change.
        added: Number of added sections.
        what: Name of a section in the error.

    Raises:
        InvalidInputError: kind "content": a section would be hidden.
    """
    again = read_document(document.address, changed)
    titles = tuple(title_of(document, section) for section in behind)
    now = titles_between(again, 0, len(changed))
    before = sum(1 for section in document.sections if section.level) - len(behind)
    if now[len(now) - len(titles) :] != titles or (added and len(now) < before + added + len(titles)):
        if not behind and _hides_what_follows(document):
            raise InvalidInputError(
                f"The last {what} would hide one after it: a code fence, HTML block or comment in it is not closed",
                kind="content",
                hint=f"Close it first: update the last {what}.",
            )
        raise InvalidInputError(
            f"The content would hide a {what}: a code fence, HTML block or comment is not closed",
            kind="content",
            hint="Close it, in the content or at the end of the document.",
        )
    return changed


def _hides_what_follows(document: Document) -> bool:
    """Whether a heading after the end of a document would not be parsed as one."""
    again = read_document(document.address, document.raw + b"\n\n# End\n")
    return len(again.sections) == len(document.sections)


# Chapters of a knowledge document (headings of levels 2 to 4): parsing, and edits of one chapter.
#
# An edit changes the bytes of its chapter and the `updated` line only. Text that would hide later chapters (such as an
# unclosed code fence) is rejected.


Position: TypeAlias = Literal["before", "after", "end"]

TOP_LEVEL, LAST_LEVEL = 2, 4
"""First and last level of chapter headings."""
MAX_SUMMARY_SHOWN = 100
MAX_HIDDEN_SHOWN = 5
"""Maximum number of hidden headings that a warning names."""

_BLANK = b" \t\r\n"
_PARAGRAPHS = re.compile(r"\n[ \t]*\n")
_NO_PARAGRAPH = re.compile(r"[ ]{0,3}(?:#{1,6}(?:\s|$)|```|~~~|<!--|\||(?:[-*_][ \t]*){3,}$)")


@dataclass(frozen=True, slots=True)
class Chapter:
    """One chapter. Its text ends at the next heading of level 2 to 4."""

    section: Section
    end: int
    """End of the text, as a byte offset in the document."""
    title: str
    index: int
    """Position in the document, from 0."""
    text: str
    """Text without the heading, and without blank lines at its ends."""
    whole: str
    """Text with the heading line."""
    summary: str
    """The first paragraph on one line, at most 100 characters; "" if there is none."""


def read_chapters(document: Document) -> list[Chapter]:
    """All chapters in order."""
    sections = [section for section in document.sections if TOP_LEVEL <= section.level <= LAST_LEVEL]
    source = document.encoded
    ends = [*(section.start for section in sections), len(source)][1:]
    chapters: list[Chapter] = []
    for index, (section, end) in enumerate(zip(sections, ends, strict=True)):
        text = _text(source[section.content : end])
        whole = _text(source[section.start : end])
        chapters.append(Chapter(section, end, title_of(document, section), index, text, whole, first_paragraph(text)))
    return chapters


def introduction_of(document: Document) -> str:
    """The text before the first chapter, without an initial heading of level 1."""
    source = document.encoded
    first = next((s for s in document.sections if TOP_LEVEL <= s.level <= LAST_LEVEL), None)
    start, end = document.body_start, first.start if first else len(source)
    title = next((s for s in document.sections if s.level == 1), None)
    if title and title.start < end and not source[start : title.start].strip():
        start = title.content
    return _text(source[start:end])


def unclosed_warning(document: Document) -> str:
    """Warning about a code fence or comment that nothing closes, with the headings behind it; "" without one."""
    finding = next((element for element in document.findings if element.rule == "unclosed_block"), None)
    if finding is None:
        return ""
    hidden = [heading for _, heading in hidden_headings(document)]
    names = ", ".join(f"'{heading}'" for heading in hidden[:MAX_HIDDEN_SHOWN])
    more = f" and {len(hidden) - MAX_HIDDEN_SHOWN:,} more" if len(hidden) > MAX_HIDDEN_SHOWN else ""
    return f"{finding.message} Not listed as chapters: {names}{more}." if names else finding.message


def first_paragraph(text: str) -> str:
    """The first paragraph of a text on one line, at most 100 characters; "" if there is none."""
    for block in _PARAGRAPHS.split(text.strip("\n")):
        if block.strip() and not _NO_PARAGRAPH.match(block):
            line = " ".join(block.split())
            return line if len(line) <= MAX_SUMMARY_SHOWN else f"{line[: MAX_SUMMARY_SHOWN - 3].rstrip()}..."
    return ""


def find_chapter(document: Document, title: str, what: str = "Chapter") -> Chapter:
    """The first chapter with this title; case-sensitive.

    Raises:
        NotFoundError: kind "chapter": there is no such chapter.
    """
    chapters = read_chapters(document)
    wanted_title = title.strip()
    for chapter in chapters:
        if chapter.title == wanted_title:
            return chapter
    for chapter in chapters:
        if has_title(document, chapter.section, wanted_title):
            return chapter
    raise NotFoundError(
        f"{what} '{wanted_title}' not found",
        kind="chapter",
        hint="Titles are case-sensitive; list the chapters.",
        nearest=[chapter.title for chapter in chapters[:20]],
    )


def chapter_at(document: Document, index: int) -> Chapter:
    """The chapter with this index.

    Raises:
        NotFoundError: kind "chapter": there is no such chapter.
    """
    chapters = read_chapters(document)
    if 0 <= index < len(chapters):
        return chapters[index]
    raise NotFoundError(
        f"Chapter index {index} is out of range: the document has {amount(len(chapters), 'chapter')}, counted from 0",
        kind="chapter",
        hint="List the chapters to see which there are.",
    )


def replace_chapter(document: Document, title: str, text: str, summary: str = "") -> EditedDocument:
    """The document with a new text in a chapter.

    The replaced text ends at the next chapter, as shown to readers. Chapters below this one are replaced only if the
    new text contains chapters below its level. Chapters of the same or a higher level in the new text are added after
    the chapters below this one, so that these stay with their chapter.

    Args:
        document: The document.
        title: Title of the chapter.
        text: The new text, with or without the heading line.
        summary: The new first paragraph, unless the text begins with it.

    Raises:
        NotFoundError: kind "chapter": there is no such chapter.
        AlreadyExistsError: kind "chapter": the text would add a chapter whose title is taken.
        InvalidInputError: kind "content": the text would hide a chapter.
    """
    _require_titles(text)
    chapter = find_chapter(document, title)
    lines = _without_heading(chapter, text)
    if summary and " ".join(_PARAGRAPHS.split(lines.strip())[0].split()) != summary:
        lines = f"{summary}\n\n{lines.strip(chr(10))}"
    section, end = chapter.section, chapter.end
    is_open = any(section.start <= at < end for at, _ in hidden_headings(document))
    # The chapters behind an unclosed fence belong to the text that was read; with the fence closed they come back.
    lines, added = (lines, "") if is_open else _parted(lines, section.level)
    if _chapters_in(lines):
        end = max(end, section.tree_end)
    gone = _chapters_between(document, chapter.end, end)
    if added:
        document = _with_chapters(document, section.start + 1, added)
    changed = replace_section(document, section._replace(tree_end=end), lines)
    behind = [s for s in document.sections if s.start >= end]
    return EditedDocument(without_hiding(document, changed, behind), gone)


def add_chapter(document: Document, title: str, text: str, position: Position = "end", reference: str = "") -> bytes:
    """The document with a new chapter, at the end or beside another one of the same level.

    Chapters of the same or a higher level in the text become separate chapters after the new one. They are placed where
    they do not take over the subchapters of another chapter.

    Raises:
        AlreadyExistsError: kind "chapter": the title, or that of a chapter in the text, is taken.
        NotFoundError: kind "chapter": the reference does not exist.
        InvalidInputError: kind "content": the text, or an unclosed fence before it, would hide a chapter.
    """
    _require_new(document, title.strip())
    _require_titles(text)
    if position == "end":
        level, at = TOP_LEVEL, len(document.raw)
    else:
        beside = find_chapter(document, reference, "Reference chapter").section
        level, at = beside.level, beside.start if position == "before" else beside.tree_end
    lines, added = _parted(_without_own_heading({title.strip()}, text), level)
    if added:
        document = _with_chapters(document, at, added, taken=title.strip())
    changed = inserted(document, at, f"{heading_line(level, title)}\n\n{_trimmed(lines)}")
    behind = [section for section in document.sections if section.start >= at and section.level]
    return without_hiding(document, changed, behind, added=1)


def remove_chapter(document: Document, title: str) -> EditedDocument:
    """The document without the first chapter of this title and its subchapters.

    Raises:
        NotFoundError: kind "chapter": there is no such chapter.
    """
    chapter = find_chapter(document, title)
    gone = _chapters_between(document, chapter.end, chapter.section.tree_end)
    return EditedDocument(remove_section(document, chapter.section), gone)


def new_body(title_and_text: Sequence[tuple[str, str]], introduction: str) -> str:
    """The body of a new document.

    Raises:
        InvalidInputError: kind "content": one chapter's text would hide the next.
    """
    blocks = [introduction.strip("\n")] if introduction.strip() else []
    for title, text in title_and_text:
        blocks.append(f"{heading_line(TOP_LEVEL, title)}\n\n{_trimmed(_without_own_heading({title.strip()}, text))}")
    return "\n\n".join(blocks) + "\n" if blocks else ""


def inserted(document: Document, at: int, text: str) -> bytes:
    """The document with lines inserted at a line start or at the end, with blank lines around them.

    Raises:
        InvalidInputError: the document is not UTF-8.
    """
    require_text(document)
    newline = document.newline.encode()
    before, after = document.raw[:at], document.raw[at:]
    block = text.replace("\r\n", "\n").strip("\n").encode().replace(b"\n", newline)
    lead = b""
    if before.rstrip(_BLANK) and len(before.rstrip(_BLANK)) > document.body_start:
        gap = before[len(before.rstrip(b"\r\n")) :].count(b"\n")
        lead = newline * max(0, 2 - gap)
    elif document.frontmatter.present and not before[document.body_start :].endswith(b"\n"):
        lead = newline if before.endswith(b"\n") else newline * 2
    return before + lead + block + (newline * 2 if after else newline) + after


def require_text(document: Document) -> None:
    """Check that a document is UTF-8 and may be changed.

    Raises:
        InvalidInputError: kind "content": the document is not UTF-8.
    """
    if not document.decodable:
        raise InvalidInputError(
            "The document is not UTF-8 and is never changed", kind="content", hint="Convert the file to UTF-8 first."
        )


def _require_new(document: Document, title: str, taken: str = "") -> None:
    if title == taken or any(has_title(document, chapter.section, title) for chapter in read_chapters(document)):
        raise AlreadyExistsError(
            f"Chapter '{title}' already exists",
            kind="chapter",
            hint="Change it with update_chapter, or choose another title.",
        )


def _require_titles(text: str) -> None:
    """Reject a text with a chapter that has no visible title."""
    if not all(visible_form(chapter.title) for chapter in _chapters_in(text)):
        raise InvalidInputError(
            "The content has a chapter without a title",
            kind="content",
            hint="Write a title behind the # signs, or leave the line out.",
        )


def _parted(text: str, level: int) -> tuple[str, str]:
    """The part of a text that belongs to a chapter of this level, and the rest from the next chapter on.

    The rest begins at the first chapter of this level or above.
    """
    first = next((chapter.section.start for chapter in _chapters_in(text) if chapter.section.level <= level), None)
    raw = text.encode()
    return (text, "") if first is None else (raw[: first - 1].decode(), raw[first - 1 :].decode())


def _with_chapters(document: Document, start: int, text: str, taken: str = "") -> Document:
    """The document with the chapters of a text, placed after `start` where they do not take over other subchapters.

    Raises:
        AlreadyExistsError, InvalidInputError: as from `replace_chapter`.
    """
    added = _chapters_in(text)
    for chapter in added:
        _require_new(document, chapter.title, taken)
    level = min(chapter.section.level for chapter in added)
    later = (section.start for section in document.sections if section.start >= start and 0 < section.level <= level)
    at = next(later, len(document.raw))
    changed = inserted(document, at, _trimmed(text))
    behind = [section for section in document.sections if section.start >= at and section.level]
    return read_document(document.address, without_hiding(document, changed, behind, added=len(added)))


def _chapters_in(text: str) -> list[Chapter]:
    """The chapters of a text; their offsets are one byte too large."""
    return read_chapters(read_document(Address("text.md"), b"\n" + text.encode()))  # prevents frontmatter


def _chapters_between(document: Document, start: int, end: int) -> tuple[str, ...]:
    """Titles of the chapters that begin in a byte range of the document."""
    return tuple(chapter.title for chapter in read_chapters(document) if start <= chapter.section.start < end)


def _without_heading(chapter: Chapter, text: str) -> str:
    """The text without a first line that repeats the chapter's heading, regardless of spacing."""
    return _without_own_heading({chapter.title, chapter.section.heading}, text)


def _without_own_heading(titles: Collection[str], text: str) -> str:
    lines = _trimmed(text)
    first, _, rest = lines.partition("\n")
    marked = re.match(r"#{2,4}[ \t]+(.+)", first)
    return rest if marked and marked[1].strip() in titles else lines


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").replace("\r\n", "\n").strip("\n")


def _trimmed(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
