"""Responses of the whole application when a part of it fails."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from starlette.types import Message, Receive, Scope, Send

from commonplace.faces.access.authentication import Authenticator, KeyStore
from commonplace.faces.access.callers import RateLimiter
from commonplace.faces.http.app import App, MountedApp, small_body
from commonplace.faces.http.guard import Guard, RouteRules, allowed_hosts_of


def asked(folder: Path, path: str, method: str = "GET", *, cancel: bool = False) -> list[Message]:
    """The messages of an application whose part at `/early` fails before its response, and at `/late` in the middle.

    The part at `/endless` never responds; `cancel` ends the request as a server does at its shutdown.
    """

    async def early(*_: object) -> None:
        raise RuntimeError(path)

    async def late(_: Scope, __: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError(path)

    async def endless(*_: object) -> None:
        entered.set()
        await asyncio.Event().wait()

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    async def send(message: Message) -> None:
        sent.append(message)

    async def run() -> None:
        request = asyncio.create_task(app(scope, receive, send))
        if cancel:
            await entered.wait()
            request.cancel()
        await request

    sent: list[Message] = []
    entered = asyncio.Event()
    rules = RouteRules(small_body, lambda _: False)
    guard = Guard(
        allowed_hosts_of("127.0.0.1", None), Authenticator(KeyStore(folder), always_closed=False), RateLimiter(0)
    )
    parts = {"/early": early, "/late": late, "/endless": endless}
    app = App([MountedApp(prefix, part, rules) for prefix, part in parts.items()], guard)
    scope = {"type": "http", "method": method, "path": path, "headers": [(b"host", b"localhost")], "client": None}
    asyncio.run(run())
    return sent


def test_a_failure_that_nobody_foresaw_is_answered_in_json_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    start, body = asked(tmp_path, "/early")
    assert start["status"] == 500
    assert (b"content-type", b"application/json") in start["headers"]
    assert json.loads(body["body"])["code"] == "internal"
    assert "a request failed before it was answered" in caplog.text
    assert caplog.records[0].exc_info


@pytest.mark.parametrize(("method", "status", "kind"), [("GET", 503, "ending"), ("PUT", 500, "unknown")])
def test_a_request_that_the_server_cannot_finish_before_its_end_is_answered_in_json(
    tmp_path: Path, method: str, status: int, kind: str
) -> None:
    start, body = asked(tmp_path, "/endless", method, cancel=True)
    assert start["status"] == status
    assert json.loads(body["body"])["kind"] == kind


def test_a_failure_in_the_middle_of_an_answer_ends_it(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        asked(tmp_path, "/late")
