"""Requests and responses that pages of an allowed origin may send and read."""

from __future__ import annotations

import anyio
import pytest
from starlette.datastructures import Headers
from starlette.types import Message

from asgi import Answer, read_answer
from cases import each_case
from commonplace.domain.errors import NotFoundError
from commonplace.faces.http.guard import is_preflight, send_preflight, shared
from commonplace.faces.responses import send_error, send_json

ORIGIN = "http://localhost:3000"


def preflight(**headers: str) -> Answer:
    given_headers = Headers({name.replace("_", "-"): value for name, value in headers.items()})
    sent: list[Message] = []

    async def run() -> None:
        async def send(message: Message) -> None:
            sent.append(message)

        await send_preflight(shared(send, ORIGIN), given_headers)

    anyio.run(run)
    return read_answer(sent)


@pytest.mark.parametrize(
    ("method", "headers", "expected"),
    [
        ("OPTIONS", {"origin": ORIGIN, "access-control-request-method": "PUT"}, True),
        ("OPTIONS", {"origin": ORIGIN}, False),
        ("OPTIONS", {"access-control-request-method": "PUT"}, False),
        ("GET", {"origin": ORIGIN, "access-control-request-method": "PUT"}, False),
    ],
)
def test_a_preflight_names_an_origin_and_a_method(method: str, headers: dict[str, str], expected: bool) -> None:
    assert is_preflight(method, Headers(headers)) is expected


def test_a_preflight_permits_the_methods_and_the_headers_that_are_wanted() -> None:
    answer = preflight(access_control_request_headers="content-type, Mcp-Session-Id,If-Match")
    assert (answer.status, answer.body) == (204, b"")
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert set(answer.headers["access-control-allow-methods"].split(", ")) >= {"PUT", "PATCH", "DELETE"}
    assert answer.headers["access-control-allow-headers"] == "content-type, Mcp-Session-Id,If-Match"
    assert {"Origin", "Access-Control-Request-Headers"} <= set(answer.headers["vary"].split(", "))


@each_case("wanted", ["", "a b", "x-\u00fc", "a\r\nset-cookie: b", "a,,b", "a" * 1_001, "*:*"])
def test_what_is_no_list_of_headers_is_not_sent_back(wanted: str) -> None:
    assert "access-control-allow-headers" not in preflight(access_control_request_headers=wanted).headers


def test_an_answer_and_an_error_can_be_read_by_the_page_with_the_headers_that_it_needs() -> None:
    sent: list[Message] = []

    async def run() -> None:
        async def send(message: Message) -> None:
            sent.append(message)

        await send_json(shared(send, ORIGIN), 200, {"a": 1}, [("etag", '"1"')])
        await send_error(shared(send, ORIGIN), NotFoundError("Gone."))

    anyio.run(run)
    for answer in (read_answer(sent[:2]), read_answer(sent[2:])):
        assert answer.headers["access-control-allow-origin"] == ORIGIN
        assert {"ETag", "Retry-After", "Mcp-Session-Id"} <= set(
            answer.headers["access-control-expose-headers"].split(", ")
        )
    assert "access-control-allow-credentials" not in read_answer(sent[:2]).headers
