"""From a URL to the endpoint that is meant.

Paths are split before they are decoded, so that `notes%2Fhistory` is one part, and so a page, where `notes/history`
is two. What could be a page as well as an operation on one (`GET /pages/notes/history`) is decided by the caller, who
can see whether there is such a page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from commonplace.domain.errors import InvalidInputError
from commonplace.faces.rest.table import ATTACHMENT, ATTACHMENTS, PAGE

OPERATIONS = {"history": "/pages/{path}/history", "rename": "/pages/{path}/rename", "attachments": ATTACHMENTS}


@dataclass(frozen=True, slots=True)
class Place:
    """What a URL can mean."""

    template: str
    path: str = ""
    filename: str = ""


def places(raw_path: bytes) -> list[Place]:
    """Everything that a URL below the API's prefix can mean, a page first.

    Raises:
        InvalidInputError: it is no UTF-8.
    """
    parts = [_decoded(part) for part in raw_path.removeprefix(b"/").split(b"/")]
    return list(_places(parts))


def _places(parts: Sequence[str]) -> Iterator[Place]:
    first, *rest = parts
    if first == "pages" and rest:
        yield Place(PAGE, "/".join(rest))
        *outer, last = rest
        if outer and last in OPERATIONS:
            yield Place(OPERATIONS[last], "/".join(outer))
        if len(outer) > 1 and outer[-1] == "attachments":
            yield Place(ATTACHMENT, "/".join(outer[:-1]), last)
    elif first == "links" and rest:
        yield Place("/links/{path}", "/".join(rest))
    else:
        yield Place("/" + "/".join(parts))


def _decoded(part: bytes) -> str:
    try:
        return unquote_to_bytes(part).decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            "Invalid URL: a part of it is no UTF-8.", kind="path", hint="Percent-encode paths as UTF-8."
        ) from error
