"""Tasks of a document: list items with a box, `- [ ] text`, and the change that ticks one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from commonplace.domain.documents import Document
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.markdown.structure import scan

_TASK = re.compile(rb"(?m)^[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[([ xX])\][ \t]+(.*?)[ \t]*\r?$")


@dataclass(frozen=True, slots=True)
class TaskItem:
    """One task."""

    at: int
    """Byte offset of the mark between the brackets."""
    text: str
    """The text of its first line, with single blanks."""
    done: bool


def tasks_of(document: Document) -> list[TaskItem]:
    """The tasks of a document in order. What looks like one in code and HTML is none.

    Raises:
        InvalidInputError: the document is not UTF-8.
    """
    if not document.decodable:
        raise InvalidInputError("The page is not UTF-8 and is never changed.", kind="document")
    base = document.body_start
    # The parser reports the mark of each task, and code as a whole.
    marks = set(scan(document.raw[base:].decode()).opaque)
    return [
        TaskItem(match.start(1), " ".join(match[2].decode().split()), match[1] != b" ")
        for match in _TASK.finditer(document.raw, base)
        if (match.start(1) - 1 - base, match.end(1) + 1 - base) in marks
    ]


def with_task(document: Document, task: TaskItem, *, done: bool) -> bytes:
    """The new bytes of a document with a task ticked or not. Nothing changes if it is so already."""
    if task.done == done:
        return document.raw
    mark = b"x" if done else b" "
    return document.raw[: task.at] + mark + document.raw[task.at + 1 :]
