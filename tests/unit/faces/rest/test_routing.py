"""From a URL to what it can mean."""

from __future__ import annotations

import pytest

from commonplace.domain.errors import InvalidInputError
from commonplace.faces.rest.routing import Place, places


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"/pages", [Place("/pages")]),
        (b"/pages/a/b", [Place("/pages/{path}", "a/b")]),
        (b"/pages/A%252FB", [Place("/pages/{path}", "A%2FB")]),
        (b"/pages/notes%2Fhistory", [Place("/pages/{path}", "notes/history")]),
        (b"/pages/history", [Place("/pages/{path}", "history")]),
        (
            b"/pages/notes/history",
            [Place("/pages/{path}", "notes/history"), Place("/pages/{path}/history", "notes")],
        ),
        (
            b"/pages/a/attachments/b.png",
            [
                Place("/pages/{path}", "a/attachments/b.png"),
                Place("/pages/{path}/attachments/{filename}", "a", "b.png"),
            ],
        ),
        (b"/links/a%0Ab", [Place("/links/{path}", "a\nb")]),
        (b"/reindex/status", [Place("/reindex/status")]),
    ],
)
def test_a_url_can_be_a_page_and_an_operation(raw: bytes, expected: list[Place]) -> None:
    assert places(raw) == expected


def test_what_is_no_utf8_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="no UTF-8"):
        places(b"/pages/%ff")
