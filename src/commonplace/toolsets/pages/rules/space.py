"""The space file of a synced folder: the space's key, the paths of its pages and its search settings."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

from commonplace.domain.addresses import Address
from commonplace.domain.errors import ConfigError, NotFoundError
from commonplace.domain.json import Json, JsonObject

SPACE_FILE = Address(".confluence.json")
"""The space file, in the root of the folder. The only hidden file that is read; it is never served."""
MAX_INDEX_NAME = 400
"""Maximum length of an index name in bytes."""

KEY_DIGEST_CHARS = 8

_INDEX_NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{MAX_INDEX_NAME}}}")
_NO_NAME = re.compile(r"[^a-z0-9_-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """A synced space."""

    key: str
    """Key of the space, such as `ENG`."""
    name: str
    """Name for people; the key if the file has no name."""
    paths: Mapping[str, str] = field(default_factory=dict[str, str])
    """Path by page id, as the last sync wrote it; not validated."""
    ids: Mapping[str, str] = field(default_factory=dict[str, str])
    """Page id by path, the inverse of `paths`."""
    search: JsonObject = field(default_factory=dict[str, Json])
    """Settings of the search engine, in that engine's format."""
    index_name: str = ""
    """Name of the search index; never empty."""


def parse_space(text: str) -> Space:
    """Parse a space file. Unknown keys are ignored.

    Raises:
        ConfigError: the text is not a JSON object, names no space, or its index name is invalid.
    """
    values = read_object(text, SPACE_FILE.name)
    key, name = values.get("spaceKey"), values.get("spaceName")
    if not isinstance(key, str) or not key.strip():
        raise ConfigError(f"{SPACE_FILE} names no space: spaceKey must be a non-empty text.", kind="space")
    search = as_object(values.get("search"))
    paths = _paths(values)
    return Space(
        key=key.strip(),
        name=name.strip() if isinstance(name, str) and name.strip() else key.strip(),
        paths=paths,
        ids={path: identifier for identifier, path in paths.items()},
        search=search,
        index_name=_index_name(search.get("indexName"), key.strip()),
    )


def key_digest(key: str) -> str:
    """A digest of a key with non-Latin letters, for names that allow only Latin ones; "" for every other key.

    Without the digest, all such keys of the same length would get the same name.
    """
    bare = unicodedata.normalize("NFKD", key)
    if not any(letter.isalnum() and not letter.isascii() for letter in bare):
        return ""
    return hashlib.sha256(bare.lower().encode()).hexdigest()[:KEY_DIGEST_CHARS]


def no_space() -> NotFoundError:
    """The error for a folder without a space."""
    return NotFoundError("Not a cn space. Run 'cn clone' first or specify a path.", kind="space")


def read_object(text: str, name: str) -> JsonObject:
    """The JSON object in a settings file.

    Raises:
        ConfigError: the text is not a JSON object; the message contains the file's name.
    """
    try:
        values: Json = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, Mapping):
        raise ConfigError(f"{name} is not a JSON object.", kind="space", hint="Repair it by hand.")
    return values


def as_object(value: Json) -> JsonObject:
    """The value if it is a JSON object; {} for any other value."""
    return value if isinstance(value, Mapping) else {}


def _paths(values: JsonObject) -> Mapping[str, str]:
    """Parse the paths of three formats: id to path, id to an object with `localPath`, and both in `syncState`."""
    older = as_object(values.get("syncState")).get("pages")
    paths: dict[str, str] = {}
    for pages in (older, values.get("pages")):
        for identifier, entry in as_object(pages).items():
            path = entry.get("localPath") if isinstance(entry, Mapping) else entry
            if isinstance(path, str) and path:
                paths[identifier] = path
    return paths


def _told_apart(key: str) -> str:
    digest = key_digest(key)
    return f"-{digest}" if digest else ""


def _index_name(index_name: Json, key: str) -> str:
    if index_name is None or index_name == "":
        return f"cn-{_NO_NAME.sub('_', key.lower())}"[: MAX_INDEX_NAME - KEY_DIGEST_CHARS - 1] + _told_apart(key)
    if not isinstance(index_name, str) or not _INDEX_NAME.fullmatch(index_name):
        raise ConfigError(
            f"{SPACE_FILE} has an indexName that is none: expected 1 to {MAX_INDEX_NAME} of A-Z, a-z, 0-9, - and _.",
            kind="space",
        )
    return index_name
