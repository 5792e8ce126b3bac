"""A project's instructions (`main.md`): read, replace, and change by section."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from commonplace.domain.addresses import Address, parse_address
from commonplace.domain.changes import FileStat
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document
from commonplace.domain.errors import AlreadyExistsError, InvalidInputError, NotFoundError, StorageError
from commonplace.domain.ports import Transaction
from commonplace.domain.words.text_decoder import decoded
from commonplace.toolsets.projects.rules import instructions, limits
from commonplace.toolsets.projects.rules.chapters import EditedDocument, Position, iso_text, split_header
from commonplace.toolsets.projects.rules.limits import check_project_id
from commonplace.toolsets.projects.rules.registry import PROJECTS_KEY
from commonplace.toolsets.projects.service.knowledge import KNOWLEDGE
from commonplace.toolsets.projects.service.project_store import ProjectStore

INSTRUCTIONS_FILE = "main.md"


@dataclass(frozen=True, slots=True)
class Instructions:
    """A project's instructions. If there are none, `exists` is False and `content` is ""."""

    content: str
    exists: bool


@dataclass(frozen=True, slots=True)
class InsertPosition:
    """The position at which a section or chapter is inserted."""

    position: Position = "end"
    reference: str = ""
    """The section or chapter before or after which to insert."""


AT_END = InsertPosition()


def get_main(projects: ProjectStore, project_id: str) -> Instructions:
    """The instructions of a project; empty for an unknown project."""
    limits.check_project_id(project_id)
    try:
        raw = projects.store.read(parse_address(f"{projects.folder(project_id)}/{INSTRUCTIONS_FILE}"))
    except NotFoundError:
        return Instructions("", exists=False)
    return Instructions(decoded(raw), exists=True)


def update_main(projects: ProjectStore, project_id: str, content: str) -> None:
    """Replace the instructions; creates the project if needed."""
    limits.check_project_id(project_id)
    limits.check_main(content)

    def act(transaction: Transaction) -> None:
        folder = projects.folder_for_writing(transaction, project_id, create=True)
        transaction.put(parse_address(f"{folder}/{INSTRUCTIONS_FILE}"), content.encode(), keep=True)

    projects.write(project_id, f"Updated {INSTRUCTIONS_FILE}", act)


def import_main(projects: ProjectStore, project_id: str, texts: Sequence[tuple[str, str]], *, replace: bool) -> None:
    """Import existing instruction files, concatenated in order.

    Args:
        projects: The store of projects.
        project_id: The project's id; it is created if needed.
        texts: Name and text of each file.
        replace: Whether to replace existing instructions.

    Raises:
        AlreadyExistsError: kind "document": instructions exist, and `replace` is false.
    """
    limits.check_project_id(project_id)
    content = "\n\n".join(text.replace("\r\n", "\n").strip("\n") for _, text in texts) + "\n"
    limits.check_main(content)

    def act(transaction: Transaction) -> None:
        folder = projects.folder_for_writing(transaction, project_id, create=True)
        address = parse_address(f"{folder}/{INSTRUCTIONS_FILE}")
        if not replace and transaction.exists(address) and transaction.read(address).strip():
            raise AlreadyExistsError(
                f"Project '{project_id}' already has instructions",
                kind="document",
                hint="Pass --force to replace them; a commit or, for 30 days, the trash keeps the old ones.",
            )
        transaction.put(address, content.encode(), keep=True)

    projects.write(project_id, f"Imported {', '.join(name for name, _ in texts)} as {INSTRUCTIONS_FILE}", act)


def update_section(projects: ProjectStore, project_id: str, header: str, content: str) -> tuple[str, ...]:
    """Replace a section's text. Returns the titles of its subsections, which are replaced, too.

    Raises:
        NotFoundError: kind "project" or "section": there is no such project or section.
    """
    limits.check_section(content)
    return _change(
        projects, project_id, "Updated", header, lambda document: instructions.update_section(document, header, content)
    )


def add_section(
    projects: ProjectStore, project_id: str, header: str, content: str, place: InsertPosition = AT_END
) -> None:
    """Add a section.

    Raises:
        NotFoundError: kind "project", or "section" for an unknown reference.
        AlreadyExistsError: kind "section": the section exists.
    """
    limits.check_section(content)
    instructions.check_reference(place.position, place.reference, "Reference header")
    _change(
        projects,
        project_id,
        "Added",
        header,
        lambda document: EditedDocument(
            instructions.add_section(document, header, content, place.position, place.reference)
        ),
    )


def remove_section(projects: ProjectStore, project_id: str, header: str) -> tuple[str, ...]:
    """Remove a section with its subsections; return their titles.

    Raises:
        NotFoundError: kind "project" or "section": there is no such project or section.
    """
    return _change(
        projects, project_id, "Removed", header, lambda document: instructions.remove_section(document, header)
    )


def _change(
    projects: ProjectStore, project_id: str, verb: str, header: str, edit: Callable[[Document], EditedDocument]
) -> tuple[str, ...]:
    limits.check_project_id(project_id)
    instructions.check_header(header)

    def act(transaction: Transaction) -> tuple[str, ...]:
        address = parse_address(f"{projects.folder_for_writing(transaction, project_id)}/{INSTRUCTIONS_FILE}")
        edited = edit(_read(transaction, address))
        transaction.put(address, edited.raw, keep=True)
        return edited.gone

    return projects.write(project_id, f"{verb} section '{split_header(header)[1]}' in {INSTRUCTIONS_FILE}", act)


def _read(transaction: Transaction, address: Address) -> Document:
    """The current instructions; empty if the project has none."""
    raw = transaction.read(address) if transaction.exists(address) else b""
    return read_document(address, raw)


# The list of all projects, and their deletion.


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Project:
    """An entry in the list of projects."""

    id: str
    main: FileStat | None
    """Stat data of the instructions; None if there are none."""
    documents: int
    updated: str
    """Time of the last write to one of the project's files, ISO 8601; "" if there are no files."""


def list_projects(projects: ProjectStore) -> list[Project]:
    """Every project, sorted by id. A project whose folder is missing or cannot be served is listed without files."""
    found_projects: list[Project] = []
    for project_id, folder in sorted(projects.registry().folders.items()):
        try:
            main = projects.store.stat(parse_address(f"{PROJECTS_KEY}/{folder}/{INSTRUCTIONS_FILE}"))
            stats = list(projects.folders.documents(f"{PROJECTS_KEY}/{folder}/{KNOWLEDGE}").values())
        except (InvalidInputError, StorageError) as error:
            log.warning("The folder of project %s is not listed: %s", project_id, error)
            main, stats = None, []
        newest = max((stat.mtime_ns for stat in [*stats, *([main] if main else [])]), default=0)
        updated = iso_text(datetime.fromtimestamp(newest / 1e9, UTC)) if newest else ""
        found_projects.append(Project(project_id, main, len(stats), updated))
    return found_projects


def delete_project(projects: ProjectStore, project_id: str) -> None:
    """Delete a project with all its files.

    Raises:
        NotFoundError: kind "project": there is no such project.
    """
    check_project_id(project_id)

    def act(transaction: Transaction) -> None:
        projects.remove(transaction, project_id)

    projects.write(project_id, "Deleted project", act)
