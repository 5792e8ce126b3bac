"""Folders of projects in `index.json`, and names of files. Ids are stored verbatim; unknown keys are preserved."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import cast

from commonplace.domain import slugs
from commonplace.domain.addresses import MAX_COMPONENT_BYTES
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import Json

INDEX_FILE = "index.json"
PROJECTS_KEY = "projects"
IGNORE_FILE = ".gitignore"
ACTIVITY_FILE = "activity.log"
"""The log of calls; never committed."""
_TODO_INDEX = re.compile(rf"{PROJECTS_KEY}/[^/]+/TODO/[^/]+/{re.escape(INDEX_FILE)}")
_FOLDER = re.compile(r"[^/\\\x00-\x1f.\s][^/\\\x00-\x1f]*")


@dataclass(frozen=True, slots=True)
class Registry:
    """The projects by id, in file order."""

    folders: Mapping[str, str]
    others: Mapping[str, Json]
    """Unknown keys of the file."""

    def with_project(self, project_id: str, folder: str) -> Registry:
        """The registry with one more project."""
        return Registry({**self.folders, project_id: folder}, self.others)

    def without(self, project_id: str) -> Registry:
        """The registry without a project."""
        return Registry({key: value for key, value in self.folders.items() if key != project_id}, self.others)

    @property
    def content(self) -> bytes:
        """The file's bytes."""
        shown = {**self.others, PROJECTS_KEY: dict(self.folders)}
        return (json.dumps(shown, ensure_ascii=False, indent=2) + "\n").encode()


EMPTY_REGISTRY = Registry({}, {})


def is_stored(path: str) -> bool:
    """Whether a file is always committed: the index of the store, and the files of projects.

    Args:
        path: Path from the root of the store, with `/`.
    """
    if path == INDEX_FILE:
        return True
    return is_in_project(path) and (path.endswith(".md") or _TODO_INDEX.fullmatch(path) is not None)


def is_in_project(path: str) -> bool:
    """Whether a file is in a project's folder, and neither the file nor a folder above it is hidden."""
    first, *parts = path.split("/")
    return first == PROJECTS_KEY and not any(part.startswith(".") for part in parts)


def ignores_log(ignore_file: bytes) -> bool:
    """Whether an ignore file excludes the log of calls, as every store's ignore file does."""
    return any(line.strip().lstrip(b"/") == ACTIVITY_FILE.encode() for line in ignore_file.splitlines())


def read_registry(raw: bytes) -> Registry | None:
    """Parse the file; None if it is damaged."""
    try:
        value = cast("object", json.loads(raw.decode("utf-8-sig")))
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    content = cast("dict[str, Json]", value)
    projects = content.get(PROJECTS_KEY)
    if not isinstance(projects, dict) or not all(_is_folder(folder) for folder in projects.values()):
        return None
    folders = {key: str(folder) for key, folder in projects.items()}
    return Registry(folders, {key: element for key, element in content.items() if key != PROJECTS_KEY})


def merge_registries(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """The projects of both sides; None if one id or folder is used for different projects, or a side is damaged."""
    before, mine, other = read_registry(base) or EMPTY_REGISTRY, read_registry(ours), read_registry(theirs)
    if mine is None or other is None:
        return None
    merged = dict(mine.folders)
    for project_id in {**before.folders, **other.folders}:
        was, now = before.folders.get(project_id), other.folders.get(project_id)
        if was == now:
            continue
        if mine.folders.get(project_id) not in {was, now}:
            return None
        if now is None:
            merged.pop(project_id, None)
        else:
            merged[project_id] = now
    if len(set(merged.values())) < len(merged):
        return None
    return Registry(merged, {**other.others, **mine.others}).content


def _is_folder(value: Json) -> bool:
    return isinstance(value, str) and _FOLDER.fullmatch(value) is not None


# Names of files and folders from titles and ids.


DOCUMENT_SUFFIX = ".md"
_MAX_SLUG_BYTES = MAX_COMPONENT_BYTES - len(DOCUMENT_SUFFIX)
_MAX_TASK_SLUG_BYTES = 100
_HASH_DIGITS = 8

_WORDS = str.maketrans({"&": "and", "$": "dollar", "+": "plus", "#": "sharp"})
_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "þ": "th", "ħ": "h", "\u0131": "i"}
)
_BLANKS = re.compile(r"[\s\-]+")


def file_slug(filename: str) -> str:
    """The file name of a new document: `User's Guide & FAQ` becomes `users-guide-and-faq.md`."""
    stem = filename.strip()
    if stem.lower().endswith(DOCUMENT_SUFFIX):
        stem = stem[: -len(DOCUMENT_SUFFIX)]
    return ascii_slug(stem) + DOCUMENT_SUFFIX


def folder_slug(project_id: str, taken: Callable[[str], bool]) -> str:
    """The folder name of a new project: its slug; if that is taken, with the first free number."""
    base = ascii_slug(project_id)
    if not taken(base):
        return base
    number = 2
    while taken(f"{base[: _MAX_SLUG_BYTES // 4]}-{number}"):
        number += 1
    return f"{base[: _MAX_SLUG_BYTES // 4]}-{number}"


def task_slug(title: str) -> str:
    """The slug of a task's title in its file name."""
    return ascii_slug(title, _MAX_TASK_SLUG_BYTES)


def ascii_slug(text: str, most: int = _MAX_SLUG_BYTES) -> str:
    """A slug: lower case, Latin accents removed, named signs spelled out, other marks dropped, blanks as `-`.

    Letters of other scripts stay. A text of symbols only gets their Unicode names. A text of punctuation only gets a
    name
    from its hash. A name that is too long is truncated and ends with that hash.

    Args:
        text: The text, not empty.
        most: Maximum length in bytes of UTF-8.
    """
    plain = unicodedata.normalize("NFC", text).lower().translate(_WORDS)
    kept_text = "".join(_latin(character) for character in plain)
    result = _BLANKS.sub("-", "".join(filter(_is_kept, unicodedata.normalize("NFC", kept_text)))).strip("-")
    if not any(character.isalnum() for character in result):
        result = _named(text)
    if len(result.encode()) <= most:
        return result
    cut = result.encode()[: most - _HASH_DIGITS - 1].decode("utf-8", "ignore").rstrip("-")
    return f"{cut}-{_hash(text)}"


def _latin(character: str) -> str:
    """A Latin letter without accents; "" for a combining accent; any other character unchanged."""
    if character.isascii():
        return character
    if character in "\u0300\u0301\u0302\u0303\u0308\u030a\u0327\u0328\u030c":
        return ""
    decomposed = unicodedata.normalize("NFKD", character.translate(_LETTERS))
    bare = "".join(c for c in decomposed if not unicodedata.combining(c))
    return bare.lower() if bare.isascii() and bare.isalnum() else character


def _is_kept(character: str) -> bool:
    return character in " -" or character.isspace() or unicodedata.category(character)[0] in "LMN"


def _named(text: str) -> str:
    try:
        return slugs.slug(text)
    except InvalidInputError:
        return f"x{_hash(text)}"


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:_HASH_DIGITS]
