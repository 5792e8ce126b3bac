"""Knowledge documents: create, read, search, list and delete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from commonplace.domain.addresses import Address, fold, parse_address
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document
from commonplace.domain.errors import AlreadyExistsError, InvalidInputError, NotFoundError
from commonplace.domain.languages import STOP_WORDS, language_of
from commonplace.domain.ports import Transaction
from commonplace.toolsets.projects.rules import limits
from commonplace.toolsets.projects.rules.chapters import Metadata, metadata_of, new_document, now_text
from commonplace.toolsets.projects.rules.registry import DOCUMENT_SUFFIX, file_slug
from commonplace.toolsets.projects.rules.search import Matches, find_documents
from commonplace.toolsets.projects.service.project_store import ProjectStore

KNOWLEDGE = "knowledge"
DEFAULT_SEARCH_LIMIT, MAX_SEARCH_LIMIT = 20, 100
"""Default and maximum number of results."""
_SENTENCE_MARKS = "?!.,;:"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDocument:
    """A document to create."""

    filename: str
    title: str
    introduction: str
    keywords: Sequence[str]
    chapters: Sequence[tuple[str, str]]
    """Title and text of each chapter."""


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """An entry in a project's list of documents."""

    filename: str
    metadata: Metadata


def create_document(projects: ProjectStore, project_id: str, new: NewDocument) -> str:
    """Create a document, and the project if it does not exist; return the stored name.

    Raises:
        InvalidInputError, TooLargeError: an argument exceeds its limit.
        AlreadyExistsError: kind "document": a document with the same stored name exists.
    """
    limits.check_project_id(project_id)
    name = file_slug(limits.check_filename(new.filename))
    chapters = [_checked_chapter(title, text) for title, text in new.chapters]
    limits.check_chapter_count(len(chapters))
    raw = new_document(
        limits.check_title("Title", new.title),
        limits.check_keywords(new.keywords),
        limits.check_introduction(new.introduction),
        chapters,
        now_text(),
    )

    def act(transaction: Transaction) -> None:
        folder = projects.folder_for_writing(transaction, project_id, create=True)
        address = parse_address(f"{folder}/{KNOWLEDGE}/{name}")
        if transaction.exists(address):
            raise AlreadyExistsError(
                f"File '{name}' already exists",
                kind="document",
                hint="Choose another filename, or change its chapters.",
            )
        transaction.put(address, raw)

    projects.write(project_id, f"Created {name}", act)
    return name


def get_document(projects: ProjectStore, project_id: str, filename: str) -> Document:
    """Return a document by its stored name, or by the name with which it was created.

    Raises:
        NotFoundError: kind "project" or "document": there is no such project or document.
    """
    limits.check_project_id(project_id)
    limits.check_filename(filename)
    address = locate(projects.folder(project_id), filename, lambda element: projects.store.stat(element) is not None)
    try:
        return read_document(address, projects.store.read(address))
    except NotFoundError as error:
        raise _unknown(filename) from error


def delete_document(projects: ProjectStore, project_id: str, filename: str) -> str:
    """Delete a document; return its stored name.

    Raises:
        NotFoundError: kind "project" or "document": there is no such project or document.
    """
    name = get_document(projects, project_id, filename).address.name

    def act(transaction: Transaction) -> None:
        transaction.remove(locate(projects.folder_for_writing(transaction, project_id), name, transaction.exists))

    projects.write(project_id, f"Deleted {name}", act)
    return name


def search_documents(projects: ProjectStore, project_id: str, query: str, limit: int = DEFAULT_SEARCH_LIMIT) -> Matches:
    """The documents of a project that contain any word of the query, best first. Stop words are ignored.

    Raises:
        InvalidInputError: kind "query": the query is empty or too long.
        NotFoundError: kind "project": there is no such project.
    """
    limits.check_project_id(project_id)
    words = _meaningful(limits.check_query(query))
    folder = f"{projects.folder(project_id)}/{KNOWLEDGE}"
    texts = projects.search_texts.texts(folder, projects.folders.documents(folder), projects.store.read)
    return find_documents(texts, words, limit)


def _meaningful(words: list[str]) -> list[str]:
    """The words without sentence marks at their ends and without stop words; all words if only stop words remain."""
    bare = list(dict.fromkeys(word.rstrip(_SENTENCE_MARKS) or word for word in words))
    folded = [fold(word) for word in bare]
    stops = STOP_WORDS[language_of(folded, lambda _: 0.0)]
    return [word for word, plain in zip(bare, folded, strict=True) if plain not in stops] or bare


def list_documents(projects: ProjectStore, project_id: str) -> list[ListedDocument]:
    """The documents of a project, sorted by name.

    Raises:
        NotFoundError: kind "project": there is no such project.
    """
    folder = f"{projects.folder(project_id)}/{KNOWLEDGE}"
    texts = projects.search_texts.texts(folder, projects.folders.documents(folder), projects.store.read)
    return sorted(
        (ListedDocument(text.filename, text.metadata) for text in texts.all), key=lambda document: document.filename
    )


def locate(folder: str, filename: str, exists: Callable[[Address], bool]) -> Address:
    """Return the address of an existing document.

    Args:
        folder: Folder of the project.
        filename: The stored name, with or without `.md`, or the name with which the document was created.
        exists: Returns whether a file exists.

    Raises:
        NotFoundError: kind "document": there is no such document.
    """
    for name in (filename, f"{filename}{DOCUMENT_SUFFIX}", file_slug(filename)):
        try:
            address = parse_address(f"{folder}/{KNOWLEDGE}/{name}")
        except InvalidInputError:
            continue
        if address.is_document and exists(address):
            return address
    raise _unknown(filename)


def metadata(document: Document) -> Metadata:
    """A document's metadata."""
    return metadata_of(document)


def _checked_chapter(title: str, text: str) -> tuple[str, str]:
    return limits.check_title("Chapter title", title), limits.check_chapter(text)


def _unknown(filename: str) -> NotFoundError:
    return NotFoundError(
        f"Document '{filename}' not found", kind="document", hint="List the documents to see which there are."
    )
