"""From a URL to the endpoint that is meant.

Paths are split before they are decoded, so that `notes%2Fhistory` is one part, and so a page, where `notes/history`
is two. What could be a page as well as an operation on one (`/pages/notes/history`) is the page where there is one, and
the operation otherwise: such a URL creates no page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import unquote_to_bytes

from commonplace.domain.errors import InvalidInputError
from commonplace.faces.rest.endpoint import Endpoint

Option: TypeAlias = "tuple[RouteMatch, Endpoint]"
PATH = "{path}"
"""The variable of a template that takes one part of a URL or several."""


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
    operations = [option for option in options if option[0].template != options[0][0].template]
    is_open = len(operations) < len(options) and bool(operations)
    if is_open and (not fitting or fitting[0] not in operations) and not is_page(options[0][0].path):
        fitting = [option for option in fitting if option in operations]
        options = operations
    if not fitting:
        more = " To write a page of this path, percent-encode its slashes." if is_open else ""
        raise MethodError([endpoint.method for _, endpoint in options], more)
    return fitting[0] if fitting[0] not in operations else fitting[-1]


class Router:
    """The templates of an API, the shorter ones first: of a page and an operation that a URL can mean, the page.

    Args:
        endpoints: The rows of the API.
    """

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._endpoints: dict[str, list[Endpoint]] = {}
        for one in endpoints:
            self._endpoints.setdefault(one.template, []).append(one)
        self._templates = sorted(((_parts(one), one) for one in self._endpoints), key=lambda pair: len(pair[0]))

    def options(self, raw_path: bytes) -> list[Option]:
        """Every endpoint that a URL below the API's prefix can mean.

        Raises:
            InvalidInputError: it is no UTF-8.
        """
        return [(match, one) for match in self.matches(raw_path) for one in self._endpoints[match.template]]

    def matches(self, raw_path: bytes) -> list[RouteMatch]:
        """Everything that a URL below the API's prefix can mean, a page first.

        Raises:
            InvalidInputError: it is no UTF-8.
        """
        parts = [_decoded(part) for part in raw_path.removeprefix(b"/").split(b"/")]
        found = (_match(template, pattern, parts) for pattern, template in self._templates)
        return [match for match in found if match is not None]


def _parts(template: str) -> list[str]:
    return template.removeprefix("/").split("/")


def _match(template: str, pattern: Sequence[str], parts: Sequence[str]) -> RouteMatch | None:
    spread = len(parts) - len(pattern)  # how many parts the path has beyond its first
    if spread < 0 or (spread and PATH not in pattern):
        return None
    path = filename = ""
    at = 0
    for one in pattern:
        end = at + 1 + (spread if one == PATH else 0)
        if one == PATH:
            path = "/".join(parts[at:end])
        elif one.startswith("{"):
            filename = parts[at]
        elif one != parts[at]:
            return None
        at = end
    return RouteMatch(template, path, filename)


def _decoded(part: bytes) -> str:
    try:
        return unquote_to_bytes(part).decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            "Invalid URL: a part of it is no UTF-8.", kind="path", hint="Percent-encode paths as UTF-8."
        ) from error
