"""Limits of arguments. Every check's error names the argument."""

from __future__ import annotations

import re
from collections.abc import Sequence

from commonplace.domain.addresses import visible_form
from commonplace.domain.errors import InvalidInputError, TooLargeError

KIB, MIB = 1024, 1024 * 1024
MAX_PROJECT_ID = 100
MAX_FILENAME = 255
MAX_MAIN_BYTES = 10 * MIB
MAX_CHAPTER_BYTES = MIB
MAX_TASK_BYTES = 100 * KIB
MAX_TITLE = 200
MAX_INTRODUCTION = 2000
MAX_KEYWORD = 50
MAX_CHAPTERS = 50
"""Maximum number of chapters at creation; later additions are not limited."""
MAX_QUERY = 200
MAX_QUERY_WORDS = 20
MAX_SUMMARY = 500
MAX_TODO_DESCRIPTION = 500
MAX_REPEATED = 60
"""Maximum length in characters of an invalid name that an error repeats."""

_NOT_IN_IDS = re.compile(r'[/\\:*?"<>|\x00-\x1f\x7f\u0085\u2028\u2029]')
_NOT_IN_FILENAMES = re.compile(r"[/\\\x00-\x1f\x7f\u0085\u2028\u2029]")
_NOT_IN_LINES = re.compile(r"[\x00-\x1f\x7f\u0085\u2028\u2029]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def check_project_id(project_id: str) -> str:
    """Check a project id and return it.

    Raises:
        InvalidInputError: kind "project_id": empty, longer than 100 characters, with `..`, with a character that folder
            names may not contain, or with blanks or dots at its ends.
    """
    _length("Project ID", project_id, MAX_PROJECT_ID, "project_id")
    if ".." in project_id:
        raise _invalid("Project ID cannot contain '..'", "project_id", project_id)
    if _NOT_IN_IDS.search(project_id):
        raise _invalid('Project ID cannot contain / \\ : * ? " < > | or control characters', "project_id", project_id)
    if project_id != project_id.strip() or project_id != project_id.strip("."):
        raise _invalid("Project ID cannot begin or end with a blank or a dot", "project_id", project_id)
    return project_id


def check_filename(filename: str) -> str:
    """Check a document's file name and return it.

    Raises:
        InvalidInputError: kind "filename": empty, longer than 255 characters, or with a slash, a backslash, `..` or a
            control character.
    """
    _length("Filename", filename, MAX_FILENAME, "filename")
    if not filename.strip():
        raise _invalid("Filename cannot be empty", "filename")
    if ".." in filename or _NOT_IN_FILENAMES.search(filename):
        raise _invalid("Filename cannot contain '/', '\\', '..' or control characters", "filename", filename)
    return filename


def check_main(content: str) -> str:
    """Check the text of a project's instructions: 0 to 10 MB."""
    return _body("Content", content, MAX_MAIN_BYTES)


def check_chapter(content: str) -> str:
    """Check the text of a chapter: one character to 1 MB."""
    if not content.strip():
        raise _invalid("Chapter content cannot be empty", "content")
    return _body("Chapter content", content, MAX_CHAPTER_BYTES)


def check_section(content: str) -> str:
    """Check the text of a section of the instructions: 0 to 10 MB."""
    return _body("Section content", content, MAX_MAIN_BYTES)


def check_task(content: str) -> str:
    """Check the text of a task: 0 to 100 KB."""
    return _body("Task content", content, MAX_TASK_BYTES)


def check_title(name: str, title: str, *, is_new: bool = True) -> str:
    """Check a one-line title and return it stripped.

    Args:
        name: Name of the argument in errors, such as "Chapter title".
        title: The title.
        is_new: Whether the title is given to something new and must therefore be visible.
    """
    _length(name, title, MAX_TITLE, "title")
    if not title.strip():
        raise _invalid(f"{name} cannot be empty", "title")
    if is_new and not visible_form(title):
        raise _invalid(f"{name} has no visible character", "title")
    if _NOT_IN_LINES.search(title.strip()):
        raise _invalid(f"{name} must be one line without control characters", "title")
    return title.strip()


def check_introduction(introduction: str) -> str:
    """Check a document's introduction: 0 to 2,000 characters."""
    _length("Introduction", introduction, MAX_INTRODUCTION, "introduction", least=0)
    return introduction


def check_keywords(keywords: Sequence[str]) -> list[str]:
    """Check keywords: at least one, each of 1 to 50 characters."""
    if not keywords:
        raise _invalid("Keywords cannot be empty: give at least one", "keywords")
    for keyword in keywords:
        _length("Keyword", keyword, MAX_KEYWORD, "keywords")
        if not keyword.strip() or _NOT_IN_LINES.search(keyword):
            raise _invalid("Keyword cannot be empty or have line breaks", "keywords")
    return [keyword.strip() for keyword in keywords]


def check_chapter_count(count: int) -> None:
    """Check the number of chapters at creation: at most 50."""
    if count > MAX_CHAPTERS:
        raise TooLargeError(
            f"Chapters cannot be more than {MAX_CHAPTERS} at creation; got {count}",
            kind="chapters",
            hint="Create the document with fewer and add the others with add_chapter.",
        )


def check_query(query: str) -> list[str]:
    """The distinct words of a query of 1 to 200 characters and at most 20 words, in order."""
    _length("Search query", query, MAX_QUERY, "query")
    words = list(dict.fromkeys(query.split()))
    if not words:
        raise _invalid("Search query cannot be empty", "query")
    if len(query.split()) > MAX_QUERY_WORDS:
        raise _invalid(f"Search query cannot have more than {MAX_QUERY_WORDS} words; got {len(query.split())}", "query")
    return words


def check_summary(summary: str) -> str:
    """Check a chapter's summary of 1 to 500 characters and return it as one paragraph."""
    _length("Summary", summary, MAX_SUMMARY, "summary")
    if not summary.strip():
        raise _invalid("Summary cannot be empty", "summary")
    return " ".join(summary.split())


def check_description(description: str) -> str:
    """Check the description of a to-do list: 1 to 500 characters."""
    _length("Description", description, MAX_TODO_DESCRIPTION, "description")
    if not description.strip():
        raise _invalid("Description cannot be empty", "description")
    return description


def check_text(name: str, kind: str, text: str) -> None:
    """Reject a text with a lone surrogate, which cannot be encoded."""
    if _SURROGATE.search(text):
        raise _invalid(f"{name} contains a lone surrogate, which is not valid text", kind)


def _length(name: str, text: str, most: int, kind: str, least: int = 1) -> None:
    if len(text) < least:
        raise _invalid(f"{name} cannot be empty", kind)
    if len(text) > most:
        raise _invalid(f"{name} cannot be longer than {most:,} characters; got {len(text):,}", kind)


def _body(name: str, text: str, most: int) -> str:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > most:
        raise TooLargeError(f"{name} cannot be larger than {most:,} bytes; got {size:,}", kind="content")
    return text


def _invalid(message: str, kind: str, value: str = "") -> InvalidInputError:
    """The error of an argument; a short name is repeated."""
    got = f"; got {value!r}" if value and len(value) <= MAX_REPEATED else ""
    return InvalidInputError(f"{message}{got}", kind=kind, hint="Correct the argument and call again.")
