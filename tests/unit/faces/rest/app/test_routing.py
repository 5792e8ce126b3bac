"""Resolution of URLs to endpoints."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain.errors import InvalidInputError
from commonplace.faces.rest.app import MethodError, Option, RouteMatch, Router, select_match
from commonplace.toolsets.wiki.rest.endpoints import endpoints

ROUTER = Router(endpoints())


@each_case(
    ("raw", "expected"),
    [
        (b"/pages", [RouteMatch("/pages")]),
        (b"/pages/a/b", [RouteMatch("/pages/{path}", "a/b")]),
        (b"/pages/A%252FB", [RouteMatch("/pages/{path}", "A%2FB")]),
        (b"/pages/notes%2Fhistory", [RouteMatch("/pages/{path}", "notes/history")]),
        (b"/pages/history", [RouteMatch("/pages/{path}", "history")]),
        (
            b"/pages/notes/history",
            [RouteMatch("/pages/{path}", "notes/history"), RouteMatch("/pages/{path}/history", "notes")],
        ),
        (
            b"/pages/a/attachments/b.png",
            [
                RouteMatch("/pages/{path}", "a/attachments/b.png"),
                RouteMatch("/pages/{path}/attachments/{filename}", "a", "b.png"),
            ],
        ),
        (b"/links/a%0Ab", [RouteMatch("/links/{path}", "a\nb")]),
        (b"/reindex/status", [RouteMatch("/reindex/status")]),
    ],
)
def test_a_url_can_be_a_page_and_an_operation(raw: bytes, expected: list[RouteMatch]) -> None:
    assert ROUTER.matches(raw) == expected


def test_what_is_no_utf8_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="no UTF-8"):
        ROUTER.matches(b"/pages/%ff")


def options(raw: bytes) -> list[Option]:
    """Everything that a URL can mean, with its endpoints."""
    return ROUTER.options(raw)


@each_case(
    ("method", "raw", "page", "otherwise"),
    [
        ("GET", b"/pages/a/history", "/pages/{path}", "/pages/{path}/history"),
        ("PUT", b"/pages/a/history", "/pages/{path}", "GET, HEAD"),
        ("DELETE", b"/pages/a/history", "/pages/{path}", "GET, HEAD"),
        ("POST", b"/pages/a/history", "GET, HEAD, PUT, PATCH, DELETE", "GET, HEAD"),
        ("PUT", b"/pages/a/attachments", "/pages/{path}", "GET, HEAD, POST"),
        ("POST", b"/pages/a/attachments", "/pages/{path}/attachments", "/pages/{path}/attachments"),
        ("GET", b"/pages/a/rename", "/pages/{path}", "POST"),
        ("POST", b"/pages/a/rename", "/pages/{path}/rename", "/pages/{path}/rename"),
        ("DELETE", b"/pages/a/attachments/f", "/pages/{path}", "/pages/{path}/attachments/{filename}"),
        ("PATCH", b"/pages/a/attachments/f", "/pages/{path}", "PUT, GET, HEAD, DELETE"),
        ("PUT", b"/pages/a%2Fhistory", "/pages/{path}", "/pages/{path}"),
        ("POST", b"/pages/history", "GET, HEAD, PUT, PATCH, DELETE", "GET, HEAD, PUT, PATCH, DELETE"),
        ("TRACE", b"/links", "GET, HEAD", "GET, HEAD"),
    ],
)
def test_a_page_that_is_there_is_meant_and_otherwise_the_operation(
    method: str, raw: bytes, page: str, otherwise: str
) -> None:
    for is_there, expected in ((True, page), (False, otherwise)):
        try:
            template = select_match(options(raw), method, lambda _, there=is_there: there)[0].template
        except MethodError as error:
            template = error.allowed
        assert template == expected, is_there
