"""Sections of a project's instructions (`main.md`), named by their header line such as `## Testing`."""

from __future__ import annotations

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document, Section
from commonplace.domain.edits import remove_section as without_section
from commonplace.domain.edits import replace_section
from commonplace.domain.errors import AlreadyExistsError, InvalidInputError, NotFoundError
from commonplace.toolsets.projects.rules.chapters import (
    EditedDocument,
    Position,
    has_title,
    heading_line,
    inserted,
    require_text,
    split_header,
    title_of,
    titles_between,
    without_hiding,
)
from commonplace.toolsets.projects.rules.limits import check_title


def check_header(header: str) -> tuple[int, str]:
    """Level and title of a header.

    Raises:
        InvalidInputError: kind "title".
    """
    level, title = split_header(header)
    return level, check_title("Section header", title)


def update_section(document: Document, header: str, text: str) -> EditedDocument:
    """The instructions with new text under a header, up to the next header of the same or a higher level.

    Sections of the same or a higher level in the text are added where they do not take over other subsections.

    Raises:
        NotFoundError: kind "section": there is no such section.
        AlreadyExistsError: kind "section": the text would add a section that exists.
        InvalidInputError: kind "content": the text would hide a section.
    """
    section = find_instruction_section(document, header)
    gone = _below(document, section)
    lines, added = _parted(_without_header(header, text), section.level)
    if added:
        document = _with_sections(document, section.tree_end, added)
    behind = [element for element in document.sections if element.level and element.start >= section.tree_end]
    changed = replace_section(document, section, lines)
    return EditedDocument(without_hiding(document, changed, behind, what="section"), gone)


def add_section(document: Document, header: str, text: str, position: Position = "end", reference: str = "") -> bytes:
    """The instructions with a new section, at the end or beside another one.

    Sections of the same or a higher level in the text follow it, where they do not take over other subsections.

    Raises:
        AlreadyExistsError: kind "section": the section, or one in the text, exists.
        NotFoundError: kind "section": the reference does not exist.
        InvalidInputError: kind "content": the text, or an unclosed fence before it, would hide a section.
    """
    level, title = check_header(header)
    _require_new(document, header)
    if position == "end":
        at = len(document.raw)
    else:
        beside = find_instruction_section(document, reference, "Reference section")
        at = beside.start if position == "before" else beside.tree_end
    body, added = _parted(_without_header(header, text), level)
    if added:
        document = _with_sections(document, at, added, taken=header)
    line = heading_line(level, title)
    changed = inserted(document, at, f"{line}\n\n{body}" if body.strip() else line)
    behind = [section for section in document.sections if section.level and section.start >= at]
    return without_hiding(document, changed, behind, added=1, what="section")


def remove_section(document: Document, header: str) -> EditedDocument:
    """The instructions without a section and its subsections.

    Raises:
        NotFoundError: kind "section".
    """
    require_text(document)
    section = find_instruction_section(document, header)
    return EditedDocument(without_section(document, section), _below(document, section))


def find_instruction_section(document: Document, header: str, what: str = "Section") -> Section:
    """The first section with this header.

    Raises:
        NotFoundError: kind "section".
        InvalidInputError: kind "title": the header is invalid.
    """
    check_header(header)
    section = _find(document, header)
    if section is None:
        raise NotFoundError(
            f"{what} '{header.strip()}' not found",
            kind="section",
            hint="Headers are case-sensitive; read the instructions with get_project_main.",
        )
    return section


def check_reference(position: Position, reference: str, name: str) -> None:
    """Check that a position "before" or "after" has a reference.

    Raises:
        InvalidInputError: kind "position".
    """
    if position != "end" and not reference.strip():
        raise InvalidInputError(
            f"{name} is required when position is '{position}'", kind="position", hint="Name it, or use position 'end'."
        )


def _parted(text: str, level: int) -> tuple[str, str]:
    """The part of a text that belongs to a section of this level, and the rest from the next section on.

    The rest begins at the first section of this level or above.
    """
    first = next((section.start for section in _parsed(text).sections if 0 < section.level <= level), None)
    raw = text.encode()
    return (text, "") if first is None else (raw[: first - 1].decode(), raw[first - 1 :].decode())


def _with_sections(document: Document, start: int, text: str, taken: str = "") -> Document:
    """The document with the sections of a text, placed after `start` where they do not take over other subsections.

    Args:
        document: The document.
        start: The byte offset.
        text: The sections.
        taken: Another header that the sections may not have.

    Raises:
        AlreadyExistsError: kind "section": a section exists.
    """
    parsed = _parsed(text)
    added = [section for section in parsed.sections if section.level]
    for section in added:
        _require_new(document, heading_line(section.level, title_of(parsed, section)), taken)
    level = min(section.level for section in added)
    later = (section.start for section in document.sections if section.start >= start and 0 < section.level <= level)
    return read_document(document.address, inserted(document, next(later, len(document.raw)), text))


def _require_new(document: Document, header: str, taken: str = "") -> None:
    if _find(document, header) is not None or (taken and split_header(header) == split_header(taken)):
        raise AlreadyExistsError(
            f"Section '{header.strip()}' already exists", kind="section", hint="Use update_project_section."
        )


def _parsed(text: str) -> Document:
    """A text parsed as a document; offsets are one byte too large."""
    return read_document(Address("text.md"), b"\n" + text.encode())  # the blank line prevents frontmatter


def _below(document: Document, section: Section) -> tuple[str, ...]:
    return titles_between(document, section.content, section.tree_end)


def _find(document: Document, header: str) -> Section | None:
    level, title = split_header(header)
    same = [section for section in document.sections if section.level == level]
    return next((section for section in same if has_title(document, section, title)), None)


def _without_header(header: str, text: str) -> str:
    lines = text.replace("\r\n", "\n").strip("\n")
    first, _, rest = lines.partition("\n")
    return rest.strip("\n") if first.strip() and split_header(first) == split_header(header) and "#" in first else lines
