"""Bodies of requests: whole, within the limit, and given on once."""

from __future__ import annotations

import anyio
import pytest
from starlette.types import Message, Receive

from cases import each_case
from commonplace.domain.errors import RateLimitedError, TooLargeError, UnavailableError
from commonplace.faces.http import guard
from commonplace.faces.http.guard import ClientDisconnectError, UnfinishedBodies, buffered_body, replayed


def messages(*parts: bytes | None) -> Receive:
    """A body that comes in these parts; None is a client that goes away."""
    left = list(parts)

    async def receive() -> Message:
        part = left.pop(0)
        if part is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": part, "more_body": bool(left)}

    return receive


def buffered(limit: int, declared: str, *parts: bytes | None) -> bytes:
    return anyio.run(buffered_body, messages(*parts), limit, declared, UnfinishedBodies(), "key")


def test_a_body_is_read_whole_in_whatever_parts_it_comes() -> None:
    assert buffered(10, "", b"") == b""
    assert buffered(10, "5", b"he", b"", b"llo") == b"hello"
    assert buffered(5, "5", b"hello") == b"hello"


@each_case(
    ("declared", "parts"),
    [("6", [b"", None]), ("9" * 5000, [b""]), ("", [b"abc", b"def"]), ("1", [b"abcdef"]), ("-1", [b"abcdef"])],
)
def test_a_body_over_the_limit_is_refused_as_soon_as_that_is_known(declared: str, parts: list[bytes | None]) -> None:
    with pytest.raises(TooLargeError, match="over the limit of 5 bytes"):
        buffered(5, declared, *parts)


def test_where_no_body_is_taken_the_error_says_so() -> None:
    assert buffered(0, "", b"") == b""
    with pytest.raises(TooLargeError, match="Nothing at this address takes a body"):
        buffered(0, "2", b"{}")


@each_case("declared", ["", "abc", "\u0663", "+6", "5 "])
def test_a_length_that_is_no_number_says_nothing(declared: str) -> None:
    assert buffered(5, declared, b"abc") == b"abc"


def test_a_client_that_goes_away_is_no_shorter_body() -> None:
    with pytest.raises(ClientDisconnectError):
        buffered(100, "", b"half", None)


def test_an_application_gets_the_body_once_and_then_what_comes_after_it() -> None:
    async def read() -> list[Message]:
        receive = replayed(b"whole", messages(b"rest", None))
        return [await receive() for _ in range(3)]

    first, *later = anyio.run(read)
    assert first == {"type": "http.request", "body": b"whole", "more_body": False}
    assert [message["type"] for message in later] == ["http.request", "http.disconnect"]


def test_unfinished_bodies_of_a_caller_and_of_all_callers_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "MAX_OF_CALLER", 10)
    monkeypatch.setattr(guard, "MAX_OF_ALL", 15)
    unfinished = UnfinishedBodies()

    def part(caller: str, *parts: bytes | None) -> bytes:
        return anyio.run(buffered_body, messages(*parts), 100, "", unfinished, caller)

    unfinished.add("a", 6)
    with pytest.raises(RateLimitedError, match="unfinished bodies of your requests") as refused:
        part("a", b"hello", b"")
    assert refused.value.context["retry_after"] == guard.RETRY_SECONDS
    assert part("b", b"hello", b"world") == b"helloworld"
    with pytest.raises(UnavailableError, match="too many large bodies"):
        part("b", b"hello", b"world", b"")
    with pytest.raises(ClientDisconnectError):
        part("b", b"hello", None)
    assert part("a", b"whole bodies do not count") == b"whole bodies do not count"
    unfinished.remove("a", 6)
    assert part("a", b"hello", b"world", b"") == b"helloworld"
    assert part("b", b"hello", b"world", b"") == b"helloworld"
