"""The API as an application: which endpoint answers, how errors are told, what a request may be."""

from __future__ import annotations

import threading
from collections.abc import Callable

import anyio
import pytest
from pydantic import BaseModel
from starlette.types import Message

from asgi import Answer, asked
from cases import each_case
from commonplace.domain.errors import ConflictError, InvalidInputError, NotFoundError, StorageError
from commonplace.faces.access.callers import SCOPE_KEY, Caller
from commonplace.faces.rest.app import RestApi
from commonplace.faces.rest.endpoint import (
    Endpoint,
    QueryParameters,
    RequestBody,
    RestContract,
    RestRequest,
    RestResponse,
)
from commonplace.services.collections import Collections
from commonplace.services.services import Services
from commonplace.settings import Tier


class Said(BaseModel):
    text: str = ""
    number: float = 0.0


class PageQuery(QueryParameters):
    n: int = 0


class Sent(RequestBody):
    text: str


def echo(request: RestRequest) -> RestResponse:
    assert isinstance(request.query, PageQuery)
    body = request.body.text if isinstance(request.body, Sent) else ""
    return RestResponse(Said(text=f"{request.path}|{body}", number=request.query.n), 201, (("x-own", "1"),))


def failing(error: Exception) -> Callable[[RestRequest], RestResponse]:
    def run(_: RestRequest) -> RestResponse:
        raise error

    return run


def row(
    method: str, template: str, run: Callable[[RestRequest], RestResponse], tier: Tier | None = "read", **more: object
) -> Endpoint:
    return Endpoint(method=method, template=template, summary="", run=run, answers={200: Said}, tier=tier, **more)  # type: ignore[arg-type]


ROWS = (
    row("GET", "/health", lambda _: RestResponse(Said(text="ok")), tier=None),
    row("GET", "/pages/{path}", echo, query=PageQuery),
    row("PUT", "/pages/{path}", echo, tier="write", query=PageQuery, body=Sent),
    row("GET", "/half", lambda _: RestResponse(Said(text="\ud800", number=1.5))),
    row("GET", "/no-number", lambda _: RestResponse(Said(text="", number=float("nan")))),
    row("GET", "/nothing", lambda _: RestResponse(None, 204)),
    row("GET", "/bytes", lambda _: RestResponse(None, 200, (), b"\x00\xff", "application/octet-stream")),
    row("PUT", "/bytes", lambda r: RestResponse(Said(text=str(len(r.content)))), takes_bytes=True, max_body=7),
    row("GET", "/errors/missing", failing(NotFoundError("None.", kind="document", nearest=["a"]))),
    row("GET", "/errors/conflict", failing(ConflictError("Changed.", kind="document"))),
    row("GET", "/errors/invalid", failing(InvalidInputError("No.", kind="key"))),
    row("GET", "/errors/storage", failing(StorageError("Disk.", kind="file"))),
    row("GET", "/errors/bug", failing(RuntimeError("/secret/path"))),
)
API = RestApi(
    Services(collections=Collections(list)),
    RestContract(description="d", endpoints=lambda: ROWS, is_document=lambda _s, _p: True),
)


def ask(method: str, path: str, tier: Tier = "admin", *, body: bytes = b"", raw: bytes | None = None) -> Answer:
    scope: dict[str, object] = {SCOPE_KEY: Caller("", tier)}
    if raw is not None:
        scope["raw_path"] = raw
    return asked(API, method, f"/api/v1{path}", body=body, scope=scope)


def test_a_request_reaches_its_endpoint_with_its_path_query_and_body() -> None:
    answer = ask("PUT", "/pages/a/b?n=7", body=b'{"text": "t"}')

    assert (answer.status, answer.json) == (201, {"text": "a/b|t", "number": 7.0})
    assert answer.headers["x-own"] == "1"
    assert answer.headers["content-type"] == "application/json"


def test_head_is_a_get_without_its_body() -> None:
    got, head = ask("GET", "/pages/a"), ask("HEAD", "/pages/a")
    assert (head.status, head.body) == (got.status, b"")
    assert head.headers == got.headers
    assert ask("HEAD", "/openapi.json").body == b""


def test_the_document_is_an_endpoint_of_its_own() -> None:
    assert ask("GET", "/openapi.json").json["info"]["description"] == "d"
    assert ask("GET", "/openapi.json", "read").status == 200
    refused = ask("POST", "/openapi.json")
    assert (refused.status, refused.headers["allow"]) == (405, "GET, HEAD")


@each_case("path", ["", "/", "/page", "/openapi.json/x", "/health/x", "/%2e%2e", "//health"])
def test_what_is_no_endpoint_is_not_found(path: str) -> None:
    answer = ask("GET", path)
    assert (answer.status, answer.json["code"]) == (404, "not_found")
    assert "/api/v1/openapi.json" in answer.json["hint"]


def test_a_method_that_a_url_does_not_take_is_told_with_those_that_it_takes() -> None:
    answer = ask("DELETE", "/pages/a")
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD, PUT")


@each_case(
    ("path", "status", "code"),
    [
        ("/errors/missing", 404, "not_found"),
        ("/errors/conflict", 409, "conflict"),
        ("/errors/invalid", 422, "invalid"),
        ("/errors/storage", 500, "storage"),
        ("/errors/bug", 500, "internal"),
        ("/pages/a?n=x", 422, "invalid"),
        ("/pages/%ff", 422, "invalid"),
    ],
)
def test_an_error_has_its_status_and_tells_nothing_of_the_machine(path: str, status: int, code: str) -> None:
    answer = ask("GET", path, raw=f"/api/v1{path.partition('?')[0]}".encode())
    assert (answer.status, answer.json["code"]) == (status, code)
    assert "/secret" not in answer.text


@pytest.mark.parametrize(("body", "status"), [(b"", 400), (b"[]", 400), (b"{}", 422), (b'{"text": 1}', 422)])
def test_a_body_that_is_no_object_is_another_error_than_a_wrong_one(body: bytes, status: int) -> None:
    assert ask("PUT", "/pages/a", body=body).status == status


@pytest.mark.parametrize(("tier", "status"), [("read", 403), ("write", 201), ("admin", 201)])
def test_a_tier_is_needed_and_named(tier: Tier, status: int) -> None:
    answer = ask("PUT", "/pages/a", tier, body=b'{"text": ""}')
    assert answer.status == status
    if status == 403:
        assert answer.json["error"] == "This needs the tier write; yours is read."


def test_what_json_cannot_say_is_still_json() -> None:
    half = ask("GET", "/half")
    assert half.status == 200
    assert "\ud800" not in half.json["text"]
    assert ask("GET", "/no-number").json["number"] is None


def test_bytes_and_nothing_are_answers_too() -> None:
    assert (ask("GET", "/nothing").status, ask("GET", "/nothing").body) == (204, b"")
    answer = ask("GET", "/bytes")
    assert (answer.body, answer.headers["content-type"]) == (b"\x00\xff", "application/octet-stream")
    assert ask("PUT", "/bytes", body=b"\xff" * 5).json["text"] == "5"


def test_the_guard_is_told_what_each_request_may_be() -> None:
    def scope(method: str, path: str) -> dict[str, object]:
        return {"method": method, "path": path, "raw_path": path.encode()}

    assert API.max_body(scope("PUT", "/api/v1/bytes")) == 7
    assert API.max_body(scope("PUT", "/api/v1/%ff")) > 7
    assert API.takes_any_type(scope("PUT", "/api/v1/bytes"))
    assert not API.takes_any_type(scope("GET", "/api/v1/bytes"))
    assert not API.takes_any_type(scope("PUT", "/api/v1/%ff"))
    opened = [
        path
        for path in ("/health", "/health/", "/pages/health", "/openapi.json", "/healthy")
        if API.is_open(scope("GET", f"/api/v1{path}"))
    ]
    assert opened == ["/health"]


def test_a_client_that_goes_is_not_waited_for() -> None:
    running, released = threading.Event(), threading.Event()

    def slow(_: RestRequest) -> RestResponse:
        running.set()
        released.wait(20)
        return RestResponse(Said())

    rows = (row("GET", "/slow", slow),)
    api = RestApi(
        Services(collections=Collections(list)),
        RestContract(description="", endpoints=lambda: rows, is_document=lambda _s, _p: True),
    )
    sent: list[Message] = []
    messages = iter([{"type": "http.request", "body": b""}])

    async def receive() -> Message:
        if first := next(messages, None):
            return first
        await anyio.to_thread.run_sync(running.wait, 20)
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/api/v1/slow",
        "query_string": b"",
        "headers": [],
        SCOPE_KEY: Caller("", "read"),
    }
    try:
        anyio.run(api, scope, receive, send)
        assert sent == []
    finally:
        released.set()
