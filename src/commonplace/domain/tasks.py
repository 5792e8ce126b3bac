"""Tasks of a document: list items with a box, `- [ ] text`, and the change that ticks one.

In a graph of Logseq blocks that begin with a marker, `- TODO text`, are tasks, too; markers and workflows as in
https://github.com/logseq/logseq/blob/fab27740/src/main/frontend/util/marker.cljs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from commonplace.domain.documents import Document
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.markdown.structure import scan

_TASK = re.compile(rb"(?m)^[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[([ xX])\][ \t]+(.*?)[ \t]*\r?$")
_MARKED = re.compile(
    rb"(?m)^[ \t]*-[ \t]+(?:#{1,6}[ \t]+)?(TODO|DOING|NOW|LATER|DONE|WAIT(?:ING)?|IN-PROGRESS|CANCELL?ED)"
    rb"[ \t]+(.*?)[ \t]*\r?$"
)
"""A block of Logseq with a marker; that of a started or waiting task is one of a task that is not done."""
_OVER = frozenset({b"DONE", b"CANCELED", b"CANCELLED"})


@dataclass(frozen=True, slots=True)
class TaskItem:
    """One task."""

    at: int
    """Byte offset of the mark between the brackets; of a marker, that of its second letter."""
    text: str
    """The text of its first line, with single blanks."""
    done: bool
    marker: bytes = b""
    """The marker of Logseq; "" for a box."""


def tasks_of(document: Document) -> list[TaskItem]:
    """The tasks of a document in order. What looks like one in code and HTML is none.

    Raises:
        InvalidInputError: the document is not UTF-8.
    """
    if not document.decodable:
        raise InvalidInputError("The page is not UTF-8 and is never changed.", kind="document")
    base = document.body_start
    # The parser reports the mark of each task, and code as a whole.
    opaque = scan(document.raw[base:].decode()).opaque
    marks = set(opaque)
    boxes = [
        TaskItem(match.start(1), _text(match), match[1] != b" ")
        for match in _TASK.finditer(document.raw, base)
        if (match.start(1) - 1 - base, match.end(1) + 1 - base) in marks
    ]
    if not document.is_blocks:
        return boxes
    marked = [
        TaskItem(match.start(1) + 1, _text(match), match[1] in _OVER, match[1])
        for match in _MARKED.finditer(document.raw, base)
        if not any(start <= match.start(1) - base < end for start, end in opaque)
    ]
    return sorted([*boxes, *marked], key=lambda task: task.at)


def _text(match: re.Match[bytes]) -> str:
    return " ".join(match[2].decode().split())


def with_boxes(source: bytes) -> bytes:
    """Blocks of Logseq with boxes of the same length in place of their markers, for pages that show boxes."""

    def box(match: re.Match[bytes]) -> bytes:
        mark = b"[x]" if match[1] in _OVER else b"[ ]"
        before, after = match.start(1) - match.start(), match.end(1) - match.start()
        return match[0][:before] + mark.ljust(len(match[1])) + match[0][after:]

    return _MARKED.sub(box, source)


def with_task(document: Document, task: TaskItem, *, done: bool) -> bytes:
    """The new bytes of a document with a task ticked or not. Nothing changes if it is so already."""
    if task.done == done:
        return document.raw
    if task.marker:
        start = task.at - 1
        open_marker = b"LATER" if re.search(rb"- (?:NOW|LATER) ", document.raw) else b"TODO"
        return document.raw[:start] + (b"DONE" if done else open_marker) + document.raw[start + len(task.marker) :]
    mark = b"x" if done else b" "
    return document.raw[: task.at] + mark + document.raw[task.at + 1 :]
