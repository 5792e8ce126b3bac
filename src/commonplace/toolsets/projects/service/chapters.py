"""Chapters of a knowledge document: list, read in sequence, and change one at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.ports import Transaction
from commonplace.toolsets.projects.rules import chapters as rules
from commonplace.toolsets.projects.rules import limits
from commonplace.toolsets.projects.rules.chapters import Chapter, EditedDocument, now_text, with_updated
from commonplace.toolsets.projects.rules.instructions import check_reference
from commonplace.toolsets.projects.service.instructions import AT_END, InsertPosition
from commonplace.toolsets.projects.service.knowledge import get_document, locate
from commonplace.toolsets.projects.service.project_store import ProjectStore


@dataclass(frozen=True, slots=True)
class ChapterResult:
    """A chapter and the document's number of chapters; the chapter is None after the last one."""

    chapter: Chapter | None
    total: int
    warning: str = ""
    """Warning about chapters that an unclosed code fence hides; "" for none."""


@dataclass(frozen=True, slots=True)
class ChapterReference:
    """A reference to a chapter: by title, or by index from 0."""

    title: str | None = None
    index: int | None = None


def list_chapters(projects: ProjectStore, project_id: str, filename: str) -> tuple[str, list[Chapter], str]:
    """Return the document's stored name, its chapters of levels 2 to 4 in order, and the warning of `ChapterResult`.

    Raises:
        NotFoundError: kind "project" or "document": there is no such project or document.
    """
    document = get_document(projects, project_id, filename)
    return document.address.name, rules.read_chapters(document), rules.unclosed_warning(document)


def get_chapter(projects: ProjectStore, project_id: str, filename: str, which: ChapterReference) -> ChapterResult:
    """Return one chapter.

    Raises:
        NotFoundError: kind "project", "document" or "chapter": there is no such project, document or chapter.
        InvalidInputError: kind "chapter": neither title nor index is given.
    """
    document = get_document(projects, project_id, filename)
    return ChapterResult(_found(document, which), len(rules.read_chapters(document)), rules.unclosed_warning(document))


def get_next_chapter(
    projects: ProjectStore, project_id: str, filename: str, current: ChapterReference
) -> ChapterResult:
    """Return the chapter after the current one. Raises the same errors as `get_chapter`."""
    document = get_document(projects, project_id, filename)
    chapters = rules.read_chapters(document)
    index = _found(document, current).index + 1
    following = chapters[index] if index < len(chapters) else None
    return ChapterResult(following, len(chapters), rules.unclosed_warning(document))


def update_chapter(
    projects: ProjectStore, where: tuple[str, str], title: str, content: str, summary: str | None
) -> tuple[str, ...]:
    """Replace a chapter's text. Returns the titles of its subchapters, which are replaced, too.

    Args:
        projects: The store of projects.
        where: Project id and file name.
        title: Title of the chapter.
        content: The new text.
        summary: The first paragraph of the new text; None to leave the text unchanged.

    Raises:
        NotFoundError: kind "project", "document" or "chapter": there is no such project, document or chapter.
        InvalidInputError: kind "content": the text would hide the chapters after it.
    """
    limits.check_title("Chapter title", title, is_new=False)
    limits.check_chapter(content)
    first = limits.check_summary(summary) if summary is not None else ""
    return _change(
        projects,
        where,
        f"Updated chapter '{title.strip()}' in",
        lambda d: rules.replace_chapter(d, title, content, first),
    )


def add_chapter(
    projects: ProjectStore, where: tuple[str, str], title: str, content: str, place: InsertPosition = AT_END
) -> None:
    """Add a chapter.

    Raises:
        AlreadyExistsError: kind "chapter": the title is taken.
        NotFoundError, InvalidInputError: as from `update_chapter`, also for an unknown reference.
    """
    heading = limits.check_title("Chapter title", title)
    limits.check_chapter(content)
    check_reference(place.position, place.reference, "Reference chapter")
    _change(
        projects,
        where,
        f"Added chapter '{heading}' to",
        lambda document: EditedDocument(rules.add_chapter(document, heading, content, place.position, place.reference)),
    )


def remove_chapter(projects: ProjectStore, where: tuple[str, str], title: str) -> tuple[str, ...]:
    """Remove a chapter with its subchapters; return their titles. Raises the same errors as `update_chapter`."""
    limits.check_title("Chapter title", title, is_new=False)
    return _change(
        projects,
        where,
        f"Removed chapter '{title.strip()}' from",
        lambda document: rules.remove_chapter(document, title),
    )


def _change(
    projects: ProjectStore, where: tuple[str, str], doing: str, edit: Callable[[Document], EditedDocument]
) -> tuple[str, ...]:
    project_id, filename = where
    name = get_document(projects, project_id, filename).address.name

    def act(transaction: Transaction) -> tuple[str, ...]:
        address = locate(projects.folder_for_writing(transaction, project_id), name, transaction.exists)
        document = read_document(address, transaction.read(address))
        edited = edit(document)
        transaction.put(address, with_updated(document, edited.raw, now_text()), keep=True)
        return edited.gone

    return projects.write(project_id, f"{doing} {name}", act)


def _found(document: Document, which: ChapterReference) -> Chapter:
    if which.title is not None:
        limits.check_title("Chapter title", which.title, is_new=False)
        return rules.find_chapter(document, which.title)
    if which.index is not None:
        return rules.chapter_at(document, which.index)
    raise InvalidInputError(
        "Chapter title or chapter index is required", kind="chapter", hint="Give one of them; see list_chapters."
    )
