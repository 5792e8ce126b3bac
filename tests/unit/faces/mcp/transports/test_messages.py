"""Responses to messages that are not JSON-RPC."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.faces.mcp.transports.messages import MAX_TOKENS, MessageError, check_message, read_message

DEEP = b"[" * 5000 + b"]" * 5000


def answer(raw: bytes) -> tuple[int, int | str | None]:
    """Code and id of the error that answers what came."""
    with pytest.raises(MessageError) as caught:
        read_message(raw)
    return caught.value.answer.error.code, caught.value.answer.id


@each_case(
    ("raw", "expected"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"x":%s}}' % DEEP, 7),
        (b'{"params":{"x":%s},"jsonrpc":"2.0","method":"m","id":"a \\"b\\" [{"}' % DEEP, 'a "b" [{'),
        (b'{"jsonrpc":"2.0","method":"m","params":{"id":8,"x":%s}}' % DEEP, None),
        (b'{"jsonrpc":"2.0","id":%s,"method":"m"}' % DEEP, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"x":%s}}' % (b"1" * 5000), 7),
        (b'{"jsonrpc":"2.0","id":%s,"method":"m"}' % (b"1" * 5000), None),
        (DEEP, None),
        (b'{"jsonrpc":"1.0","id":7,"method":"m"}', 7),
        (b'{"jsonrpc":2.0,"id":7,"method":"m"}', 7),
        (b'{"id":"x","method":"m"}', "x"),
        (b'{"jsonrpc":"2.0","id":7,"method":5}', 7),
        (b'{"jsonrpc":"2.0","id":7,"method":null}', 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"m","params":[1]}', 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"m","params":"x"}', 7),
        (b'{"jsonrpc":"2.0","id":7}', 7),
        (b'{"jsonrpc":"2.0","id":7,"result":[]}', 7),
        (b'{"jsonrpc":"2.0","id":7,"error":"x"}', 7),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"m"}', None),
        (b'{"jsonrpc":"2.0","id":true,"method":"m"}', None),
        (b'{"jsonrpc":"2.0","id":null,"method":"m"}', None),
        (b'{"jsonrpc":"2.0","id":{},"method":"m"}', None),
        (b'[{"jsonrpc":"2.0","id":7,"method":"m"}]', None),
        (b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"x":"\\ud800"}}', 7),
        (b"[]", None),
        (b"{}", None),
        (b'"x"', None),
        (b"7", None),
    ],
)
def test_json_that_is_no_message_is_an_invalid_request_with_its_id(raw: bytes, expected: int | str | None) -> None:
    assert answer(raw) == (-32600, expected)


def test_an_id_with_half_a_surrogate_pair_is_no_id_and_its_answer_can_be_sent() -> None:
    assert answer(b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}') == (-32600, None)


def test_halves_of_surrogate_pairs_can_be_left_for_others_to_refuse() -> None:
    check_message(b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"x":"\\ud800"}}', surrogates=True)
    with pytest.raises(MessageError):
        check_message(b'{"jsonrpc":"2.0","id":7,"method":5,"params":{"x":"\\ud800"}}', surrogates=True)


@each_case(
    "raw",
    [
        b"",
        b"{",
        b'{"jsonrpc":"2.0","id":7',
        b'{"jsonrpc":"2.0","id":7,"method":"\xff"}',
        b'{"jsonrpc":"2.0","id":7,"method":"m"}}',
        b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"x":%s}' % DEEP,
        b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"x":%s}}' % (b"[" * 5000 + b"}" * 5000),
        b'{"jsonrpc":"2.0","id":7 7,"method":"m","params":{"x":%s}}' % DEEP,
        b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"x":%s,"y":"' % DEEP,
    ],
)
def test_what_is_no_json_is_a_parse_error_without_an_id(raw: bytes) -> None:
    assert answer(raw) == (-32700, None)


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_a_message_that_is_nested_without_end_is_answered_with_its_id_where_that_stands_first_or_last(
    opening: bytes, closing: bytes
) -> None:
    deep = opening * 100_000 + b"1" + closing * 100_000
    assert answer(b'{"jsonrpc":"2.0","id":"first","method":"m","params":{"x":%s}}' % deep) == (-32600, "first")
    assert answer(b'{"jsonrpc":"2.0","method":"m","params":{"x":%s},"id":7}\n' % deep) == (-32600, 7)
    assert answer(b'{"jsonrpc":"2.0","x":%s,"id":7,"y":%s}' % (deep, deep)) == (-32600, None)
    assert answer(deep) == (-32600, None)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_of_json_is_a_parse_error(number: str) -> None:
    for params in ('{"x":%s}', '{"x":[{"y":%s}],"z":"\\ud800"}'):
        raw = f'{{"jsonrpc":"2.0","id":7,"method":"m","params":{params % number}}}'.encode()
        assert answer(raw) == (-32700, None)
    text = f'{{"jsonrpc":"2.0","id":7,"method":"m","params":{{"x":"{number}"}}}}'.encode()
    assert read_message(text)


def test_a_number_that_would_become_infinite_is_refused_with_the_id() -> None:
    for number in (b"1e999", b"-1E+400", b"1" * 400 + b".5"):
        assert answer(b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"x":%s}}' % number) == (-32600, 7)
    assert read_message(b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"x":1e300,"y":1e-999}}')


@pytest.mark.soak
def test_looking_for_an_id_ends_however_much_there_is_to_look_through() -> None:
    """Each of these took minutes where every quotation mark or bracket began a search of its own."""
    opened = b'{"jsonrpc":"2.0","x":%s,"y":' % DEEP
    assert answer(opened + b'"' + b'\\"' * 4_000_000) == (-32700, None)
    assert answer(opened + b'"' + b'\\"' * 4_000_000 + b"\\") == (-32700, None)
    assert answer(b"[" * 8_000_000)[0] == -32600
    assert answer(b"{" + b'"a":[],' * MAX_TOKENS + b'"b":%s,"id":7}' % DEEP) == (-32600, 7)


@each_case(
    "raw",
    [
        b'{"jsonrpc":"2.0","id":7,"method":"m"}',
        b'{"jsonrpc":"2.0","id":"","method":"m","params":null}',
        b'{"jsonrpc":"2.0","method":"m","params":{}}',
        b'{"jsonrpc":"2.0","id":-7,"method":"m","params":{"x":%s}}' % (b"[" * 150 + b"]" * 150),
        b'{"jsonrpc":"2.0","id":7,"result":{}}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":""}}',
    ],
)
def test_a_message_is_read(raw: bytes) -> None:
    assert read_message(raw).jsonrpc == "2.0"
