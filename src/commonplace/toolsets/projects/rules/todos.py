"""To-do lists: `TODO/<n>/index.json` describes a list, `TASK-001-<slug>.md` is one task."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import cast

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.frontmatter import set_fields
from commonplace.toolsets.projects.rules.chapters import first_paragraph, heading_line, title_of, with_updated
from commonplace.toolsets.projects.rules.registry import task_slug

LIST_FILE = "index.json"
_TASK_FILE = re.compile(r"TASK-(\d{1,9})(?:-.*)?\.md", re.DOTALL)
_DIGITS = 3


@dataclass(frozen=True, slots=True)
class TodoInfo:
    """The description of a list, and its creation time."""

    description: str
    created: str


@dataclass(frozen=True, slots=True)
class Task:
    """One task of a list."""

    number: int
    title: str
    content: str
    completed: bool
    address: Address


def list_bytes(description: str, now: str) -> bytes:
    """The `index.json` of a new list."""
    return (json.dumps({"created": now, "description": description}, ensure_ascii=False, indent=2) + "\n").encode()


def read_list(raw: bytes) -> TodoInfo:
    """Parse `index.json`; empty values if it is damaged."""
    try:
        value = cast("object", json.loads(raw.decode("utf-8-sig")))
    except (ValueError, RecursionError):
        return TodoInfo("", "")
    fields = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    return TodoInfo(str(fields.get("description") or ""), str(fields.get("created") or ""))


def task_number(name: str) -> int:
    """The number in a task's file name; 0 for any other file."""
    match = _TASK_FILE.fullmatch(name)
    return int(match[1]) if match else 0


def task_file(number: int, title: str) -> str:
    """The file name of a new task."""
    return f"TASK-{number:0{_DIGITS}}-{task_slug(title)}.md"


def task_bytes(title: str, content: str, now: str) -> bytes:
    """The file of a new task."""
    body = content.replace("\r\n", "\n").strip("\n")
    lines = f"\n{heading_line(1, title)}\n" + (f"\n{body}\n" if body else "")
    return set_fields(lines.encode(), {"completed": False, "created": now, "updated": now})


def read_task(address: Address, raw: bytes) -> Task:
    """Parse a task. Without a heading, its first paragraph or file name is the title."""
    document = read_document(address, raw)
    source = document.encoded
    body = source[document.body_start :]
    heading = next((section for section in document.sections if section.level), None)
    if heading and not source[document.body_start : heading.start].strip():
        title, body = title_of(document, heading), source[heading.content :]
    else:
        title = first_paragraph(body.decode("utf-8", "replace")) or address.stem
    content = body.decode("utf-8", "replace").replace("\r\n", "\n").strip("\n")
    return Task(task_number(address.name), title, content, _is_completed(document), address)


def completed_bytes(address: Address, raw: bytes, now: str) -> bytes:
    """The task's file with `completed` and `updated` set; unchanged if the task is already completed.

    Raises:
        InvalidInputError: kind "content": the frontmatter cannot be changed.
    """
    document = read_document(address, raw)
    if _is_completed(document):
        return raw
    try:
        changed = set_fields(raw, {"completed": True})
    except InvalidInputError as error:
        raise InvalidInputError(
            "The task's front matter cannot be changed: it is not valid YAML", kind="content", hint="Repair the file."
        ) from error
    return with_updated(read_document(address, changed), changed, now)


def _is_completed(document: Document) -> bool:
    value = document.frontmatter.values.get("completed")
    return isinstance(value, bool | int | str) and value in {True, "yes", "Yes"}
