"""Routing of URLs to endpoints.

Paths are split before they are decoded: `notes%2Fhistory` is one segment and names a page, `notes/history` is two
segments. Some URLs can name a page or an operation on a page (`/pages/notes/history`). Such a URL means the page if it
exists, else the operation, and never creates a page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias
from urllib.parse import unquote_to_bytes

from commonplace.domain.errors import InvalidInputError
from commonplace.faces.rest.endpoint import Endpoint

Option: TypeAlias = "tuple[RouteMatch, Endpoint]"
MAX_CACHED_PATHS = 256
"""Number of paths whose endpoints are cached. Each request looks them up several times."""
PATH = "{path}"
"""The variable of a template that matches one or more segments of a URL."""


@dataclass(frozen=True, slots=True)
class RouteMatch:
    """A template that matches a URL, with the values of its variables."""

    template: str
    path: str = ""
    filename: str = ""


class MethodError(InvalidInputError):
    """The resource does not support the method: status 405."""

    def __init__(self, methods: Sequence[str], more: str = "") -> None:
        shown = dict.fromkeys(
            name for method in methods for name in (("GET", "HEAD") if method == "GET" else (method,))
        )
        self.allowed = ", ".join(shown)
        """Value of the `Allow` header."""
        super().__init__("This URL does not take this method.", kind="method", hint=f"It takes {self.allowed}.{more}")


def select_match(options: Sequence[Option], method: str, is_page: Callable[[str], bool]) -> Option:
    """Select one of the matches of a URL.

    Args:
        options: The matches, at least one; a page before operations.
        method: The request's method; GET for HEAD.
        is_page: Whether a page exists at a path; called only if the URL also matches an operation.

    Raises:
        MethodError: no selected endpoint has this method.
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
    """The templates of an API, in order of length: if a URL can name a page or an operation, the page is first.

    Args:
        endpoints: The rows of the API.
    """

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._endpoints: dict[str, list[Endpoint]] = {}
        for one in endpoints:
            self._endpoints.setdefault(one.template, []).append(one)
        self._templates = sorted(((_parts(one), one) for one in self._endpoints), key=lambda pair: len(pair[0]))
        self._known_options = lru_cache(MAX_CACHED_PATHS)(self._options)

    def options(self, raw_path: bytes) -> Sequence[Option]:
        """All endpoints that a URL below the API's prefix can name.

        Raises:
            InvalidInputError: the path is not UTF-8.
        """
        return self._known_options(raw_path)

    def _options(self, raw_path: bytes) -> Sequence[Option]:
        return tuple([(match, one) for match in self.matches(raw_path) for one in self._endpoints[match.template]])

    def matches(self, raw_path: bytes) -> list[RouteMatch]:
        """All matches of a URL below the API's prefix, a page first.

        Raises:
            InvalidInputError: the path is not UTF-8.
        """
        parts = [_decoded(part) for part in raw_path.removeprefix(b"/").split(b"/")]
        found = (_match(template, pattern, parts) for pattern, template in self._templates)
        return [match for match in found if match is not None]


def _parts(template: str) -> list[str]:
    return template.removeprefix("/").split("/")


def _match(template: str, pattern: Sequence[str], parts: Sequence[str]) -> RouteMatch | None:
    spread = len(parts) - len(pattern)  # segments beyond one for each part of the pattern
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
