"""Parameters, bodies and conditions of requests."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import Field
from starlette.datastructures import Headers

from cases import each_case
from commonplace.domain.errors import InvalidInputError
from commonplace.faces.rest.app import (
    MAX_PARAMETERS,
    MalformedError,
    accepts_bytes,
    conditions_of,
    request_body,
    request_query,
)
from commonplace.faces.rest.endpoint import Endpoint, Problem, QueryParameters, RequestBody, RestResponse


class Query(QueryParameters):
    q: str = ""
    limit: Annotated[int, Field(ge=1, le=50)] = 10


class Needed(QueryParameters):
    path: str


class Body(RequestBody):
    text: str
    tags: list[str] = Field(default_factory=list)


ENDPOINT = Endpoint(
    method="PUT",
    template="/x",
    summary="",
    run=lambda _: RestResponse(None),
    answers={200: Problem},
    query=Query,
    body=Body,
)
LENIENT = Endpoint(
    method="POST",
    template="/x",
    summary="",
    run=lambda _: RestResponse(None),
    answers={},
    query=Needed,
    body=Body,
    body_needed=False,
)


@each_case(
    ("given", "query"),
    [
        (b"", Query()),
        (b"q=a+b%26c&limit=5", Query(q="a b&c", limit=5)),
        (b"limit=1&limit=2&other=x", Query(limit=2)),
        (b"q=", Query(q="")),
        (b"q=%E6%BD%AE", Query(q="潮")),
        (b"&".join([b"q=a"] * MAX_PARAMETERS), Query(q="a")),
    ],
)
def test_the_last_of_a_parameter_counts_and_unknown_ones_do_not(given: bytes, query: Query) -> None:
    assert request_query(ENDPOINT, given) == query


@each_case(
    ("given", "said"),
    [
        (b"limit=0", "Invalid parameter limit: .*greater than or equal to 1"),
        (b"limit=", "Invalid parameter limit: .*valid integer"),
        (b"limit=1e3", "Invalid parameter limit"),
        (b"q=%ff", "no percent-encoded UTF-8"),
        (b"q=\xff", "no percent-encoded UTF-8"),
        (b"&".join([b"q=a"] * (MAX_PARAMETERS + 1)), f"more than {MAX_PARAMETERS} parameters"),
    ],
)
def test_a_wrong_parameter_is_named_with_what_is_valid(given: bytes, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said) as caught:
        request_query(ENDPOINT, given)
    assert caught.value.hint
    assert not isinstance(caught.value, MalformedError)


def test_a_missing_parameter_is_named() -> None:
    with pytest.raises(InvalidInputError, match=r"^Missing parameter path\.$"):
        request_query(LENIENT, b"q=a")


@each_case(
    "body",
    [b"", b"null", b"[]", b'"text"', b"{", b"\xff", b'{"text": "\\ud800"}', b"1", b"NaN", b'\xef\xbb\xbf{"text": ""}'],
)
def test_a_body_that_is_no_object_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedError) as caught:
        request_body(ENDPOINT, body)
    assert caught.value.kind == "body"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{}", r"^Missing key text\.$"),
        (b'{"text": 5}', "Invalid key text: .*valid string"),
        (b'{"text": "", "tags": "a"}', "Invalid key tags: .*valid"),
        (b'{"text": "", "tags": [1]}', r"Invalid key tags\.0: .*valid string"),
    ],
)
def test_a_wrong_key_is_named_with_what_is_valid(body: bytes, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said) as caught:
        request_body(ENDPOINT, body)
    assert caught.value.kind == "key"


def test_very_many_wrong_keys_make_no_long_message() -> None:
    with pytest.raises(InvalidInputError, match=r"And 9,990 more\.$") as caught:
        request_body(ENDPOINT, b'{"text": "", "tags": [' + b",".join([b"1"] * 10_000) + b"]}")
    assert len(str(caught.value)) < 1_500


def test_an_empty_body_is_none_where_none_is_needed() -> None:
    assert request_body(LENIENT, b"") is None
    assert request_body(LENIENT, b'{"text": "a", "other": 1}') == Body(text="a")


@each_case(
    ("match", "tags"),
    [
        ("*", ("*",)),
        (' "a" , "b,c" ', ("a", "b,c")),
        ('W/"a", "b"', ("b",)),
        ('W/"a"', ()),
        ('"*"', ('"*"',)),
        ('""', ("",)),
    ],
)
def test_conditions_hold_the_tags_that_can_match(match: str, tags: tuple[str, ...]) -> None:
    assert conditions_of(Headers({"if-match": match})).match == tags
    assert conditions_of(Headers({})).is_empty
    assert conditions_of(Headers({"if-none-match": 'W/"a"'})).none_match == ("a",)


def test_a_header_that_stands_twice_is_one_list() -> None:
    headers = Headers(raw=[(b"if-match", b'"a"'), (b"if-match", b'"b"')])
    assert conditions_of(headers).match == ("a", "b")


@each_case("match", ["", "a", '"a', '"a" "b"', "*, *", '"a", *', "W/a", ",", 'x"a"', '"a"' + "," * 50_000 + "x"])
def test_a_header_that_holds_no_tags_is_malformed(match: str) -> None:
    for name in ("if-match", "if-none-match"):
        with pytest.raises(MalformedError, match=name):
            conditions_of(Headers({name: match}))


@each_case(
    ("accept", "expected"),
    [
        ("application/octet-stream", True),
        ("Application/Octet-Stream;q=0.5, */*", True),
        ("application/octet-stream, application/json", False),
        ("*/*", False),
        ("", False),
    ],
)
def test_bytes_are_for_who_names_them_and_no_json(accept: str, expected: bool) -> None:
    assert accepts_bytes(Headers({"accept": accept})) is expected
    assert accepts_bytes(Headers({})) is False
