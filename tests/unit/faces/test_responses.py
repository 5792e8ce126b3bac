"""JSON of answers and errors."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

import anyio
import pytest
from starlette.types import Message, Send

from asgi import Answer, read_answer
from cases import each_case
from commonplace.domain.errors import (
    ConflictError,
    KnowledgeError,
    NotFoundError,
    RateLimitedError,
    UnauthenticatedError,
    UnavailableError,
)
from commonplace.faces.responses import error_json, json_bytes, send_empty, send_error, send_json


def sent(answer: Callable[[Send], Awaitable[None]]) -> Answer:
    messages: list[Message] = []

    async def run() -> None:
        async def send(message: Message) -> None:
            messages.append(message)

        await answer(send)

    anyio.run(run)
    return read_answer(messages)


def test_an_answer_is_neither_stored_nor_sniffed_nor_framed_nor_run() -> None:
    answer = sent(lambda send: send_json(send, 201, {"title": "茶"}, [("etag", '"1"')]))
    assert (answer.status, answer.body) == (201, '{"title":"茶"}'.encode())
    assert answer.headers["content-length"] == str(len(answer.body))
    assert answer.headers["etag"] == '"1"'
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_an_answer_to_head_says_how_long_it_would_be() -> None:
    answer = sent(lambda send: send_json(send, 200, [1, 2], with_body=False))
    assert (answer.headers["content-length"], answer.body) == ("5", b"")


def test_an_empty_answer_has_neither_type_nor_length() -> None:
    answer = sent(lambda send: send_empty(send, 304, [("etag", '"1"')]))
    assert (answer.status, answer.body, answer.headers["etag"]) == (304, b"", '"1"')
    assert not {"content-type", "content-length"} & set(answer.headers)


def test_a_header_whose_value_fits_no_header_is_sent_with_marks() -> None:
    answer = sent(lambda send: send_json(send, 200, None, [("x-title", "茶 café")]))
    assert answer.headers["x-title"] == "? café"


@each_case(
    ("error", "status", "retry"),
    [
        (NotFoundError("No."), 404, None),
        (UnauthenticatedError("No."), 401, None),
        (UnavailableError("Not now."), 503, "2"),
        (RateLimitedError("Slow.", retry_after=17), 429, "17"),
        (KnowledgeError("Broken."), 500, None),
        (UnavailableError("Never.", retryable=False), 503, None),
    ],
)
def test_an_error_has_its_status_and_says_when_to_try_again(
    error: KnowledgeError, status: int, retry: str | None
) -> None:
    answer = sent(lambda send: send_error(send, error))
    assert (answer.status, answer.headers.get("retry-after")) == (status, retry)
    assert answer.json == {"error": str(error), "code": error.code.value}
    assert sent(lambda send: send_error(send, error, status=418)).status == 418


def test_an_error_names_what_helps_and_nothing_that_is_empty() -> None:
    error = NotFoundError("No 'x'.", kind="document", hint="Search.", reference="x", nearest=["y"], inner="x")
    assert error_json(error) == {
        "error": "No 'x'.",
        "code": "not_found",
        "kind": "document",
        "hint": "Search.",
        "reference": "x",
        "nearest": ["y"],
    }
    assert set(error_json(NotFoundError("No.", nearest=[]))) == {"error", "code"}


def test_a_conflict_always_says_what_the_revision_is() -> None:
    assert error_json(ConflictError("Changed."))["current_revision"] is None
    assert error_json(ConflictError("Changed.", current_revision="ab"))["current_revision"] == "ab"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("\ud800 a", '"? a"'),
        ("\u2028\0", '"\u2028\\u0000"'),
        ({"é": [1.5, None, True]}, '{"é":[1.5,null,true]}'),
        ("", '""'),
    ],
)
def test_json_is_compact_valid_utf8(value: str, expected: str) -> None:
    raw = json_bytes(value)
    assert raw == expected.encode()
    json.loads(raw)


def test_a_number_that_json_does_not_have_is_no_answer() -> None:
    for number in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="JSON"):
            json_bytes(number)
