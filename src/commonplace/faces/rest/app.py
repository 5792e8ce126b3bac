"""The API as an ASGI application: finds the endpoint, validates the request, runs it in a thread, responds."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_json
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from commonplace.domain.changes import recording_retained, recording_waiting_index
from commonplace.domain.errors import ForbiddenError, InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.json import Json
from commonplace.faces.access.callers import Caller, allows, caller_of
from commonplace.faces.call_log import traced_call
from commonplace.faces.new_findings import new_finding_json
from commonplace.faces.responses import json_bytes, send_body, send_bytes, send_empty, send_error, send_json
from commonplace.faces.rest.endpoint import (
    MAX_BODY_BYTES,
    Endpoint,
    RestContract,
    RestRequest,
    RestResponse,
)
from commonplace.faces.rest.openapi import document
from commonplace.faces.rest.routing import MethodError, Option, Router, select_match
from commonplace.faces.rest.validation import MalformedError, accepts_bytes, conditions_of, request_body, request_query
from commonplace.faces.retained import in_no_commit, retained_list
from commonplace.faces.worker_threads import run_in_worker, unless_gone
from commonplace.services.findings import findings_of_writes
from commonplace.services.services import Services
from commonplace.services.writes.recorded import recording_writes
from commonplace.services.writes.retries import call_on_latest

API_PREFIX = "/api/v1"
DOCUMENT = "/openapi.json"
READY_TIMEOUT = 45.0
"""Timeout in seconds for the first index."""


class RestApi:
    """The API over the services.

    Requests have passed the guard: the caller is known and the body is within `max_body`.
    """

    def __init__(self, services: Services, contract: RestContract) -> None:
        self._services = services
        self._contract = contract
        self._endpoints = contract.endpoints()
        self._router = Router(self._endpoints)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        with_body = scope["method"] != "HEAD"
        try:
            options = self._router.options(_below(scope))
            if not options:
                await self._answer_document(send, scope, with_body=with_body)
                return
            body = await Request(scope, receive).body()
            reads = all(one.tier in {None, "read"} for _, one in options if one.method == method)
            answer = partial(self._answer, scope, method, options, body)
            reply = await unless_gone(receive, run_in_worker(answer, reads=reads))
            if reply is None:
                return
        except MethodError as error:
            await send_error(send, error, status=405, headers=(("allow", error.allowed),))
        except MalformedError as error:
            await send_error(send, error, status=400)
        except KnowledgeError as error:
            await send_error(send, error)
        else:
            if reply.media_type:
                await send_bytes(send, reply.status, reply.body, reply.media_type, reply.headers, with_body=with_body)
            elif reply.value is None:
                await send_empty(send, reply.status, reply.headers)
            else:
                await send_body(send, reply.status, reply.body, reply.headers, with_body=with_body)

    def max_body(self, scope: Scope) -> int:
        """Maximum size of a request's body in bytes."""
        try:
            options = self._router.options(_below(scope))
        except InvalidInputError:  # raised again when the request is served
            return MAX_BODY_BYTES
        return max((one.max_body for _, one in options if one.method == scope["method"]), default=MAX_BODY_BYTES)

    def takes_any_type(self, scope: Scope) -> bool:
        """Whether an endpoint accepts a body of any media type."""
        try:
            options = self._router.options(_below(scope))
        except InvalidInputError:  # raised again when the request is served
            return False
        return any(one.takes_bytes for _, one in options if one.method == scope["method"])

    def is_open(self, scope: Scope) -> bool:
        """Whether a request needs no key."""
        try:
            options = self._router.options(_below(scope))
        except InvalidInputError:  # raised again when the request is served
            return False
        return bool(options) and all(one.tier is None for _, one in options)

    @cached_property
    def _document(self) -> Json:
        return document(self._endpoints, self._contract.description)

    async def _answer_document(self, send: Send, scope: Scope, *, with_body: bool) -> None:
        if _below(scope) != DOCUMENT.encode():
            raise NotFoundError(
                "There is nothing at this URL.", kind="url", hint=f"{API_PREFIX}{DOCUMENT} lists what there is."
            )
        if scope["method"] not in {"GET", "HEAD"}:
            raise MethodError(["GET"])
        await send_json(send, 200, self._document, with_body=with_body)

    def _answer(self, scope: Scope, method: str, options: Sequence[Option], body: bytes) -> RestResponse:
        services = self._services.only(caller_of(scope).collections)
        if options[0][1].tier is not None:
            services.collections.wait_ready(READY_TIMEOUT, _untold)
        if method in {"GET", "HEAD"}:
            return self._answer_once(scope, method, options, body, services)
        found = services.collections.opened
        return call_on_latest(found, lambda: self._answer_once(scope, method, options, body, services))

    def _answer_once(
        self, scope: Scope, method: str, options: Sequence[Option], body: bytes, services: Services
    ) -> RestResponse:
        caller = caller_of(scope)
        headers = Headers(scope=scope)
        place, endpoint = select_match(options, method, partial(self._contract.is_document, services))
        named = f"{endpoint.method} {endpoint.template}"
        with (
            traced_call(named),
            recording_retained() as kept,
            recording_waiting_index() as waiting,
            recording_writes() as writes,
        ):
            _require_tier(endpoint, caller)
            reply = endpoint.run(
                RestRequest(
                    services=services,
                    caller=caller,
                    path=place.path,
                    filename=place.filename,
                    query=request_query(endpoint, scope["query_string"]),
                    body=request_body(endpoint, body),
                    conditions=conditions_of(headers),
                    content=body if endpoint.takes_bytes else b"",
                    accepts_bytes=endpoint.gives_bytes and accepts_bytes(headers),
                )
            )
            if reply.value is None:
                return reply
            further: dict[str, Json] = {}
            if in_no_commit(kept):
                further["kept"] = retained_list(in_no_commit(kept))
            if waiting:
                further["index_waits"] = " ".join(waiting)
            if writes.receipts or writes.findings:
                further |= new_finding_json(findings_of_writes(services.collections, writes))
            return replace(reply, body=_rendered(reply.value, further))


def _untold(done: int, total: int) -> None:
    """Discard progress, which REST does not report."""
    del done, total


def _below(scope: Scope) -> bytes:
    """The path after the API's prefix, still percent-encoded."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    return raw.partition(b"?")[0].removeprefix(API_PREFIX.encode())


def _require_tier(endpoint: Endpoint, caller: Caller) -> None:
    if endpoint.tier is not None and not allows(caller.tier, endpoint.tier):
        raise ForbiddenError(
            f"This needs the tier {endpoint.tier}; yours is {caller.tier}.",
            kind="tier",
            hint="Use a key of a higher tier.",
        )


def _rendered(value: BaseModel, further: dict[str, Json]) -> bytes:
    """A value as JSON, with further members."""
    if not further:
        with suppress(PydanticSerializationError):  # a lone surrogate, which `json_bytes` replaces
            return to_json(value, inf_nan_mode="null")
    shown: dict[str, Json] = value.model_dump(mode="python")
    return json_bytes(shown | further)
