"""Answers of the API of Confluence as values. All of it is outside text: ids become paths, titles become names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from commonplace.domain.errors import UnavailableError

Json = Any
Product = Literal["cloud", "data center"]
NODE_KINDS = ("folder", "whiteboard", "database", "embed")
"""Kinds of nodes in the tree of a space that are no pages."""
MAX_DIGITS = 10
"""Number of digits that no version has."""
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class RemotePage:
    """A page, or another node of the tree, as a listing gives it."""

    id: str
    title: str
    version: int
    parent: str = ""
    parent_type: str = ""
    status: str = "current"
    space: str = ""
    created: str = ""
    updated: str = ""
    author: str = ""
    modifier: str = ""
    url: str = ""
    """Path of the page on the site."""
    body: bytes | None = None
    """The body in storage format; None if the listing was without bodies."""


@dataclass(frozen=True, slots=True)
class RemoteAttachment:
    """A file of a page."""

    id: str
    title: str
    version: int
    download: str


@dataclass(frozen=True, slots=True)
class RemoteComment:
    """A comment on a page, with the replies to it."""

    author: str
    created: str
    body: bytes
    marked: str = ""
    """The text that an inline comment is about; "" for a comment below the page."""
    status: str = ""
    """Status of an inline comment, such as open or resolved."""
    replies: tuple[RemoteComment, ...] = ()


@dataclass(frozen=True, slots=True)
class ContentHit:
    """Something in a space that a search found."""

    id: str
    kind: str
    """attachment, comment, or one of `NODE_KINDS`."""
    version: int
    page: str
    """Id of the page that holds an attachment or a comment; "" for a node."""


@dataclass(frozen=True, slots=True)
class RemoteSpace:
    """A space."""

    id: str
    key: str
    name: str
    home: str


def part_of(answer: object, name: str) -> Mapping[str, Json]:
    """An object in an object; {} if there is none."""
    value = cast("Mapping[str, Json]", answer).get(name) if isinstance(answer, dict) else None
    return cast("Mapping[str, Json]", value) if isinstance(value, dict) else {}


def rows_of(answer: object, name: str) -> list[Mapping[str, Json]]:
    """The objects of a list in an object; [] if there is none."""
    value = cast("Mapping[str, Json]", answer).get(name) if isinstance(answer, dict) else None
    rows = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("Mapping[str, Json]", row) for row in rows if isinstance(row, dict)]


def text_of(row: Mapping[str, Json], name: str) -> str:
    """The text of a key on one line, without control characters; "" if it is missing or null."""
    value = row.get(name)
    text = str(value) if isinstance(value, (str, int)) else ""
    if text.isprintable():
        return text
    shown = "".join(" " if unicodedata.category(character) in {"Cc", "Zl", "Zp"} else character for character in text)
    return shown.encode("utf-8", "replace").decode()


def identifier_of(row: Mapping[str, Json], name: str = "id") -> str:
    """The id of a row: it becomes part of paths and names of files."""
    value = text_of(row, name)
    if not _ID.fullmatch(value):
        raise UnavailableError(f"The site's answer has an id that cannot be one: {value[:40]!r}.", kind="site")
    return value


def version_of(row: Mapping[str, Json]) -> int:
    """Number of the version of a row; 1 if it has none."""
    number = text_of(part_of(row, "version"), "number")
    return int(number) if number.isdecimal() and number.isascii() and len(number) < MAX_DIGITS else 1


def body_of(row: Mapping[str, Json]) -> bytes | None:
    """The body of a row in storage format; None if it has none."""
    value = part_of(part_of(row, "body"), "storage").get("value")
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else None


def space_of(row: Mapping[str, Json]) -> RemoteSpace:
    """The space in a row."""
    key = text_of(row, "key")
    return RemoteSpace(identifier_of(row), key, text_of(row, "name") or key, text_of(row, "homepageId"))


def content_hit_of(content: Mapping[str, Json]) -> ContentHit:
    """The result of a search, from the content of a row."""
    container = part_of(content, "container")
    page = identifier_of(container) if container else ""
    return ContentHit(identifier_of(content), text_of(content, "type"), version_of(content), page)


def page_of(row: Mapping[str, Json]) -> RemotePage:
    """The page, or the other node, in a row."""
    version = part_of(row, "version")
    parent, kind = text_of(row, "parentId"), text_of(row, "parentType")
    return RemotePage(
        id=identifier_of(row),
        title=text_of(row, "title"),
        version=version_of(row),
        parent=identifier_of(row, "parentId") if parent else "",
        parent_type=kind if kind in NODE_KINDS else "page" if parent else "",
        status=text_of(row, "status") or "current",
        space=text_of(row, "spaceId"),
        created=text_of(row, "createdAt"),
        updated=text_of(version, "createdAt"),
        author=text_of(row, "authorId"),
        modifier=text_of(version, "authorId"),
        url=text_of(part_of(row, "_links"), "webui"),
        body=body_of(row),
    )


def attachment_of(row: Mapping[str, Json]) -> RemoteAttachment:
    """The attachment in a row."""
    identifier = identifier_of(row)
    return RemoteAttachment(
        id=identifier,
        title=text_of(row, "title") or identifier,
        version=version_of(row),
        download=text_of(row, "downloadLink"),
    )
