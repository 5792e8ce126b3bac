"""From a URL to the endpoint that is meant.

Paths are split before they are decoded, so that `notes%2Fhistory` is one part, and so a page, where `notes/history`
is two. What could be a page as well as an operation on one (`/pages/notes/history`) is the page where there is one, and
the operation otherwise: such a URL creates no page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import unquote_to_bytes

from commonplace.domain.errors import InvalidInputError
from commonplace.faces.rest.endpoint import Endpoint
from commonplace.faces.rest.table import ATTACHMENT, ATTACHMENTS, PAGE_TEMPLATE

Option: TypeAlias = "tuple[RouteMatch, Endpoint]"
OPERATION_TEMPLATES = {"history": "/pages/{path}/history", "rename": "/pages/{path}/rename", "attachments": ATTACHMENTS}


@dataclass(frozen=True, slots=True)
class RouteMatch:
    """What a URL can mean."""

    template: str
    path: str = ""
    filename: str = ""


class MethodError(InvalidInputError):
    """What a URL means does not take the method: status 405."""

    def __init__(self, methods: Sequence[str], more: str = "") -> None:
        shown = dict.fromkeys(
            name for method in methods for name in (("GET", "HEAD") if method == "GET" else (method,))
        )
        self.allowed = ", ".join(shown)
        """What `Allow` says."""
        super().__init__("This URL does not take this method.", kind="method", hint=f"It takes {self.allowed}.{more}")


def select_match(options: Sequence[Option], method: str, is_page: Callable[[str], bool]) -> Option:
    """Which of everything that a URL can mean is meant.

    Args:
        options: At least one; a page's first.
        method: Of the request; GET for HEAD.
        is_page: Whether there is a page of a path; asked only where the URL can mean an operation, too.

    Raises:
        MethodError: nothing that is meant takes the method.
    """
    fitting = [option for option in options if option[1].method == method]
    operations = [option for option in options if option[0].template != PAGE_TEMPLATE]
    is_open = len(operations) < len(options) and bool(operations)
    if is_open and (not fitting or fitting[0] not in operations) and not is_page(options[0][0].path):
        fitting = [option for option in fitting if option in operations]
        options = operations
    if not fitting:
        more = " To write a page of this path, percent-encode its slashes." if is_open else ""
        raise MethodError([endpoint.method for _, endpoint in options], more)
    return fitting[0] if fitting[0] not in operations else fitting[-1]


def route_matches(raw_path: bytes) -> list[RouteMatch]:
    """Everything that a URL below the API's prefix can mean, a page first.

    Raises:
        InvalidInputError: it is no UTF-8.
    """
    parts = [_decoded(part) for part in raw_path.removeprefix(b"/").split(b"/")]
    return list(_places(parts))


def _places(parts: Sequence[str]) -> Iterator[RouteMatch]:
    first, *rest = parts
    if first == "pages" and rest:
        yield RouteMatch(PAGE_TEMPLATE, "/".join(rest))
        *outer, last = rest
        if outer and last in OPERATION_TEMPLATES:
            yield RouteMatch(OPERATION_TEMPLATES[last], "/".join(outer))
        if len(outer) > 1 and outer[-1] == "attachments":
            yield RouteMatch(ATTACHMENT, "/".join(outer[:-1]), last)
    elif first == "links" and rest:
        yield RouteMatch("/links/{path}", "/".join(rest))
    else:
        yield RouteMatch("/" + "/".join(parts))


def _decoded(part: bytes) -> str:
    try:
        return unquote_to_bytes(part).decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            "Invalid URL: a part of it is no UTF-8.", kind="path", hint="Percent-encode paths as UTF-8."
        ) from error
