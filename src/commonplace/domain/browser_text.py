"""The text of a document as a browser's form shows it and sends it back, and the new bytes after an edit there.

A browser changes what it shows: every line end becomes LF, NUL becomes U+FFFD, a byte order mark is not shown. So an
edit is compared with what was shown, line by line, and every line that is equal keeps its bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from commonplace.domain.documents import Document, Span
from commonplace.domain.edits import utf8, with_unix_line_ends
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.merge import hunks, split_lines

_BOM = b"\xef\xbb\xbf"
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_LINE_END = re.compile(rb"(?:\r\n|\r|\n)\Z")
_BLANK = b" \t\r\n"


def section_span(document: Document, anchor: str) -> Span | None:
    """The range of a section with its heading and subsections, without the blank lines at its end.

    Returns:
        None if no section has this anchor.
    """
    section = next((element for element in document.sections if element.level and element.anchor == anchor), None)
    if section is None:
        return None
    text = document.raw[section.start : section.tree_end]
    return Span(section.start, section.start + len(text.rstrip(_BLANK)))


def browser_text(document: Document, span: Span | None = None) -> str:
    """The text that a form shows: the whole document without its byte order mark, or a range of it.

    Raises:
        InvalidInputError: the document is not UTF-8.
    """
    _require_text(document)
    start, end = span or _whole(document)
    return _shown(document.raw[start:end]).decode()


def with_browser_text(document: Document, text: str, span: Span | None = None) -> bytes:
    """The new bytes of a document whose text, or a range of it, was edited in a form.

    Lines that are as they were shown keep their bytes. Other lines end as the lines that they replace, or as most lines
    of the document do.

    Raises:
        InvalidInputError: the document is not UTF-8, or the text is not valid Unicode.
    """
    _require_text(document)
    start, end = span or _whole(document)
    lines = _LINE.findall(document.raw[start:end])
    shown = [_shown(line) for line in lines]
    sent = split_lines(utf8(with_unix_line_ends(text)))
    parts: list[bytes] = []
    at = 0
    for hunk in hunks(shown, sent):
        parts += lines[at : hunk.start]
        parts += _with_ends(hunk.lines, lines[hunk.start : hunk.end], document.newline.encode())
        at = hunk.end
    return document.raw[:start] + _joined([*parts, *lines[at:]]) + document.raw[end:]


def _whole(document: Document) -> Span:
    return Span(len(_BOM) if document.raw.startswith(_BOM) else 0, len(document.raw))


def _shown(raw: bytes) -> bytes:
    return raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\0", "\ufffd".encode())


def _with_ends(lines: Sequence[bytes], replaced: Sequence[bytes], newline: bytes) -> list[bytes]:
    """Lines with the line ends of those that they replace, by position; further ones as the last of these, if any."""
    ends = [match.group() for line in replaced if (match := _LINE_END.search(line))]
    return [
        line if not line.endswith(b"\n") else line[:-1] + (ends[min(at, len(ends) - 1)] if ends else newline)
        for at, line in enumerate(lines)
    ]


def _joined(lines: Sequence[bytes]) -> bytes:
    """The lines in one text. A line end LF behind a CR becomes CR, because the two would be read as one line end."""
    parts: list[bytes] = []
    for line in lines:
        parts.append(b"\r" + line[1:] if line[:1] == b"\n" and parts and parts[-1].endswith(b"\r") else line)
    return b"".join(parts)


def _require_text(document: Document) -> None:
    if not document.decodable:
        raise InvalidInputError(
            "The page is not UTF-8 and is never changed.", kind="document", hint="Convert the file to UTF-8 first."
        )
