"""Named changes of one page. Each replaces only the bytes that it names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from commonplace.domain import edits
from commonplace.domain.activity import moment_of_write
from commonplace.domain.appends import append_text, own_range, text_end
from commonplace.domain.document_reader import find_fragment, find_section, read_again
from commonplace.domain.documents import Document, Section
from commonplace.domain.edits import with_unix_line_ends
from commonplace.domain.errors import InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.frontmatter import set_fields
from commonplace.domain.json import Json
from commonplace.domain.status import reviewed_fields
from commonplace.domain.tasks import TaskItem, tasks_of, with_task
from commonplace.toolsets.notes.rules.change_kinds import ChangeKind
from commonplace.toolsets.notes.rules.replaced_texts import (
    require_markdown,
    source_texts,
    superseded_page,
    superseded_passage,
    superseded_section,
    with_references,
    with_sources,
)

MAX_NEAREST_TASKS = 3
"""Maximum number of tasks that an error names."""
_ENDS_OWN_LINE = re.compile(r"[ \t>]*(?:\||`{3}|~{3}|\$\$)")
"""The last line of a table, a fenced block or a formula, whose block id stands below a blank line."""
_NO_FIELDS: Mapping[str, Json] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PageChange:
    """One named change. `kind` determines which values count."""

    kind: ChangeKind
    section: str = ""
    """Heading, heading path (`Setup > Linux`) or anchor; "" for the whole page.

    Kinds `section`, `append` and `insert` change this section. Kinds `replace` and `task` search in this section.
    """
    text: str = ""
    old: str = ""
    """Text that kind `replace` replaces; it must occur exactly once."""
    block: str = ""
    """Block id that kind `block` replaces, with or without `^`."""
    fields: Mapping[str, Json] = field(default_factory=lambda: _NO_FIELDS)
    """New values by key for kind `fields`; None removes a key."""
    task: str = ""
    """Text of the task that kind `task` changes, or a part of the text that no other task contains."""
    done: bool = True
    """Whether kind `task` ticks the task or unticks it."""
    by: str = ""
    """Place that replaces what kind `supersede` names, or who made the review of kind `reviewed`."""
    reason: str = ""
    """Reason of kind `supersede`."""
    sources: tuple[str, ...] = ()
    """Sources of the new text, which the page gets in its own style."""


def apply_changes(document: Document, changes: Sequence[PageChange]) -> bytes:
    """Return the page's bytes after all changes, each applied to the result of the previous one.

    Raises:
        KnowledgeError: a change cannot be applied; the message names its number and kind.
    """
    for number, change in enumerate(changes, 1):
        try:
            raw = _with_sources(document, change)
        except KnowledgeError as error:
            raise numbered(error, f"Change {number} of {len(changes)} ({change.kind})") from error
        document = read_again(document, raw)
    return document.raw


def _with_sources(document: Document, change: PageChange) -> bytes:
    """The page after a change, with the sources of the new text."""
    if not change.sources:
        return _CHANGES[change.kind](document, change)
    require_markdown(document, "sources")
    texts = source_texts(change.sources, document.address.folder)
    text, labels = with_references(document, change.text, texts)
    return with_sources(_CHANGES[change.kind](document, replace(change, text=text)), document, texts, labels)


def numbered(error: KnowledgeError, what: str) -> KnowledgeError:
    """A copy of the error whose message begins with the step that failed."""
    same = type(error)(f"{what}: {error}", kind=error.kind, hint=error.hint, **error.context)
    if hasattr(error, "changes"):
        same.changes = error.changes  # type: ignore[attr-defined]
    return same


def is_appended(document: Document, change: PageChange) -> bool:
    """Whether the text of an `append` is already the end of its section, as after a repeated call."""
    start, end = own_range(document, _section_to_append(document, change))
    texts = source_texts(change.sources, document.address.folder)
    lines = _lines(with_references(document, change.text, texts)[0])
    have = _lines(document.raw[start : text_end(document, start, end, change.text)].decode("utf-8", "replace"))
    return bool(lines) and have[-len(lines) :] == lines


def changes_again(document: Document, changes: Sequence[PageChange]) -> bool:
    """Whether any of these changes, which were applied to the page before, would change it once more."""
    for change in changes:
        with suppress(KnowledgeError):
            if _CHANGES[change.kind](document, change) != document.raw:
                return True
    return False


def is_whole(change: PageChange) -> bool:
    """Whether a change replaces the whole body, and so text that it does not name."""
    return change.kind == "section" and not change.section


def section_of(document: Document, name: str) -> Section:
    """The section that a heading, a heading path or an anchor names.

    Raises:
        NotFoundError, InvalidInputError: kind "section"; context holds `nearest`.
    """
    return find_section(document, [part.strip() for part in name.split(" > ")])


def _section(document: Document, change: PageChange) -> bytes:
    if not change.section:
        return edits.replace_body(document, change.text)
    return edits.replace_section(document, section_of(document, change.section), change.text)


def _append(document: Document, change: PageChange) -> bytes:
    return append_text(document, _section_to_append(document, change), change.text)


def _section_to_append(document: Document, change: PageChange) -> Section | None:
    try:
        return _named_section(document, change)
    except NotFoundError as error:
        error.hint = "Give a heading of it. A new section: append without section, its heading first in text."
        raise


def _insert(document: Document, change: PageChange) -> bytes:
    section = _named_section(document, change)
    start = section.content if section else document.body_start
    end = (section.tree_end if section.level else section.end) if section else len(document.raw)
    return edits.insert_text(document, text_end(document, start, end, change.text), change.text)


def _replace(document: Document, change: PageChange) -> bytes:
    if not change.section:
        return edits.replace_once(document, change.old, change.text)
    section = section_of(document, change.section)
    start, end = section.start, section.tree_end if section.level else section.end
    return edits.replace_once(document, change.old, change.text, within=(start, end))


def _fields(document: Document, change: PageChange) -> bytes:
    if not change.fields:
        raise InvalidInputError(
            "There are no fields to set.", kind="frontmatter", hint="Give fields, null removes one."
        )
    return set_fields(document, change.fields)


def _block(document: Document, change: PageChange) -> bytes:
    mark = f"^{change.block.lstrip('#').lstrip('^')}"
    if mark == "^":
        raise InvalidInputError("There is no block id.", kind="block", hint='Give block, such as "^summary".')
    start, end, section = find_fragment(document, mark)
    if section is not None:
        raise InvalidInputError(
            f"The block id {mark} marks a heading.",
            kind="block",
            hint=f'Change its section: do "section", section "#{section.anchor}".',
        )
    text = change.text.rstrip()
    if mark.lower() not in text.lower().split():
        text += _before_mark(document.raw[start:end], mark, text) + mark
    return edits.replace_range(document, start, end, text)


def _before_mark(old: bytes, mark: str, text: str) -> str:
    """The blanks or line ends between a block and its id: as they were, but a table or fence has its id below it."""
    before = with_unix_line_ends(old.decode("utf-8", "replace")).rstrip()[: -len(mark)]
    blanks = before[len(before.rstrip()) :]
    return "\n\n" if "\n\n" not in blanks and _ENDS_OWN_LINE.match(text.rpartition("\n")[2]) else blanks


def _task(document: Document, change: PageChange) -> bytes:
    tasks = tasks_of(document)
    if change.section:
        section = section_of(document, change.section)
        end = section.tree_end if section.level else section.end
        tasks = [task for task in tasks if section.start <= task.at < end]
    target = " ".join(change.task.split())
    found_tasks = [task for task in tasks if task.text == target] or [
        task for task in tasks if target and target in task.text
    ]
    if len(found_tasks) > 1 and len({found_task.text for found_task in found_tasks}) == 1:
        found_tasks = _of_equal(document, found_tasks, change)
    if len(found_tasks) != 1:
        names = [found_task.text for found_task in found_tasks or tasks]
        near = names[:MAX_NEAREST_TASKS] if found_tasks else get_close_matches(target, names, MAX_NEAREST_TASKS, 0.4)
        problem = f"{len(found_tasks)} tasks hold" if found_tasks else "No task holds"
        raise NotFoundError(
            f"{problem} the text {target[:80]!r}.",
            kind="task",
            hint="Give the whole text of one task.",
            nearest=near,
        )
    return with_task(document, found_tasks[0], done=change.done)


def _of_equal(document: Document, found_tasks: Sequence[TaskItem], change: PageChange) -> Sequence[TaskItem]:
    """One of several tasks with the same text and heading: the first that the change would change.

    Raises:
        NotFoundError: kind "task": the tasks are below different headings.
    """
    headings = {_heading_above(document, found_task.at) for found_task in found_tasks}
    if len(headings) > 1:
        raise NotFoundError(
            f"{len(found_tasks)} tasks have the text {found_tasks[0].text[:80]!r}.",
            kind="task",
            hint=f"Give section, one of: {', '.join(sorted(headings))}.",
        )
    return [next((found_task for found_task in found_tasks if found_task.done != change.done), found_tasks[0])]


def _heading_above(document: Document, at: int) -> str:
    """The headings above a byte offset, as an argument `section` names them; "" above the first."""
    above = [section for section in document.sections if section.level and section.start <= at]
    return " > ".join(above[-1].path) if above else ""


def _supersede(document: Document, change: PageChange) -> bytes:
    section = _named_section(document, change)
    if change.old:
        return superseded_passage(document, change.old, change.text, section, change.by, change.reason)
    if section is None:
        _require_page(change)
        return superseded_page(document, change.by, change.reason)
    require_markdown(document, "a history")
    return superseded_section(document, section, change.text, change.by, change.reason)


def _require_page(change: PageChange) -> None:
    """Raise if a change that supersedes a page names a part of it, or has a text.

    Raises:
        InvalidInputError: kind "argument".
    """
    if change.text.strip() or change.block.startswith("^"):
        named = "'text'" if change.text.strip() else f"the block {change.block}"
        raise InvalidInputError(
            f"A page is superseded by another page, so {named} would be ignored.",
            kind="argument",
            hint="Give section or old with the new text, or by alone for the whole page.",
        )


def _reviewed(document: Document, change: PageChange) -> bytes:
    until = change.fields.get("review_by", "")
    today = moment_of_write().date().isoformat()
    return set_fields(document, reviewed_fields(document.frontmatter.values, today, change.by, str(until)))


def _named_section(document: Document, change: PageChange) -> Section | None:
    return section_of(document, change.section) if change.section else None


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


_CHANGES: Mapping[ChangeKind, Callable[[Document, PageChange], bytes]] = {
    "section": _section,
    "append": _append,
    "insert": _insert,
    "replace": _replace,
    "fields": _fields,
    "block": _block,
    "task": _task,
    "supersede": _supersede,
    "reviewed": _reviewed,
}
