"""Requests whose end two servers could see in different places are refused."""

from __future__ import annotations

import h11
import pytest

from cases import each_case
from commonplace.faces.http.server import MAX_HEAD, StrictConnection

HEAD = b"POST /a HTTP/1.1\r\nHost: localhost\r\n"


def events(raw: bytes, *, by: int = 0) -> list[h11.Event]:
    """Events that a connection reads from these bytes, received at once or in pieces of `by` bytes."""
    connection = StrictConnection()
    found_events: list[h11.Event] = []
    pieces = [raw[at : at + by] for at in range(0, len(raw), by)] if by else [raw]
    for piece in pieces:
        connection.receive_data(piece)
        while isinstance(event := connection.next_event(), h11.Event):
            found_events.append(event)
            if isinstance(event, h11.EndOfMessage):
                break
    return found_events


def body(raw: bytes, *, by: int = 0) -> bytes:
    return b"".join(bytes(event.data) for event in events(raw, by=by) if isinstance(event, h11.Data))


@each_case("by", [0, 1, 7])
@each_case(
    ("raw", "expected"),
    [
        (HEAD + b"Content-Length: 5\r\n\r\nhello", b"hello"),
        (HEAD + b"Content-Length: 3\r\n\r\na\nb", b"a\nb"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\na\nb\r\n2\r\n\n\n\r\n0\r\nX: y\r\n\r\n", b"a\nb\n\n"),
    ],
)
def test_a_well_formed_request_is_read_however_it_arrives(raw: bytes, expected: bytes, by: int) -> None:
    assert body(raw, by=by) == expected
    assert isinstance(events(raw, by=by)[-1], h11.EndOfMessage)


@each_case("by", [0, 1])
@each_case(
    "raw",
    [
        b"GET / HTTP/1.1\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\nContent-Length: 5\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\n",
        b"\nGET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: y\n\r\n",
    ],
)
def test_a_line_that_ends_in_lf_alone_is_refused(raw: bytes, by: int) -> None:
    with pytest.raises(h11.RemoteProtocolError):
        events(raw, by=by)


@each_case(
    "raw",
    [
        HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        HEAD + b"Content-Length: +5\r\n\r\nhello",
        HEAD + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    ],
)
def test_a_body_with_two_lengths_or_an_unclear_one_is_refused(raw: bytes) -> None:
    with pytest.raises(h11.RemoteProtocolError):
        events(raw)


@each_case("by", [0, 1])
@each_case(
    "raw",
    [
        HEAD + b"X: a\r\n b\r\n\r\n",
        HEAD + b"X: a\r\n\tContent-Length: 5\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: a\r\n b\r\n\r\n",
    ],
)
def test_a_line_that_continues_another_is_refused(raw: bytes, by: int) -> None:
    with pytest.raises(h11.RemoteProtocolError):
        events(raw, by=by)


@each_case("by", [0, 1])
@each_case("size", [b"ffffffffffffffffff", b"FFFFFFFFF", b"100000000", b"0000000000200000000"])
def test_a_chunk_that_no_body_can_have_is_refused_before_it_comes(size: bytes, by: int) -> None:
    with pytest.raises(h11.RemoteProtocolError):
        events(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + size + b"\r\nabc", by=by)


def test_the_size_of_a_chunk_may_have_zeros_before_it() -> None:
    assert body(HEAD + b"Transfer-Encoding: chunked\r\n\r\n00000000000003;x=y\r\nabc\r\n0\r\n\r\n") == b"abc"


@pytest.mark.parametrize("version", [b"2.0", b"0.9", b"3.0", b"9.9"])
def test_a_version_other_than_http_1_is_refused(version: bytes) -> None:
    with pytest.raises(h11.RemoteProtocolError):
        events(b"GET / HTTP/%s\r\nHost: localhost\r\n\r\n" % version)


@pytest.mark.parametrize(
    ("target", "host", "path"),
    [
        (b"/a?b=http://other.example/", b"localhost", b"/a?b=http://other.example/"),
        (b"*", b"localhost", b"*"),
        (b"http://other.example/a?b", b"other.example", b"/a?b"),
        (b"HTTPS://[::1]:80?b", b"[::1]:80", b"/?b"),
        (b"http://other.example", b"other.example", b"/"),
    ],
)
def test_an_absolute_target_is_split_into_host_and_path(target: bytes, host: bytes, path: bytes) -> None:
    event = events(b"GET %s HTTP/1.1\r\nHost: localhost\r\nX: y\r\n\r\n" % target)[0]
    assert isinstance(event, h11.Request)
    assert (event.target, sorted(event.headers)) == (path, [(b"host", host), (b"x", b"y")])


@each_case("target", [b"ftp://a/", b"http://", b"http:///a", b"http://ada@a/", b"http://a/#b", b"x://y"])
def test_a_target_that_names_no_host_of_http_is_refused(target: bytes) -> None:
    with pytest.raises(h11.RemoteProtocolError):
        events(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % target)


def test_a_head_that_never_ends_is_refused_at_its_limit() -> None:
    with pytest.raises(h11.RemoteProtocolError) as caught:
        events(HEAD + b"X: " + b"a" * (MAX_HEAD + 1))
    assert caught.value.error_status_hint == 431
    assert isinstance(events(HEAD + b"X: " + b"a" * (MAX_HEAD - 200) + b"\r\n\r\n")[0], h11.Request)
