"""The API as an ASGI application: finds the endpoint, validates the request, runs it in a thread, responds."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import TypeAlias, TypeVar
from urllib.parse import parse_qsl, unquote_to_bytes

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError, to_json
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from commonplace.domain.changes import RetainedCopy, recording_retained, recording_waiting_index
from commonplace.domain.errors import InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.json import Json, NotFiniteError, require_finite
from commonplace.domain.proposals import Proposal, Proposer, recording_proposed
from commonplace.domain.revisions import Conditions
from commonplace.faces.access.callers import Caller, caller_of, combined, require_tier
from commonplace.faces.call_log import traced_call
from commonplace.faces.freshness import patience
from commonplace.faces.responses import json_bytes, send_body, send_bytes, send_empty, send_error, send_json
from commonplace.faces.rest import proposals
from commonplace.faces.rest.endpoint import (
    MAX_BODY_BYTES,
    Endpoint,
    QueryParameters,
    RestContract,
    RestRequest,
    RestResponse,
    document,
)
from commonplace.faces.worker_threads import run_in_worker, unless_gone
from commonplace.faces.write_output import in_no_commit, new_finding_json, retained_list
from commonplace.services.collections import UNFINISHED_SECONDS
from commonplace.services.findings import findings_of_writes
from commonplace.services.proposals.views import network_proposer, proposal_ids, proposal_lines, proposing
from commonplace.services.services import Services
from commonplace.services.writes.recorded import RecordedWrites, recording_writes
from commonplace.services.writes.retries import call_on_latest

API_PREFIX = "/api/v1"
DOCUMENT = "/openapi.json"
PURPOSE_HEADER = "commonplace-purpose"
"""Header in which a caller states a purpose; writes of one key and purpose are one proposal."""
READY_TIMEOUT = 45.0
"""Timeout in seconds for the first index."""


class RestApi:
    """The API over the services.

    Requests have passed the guard: the caller is known and the body is within `max_body`.
    """

    def __init__(self, services: Services, contract: RestContract) -> None:
        self._services = services
        self._contract = contract
        common = (*proposals.endpoints(), *proposals.activity_endpoints()) if contract.proposes else ()
        self._endpoints = (*contract.endpoints(), *common)
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
            reads = method == "GET" or all(
                endpoint.tier in {None, "read"} for _, endpoint in _with_method(options, method)
            )
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
            await _send_reply(send, reply, with_body=with_body)

    def max_body(self, scope: Scope) -> int:
        """Maximum size of a request's body in bytes."""
        try:
            options = self._router.options(_below(scope))
        except InvalidInputError:  # raised again when the request is served
            return MAX_BODY_BYTES
        return max(
            (endpoint.max_body for _, endpoint in options if endpoint.method == scope["method"]), default=MAX_BODY_BYTES
        )

    def takes_any_type(self, scope: Scope) -> bool:
        """Whether an endpoint accepts a body of any media type."""
        try:
            options = self._router.options(_below(scope))
        except InvalidInputError:  # raised again when the request is served
            return False
        return any(endpoint.takes_bytes for _, endpoint in options if endpoint.method == scope["method"])

    def is_open(self, scope: Scope) -> bool:
        """Whether a request needs no key."""
        try:
            options = self._router.options(_below(scope))
        except InvalidInputError:  # raised again when the request is served
            return False
        return bool(options) and all(endpoint.tier is None for _, endpoint in options)

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
        if all(endpoint.answers_unfinished for _, endpoint in options):
            services.collections.wait_searchable(patience(scope, UNFINISHED_SECONDS), _untold)
        elif options[0][1].tier is not None:
            services.collections.wait_ready(READY_TIMEOUT, _untold)
        if method in {"GET", "HEAD"}:
            return self._answer_once(scope, method, options, body, services)
        collections = services.collections.opened
        return call_on_latest(collections, lambda: self._answer_once(scope, method, options, body, services))

    def _answer_once(
        self, scope: Scope, method: str, options: Sequence[Option], body: bytes, services: Services
    ) -> RestResponse:
        caller = caller_of(scope)
        headers = Headers(scope=scope)
        proposer = _proposer(caller, headers)
        with ExitStack() as recording:
            served, shown = services, dict[str, Proposal]()
            if caller.tier == "propose" and self._contract.proposes:
                view = recording.enter_context(proposing(services, proposer, writes=method != "GET"))
                services, served, shown = view.services, view.served, dict(view.shown)
            place, endpoint = select_match(options, method, partial(self._contract.is_document, services))
            named = f"{endpoint.method} {endpoint.template}"
            recording.enter_context(traced_call(named))
            actor = caller.actor("rest", named, client=proposer.client)
            recording.enter_context(services.watch(actor, caller.limits, reads=method == "GET"))
            copies = recording.enter_context(recording_retained())
            waiting = recording.enter_context(recording_waiting_index())
            writes = recording.enter_context(recording_writes())
            proposed = recording.enter_context(recording_proposed())
            require_tier(caller.tier, endpoint.tier, proposes=self._contract.proposes and endpoint.proposes)
            query = request_query(endpoint, scope["query_string"])
            reply = endpoint.run(
                RestRequest(
                    services=services,
                    served=served,
                    caller=caller,
                    proposer=proposer,
                    path=place.path,
                    filename=place.filename,
                    query=query,
                    body=request_body(endpoint, body),
                    conditions=conditions_of(headers),
                    content=body if endpoint.takes_bytes else b"",
                    accepts_bytes=endpoint.gives_bytes and accepts_bytes(headers),
                )
            )
            if reply.value is None:
                return reply
            further = _of_writes(services, copies, waiting, writes)
            seen = {} if endpoint.template.startswith("/proposals") or getattr(query, "at", "") else shown
            if lines := proposal_lines(proposed, seen):  # a decision says itself what it did, and none is in the past
                further |= {"proposal": " ".join(lines), "proposal_ids": proposal_ids(proposed, seen)}
            return replace(reply, body=_rendered(reply.value, further))


def _untold(done: int, total: int) -> None:
    """Discard progress, which REST does not report."""
    del done, total


def _below(scope: Scope) -> bytes:
    """The path after the API's prefix, still percent-encoded."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    return raw.partition(b"?")[0].removeprefix(API_PREFIX.encode())


def _proposer(caller: Caller, headers: Headers) -> Proposer:
    """The caller as a proposer. Its writes gather in one proposal for each purpose that it states."""
    program = combined(headers, "user-agent").partition(" ")[0]
    return network_proposer(caller.id, caller.address, None, combined(headers, PURPOSE_HEADER), program)


def _rendered(value: BaseModel, further: dict[str, Json]) -> bytes:
    """A value as JSON, with further members."""
    if not further:
        with suppress(PydanticSerializationError):  # a lone surrogate, which `json_bytes` replaces
            return to_json(value, inf_nan_mode="null")
    shown: dict[str, Json] = value.model_dump(mode="python")
    return json_bytes(shown | further)


# Routing of URLs to endpoints.
#
# Paths are split before they are decoded: `notes%2Fhistory` is one segment and names a page, `notes/history` is two
# segments. Some URLs can name a page or an operation on a page (`/pages/notes/history`). Such a URL means the page if
# it exists, else the operation, and never creates a page.


Option: TypeAlias = "tuple[RouteMatch, Endpoint]"
MAX_CACHED_PATHS = 256
"""Number of paths whose endpoints are cached. Each request looks them up several times."""
PATH = "{path}"
"""The variable of a template that matches one or more segments of a URL."""


@dataclass(frozen=True, slots=True)
class RouteMatch:
    """A template that matches a URL, with the values of its variables."""

    template: str
    path: str = ""
    filename: str = ""


class MethodError(InvalidInputError):
    """The resource does not support the method: status 405."""

    def __init__(self, methods: Sequence[str], more: str = "") -> None:
        shown = dict.fromkeys(
            name for method in methods for name in (("GET", "HEAD") if method == "GET" else (method,))
        )
        self.allowed = ", ".join(shown)
        """Value of the `Allow` header."""
        super().__init__("This URL does not take this method.", kind="method", hint=f"It takes {self.allowed}.{more}")


def _of_writes(
    services: Services, copies: Sequence[RetainedCopy], waiting: Sequence[str], writes: RecordedWrites
) -> dict[str, Json]:
    """The part of an answer about its writes: copies in no commit, what waits for Git's index, new findings."""
    further: dict[str, Json] = {}
    if in_no_commit(copies):
        further["kept"] = retained_list(in_no_commit(copies))
    if waiting:
        further["index_waits"] = " ".join(waiting)
    if writes.receipts or writes.findings:
        further |= new_finding_json(findings_of_writes(services.collections, writes))
    return further


async def _send_reply(send: Send, reply: RestResponse, *, with_body: bool) -> None:
    if reply.media_type:
        await send_bytes(send, reply.status, reply.body, reply.media_type, reply.headers, with_body=with_body)
    elif reply.value is None:
        await send_empty(send, reply.status, reply.headers)
    else:
        await send_body(send, reply.status, reply.body, reply.headers, with_body=with_body)


def _with_method(options: Sequence[Option], method: str) -> list[Option]:
    return [option for option in options if option[1].method == method]


def select_match(options: Sequence[Option], method: str, is_page: Callable[[str], bool]) -> Option:
    """Select one of the matches of a URL.

    Args:
        options: The matches, at least one; a page before operations.
        method: The request's method; GET for HEAD.
        is_page: Whether a page exists at a path; called only if the URL also matches an operation.

    Raises:
        MethodError: no selected endpoint has this method.
    """
    operations = [option for option in options if option[0].template != options[0][0].template]
    is_open = 0 < len(operations) < len(options)
    first = next(iter(_with_method(options, method)), None)
    if is_open and first not in operations and not is_page(options[0][0].path):
        options = operations
    fitting = _with_method(options, method)
    if not fitting:
        more = " To write a page of this path, percent-encode its slashes." if is_open else ""
        raise MethodError([endpoint.method for _, endpoint in options], more)
    return fitting[0] if fitting[0] not in operations else fitting[-1]


class Router:
    """The templates of an API, in order of length: if a URL can name a page or an operation, the page is first.

    Args:
        endpoints: The rows of the API.
    """

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._endpoints: dict[str, list[Endpoint]] = {}
        for endpoint in endpoints:
            self._endpoints.setdefault(endpoint.template, []).append(endpoint)
        self._templates = sorted(
            ((_parts(endpoint), endpoint) for endpoint in self._endpoints), key=lambda pair: len(pair[0])
        )
        self._known_options = lru_cache(MAX_CACHED_PATHS)(self._options)

    def options(self, raw_path: bytes) -> Sequence[Option]:
        """All endpoints that a URL below the API's prefix can name.

        Raises:
            InvalidInputError: the path is not UTF-8.
        """
        return self._known_options(raw_path)

    def _options(self, raw_path: bytes) -> Sequence[Option]:
        return tuple(
            [(match, endpoint) for match in self.matches(raw_path) for endpoint in self._endpoints[match.template]]
        )

    def matches(self, raw_path: bytes) -> list[RouteMatch]:
        """All matches of a URL below the API's prefix, a page first.

        Raises:
            InvalidInputError: the path is not UTF-8.
        """
        parts = [_decoded(part) for part in raw_path.removeprefix(b"/").split(b"/")]
        matches = (_match(template, pattern, parts) for pattern, template in self._templates)
        return [match for match in matches if match is not None]


def _parts(template: str) -> list[str]:
    return template.removeprefix("/").split("/")


def _match(template: str, pattern: Sequence[str], parts: Sequence[str]) -> RouteMatch | None:
    spread = len(parts) - len(pattern)  # segments beyond one for each part of the pattern
    if spread < 0 or (spread and PATH not in pattern):
        return None
    path = filename = ""
    at = 0
    for element in pattern:
        end = at + 1 + (spread if element == PATH else 0)
        if element == PATH:
            path = "/".join(parts[at:end])
        elif element.startswith("{"):
            filename = parts[at]
        elif element != parts[at]:
            return None
        at = end
    return RouteMatch(template, path, filename)


def _decoded(part: bytes) -> str:
    try:
        return unquote_to_bytes(part).decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            "Invalid URL: a part of it is no UTF-8.", kind="path", hint="Percent-encode paths as UTF-8."
        ) from error


# Validation of a request's parameters, body and conditions.


MAX_SHOWN_INPUT = 60
MAX_PARAMETERS = 100
MAX_PROBLEMS = 10
"""Maximum number of parameters or keys that one error describes."""
_TAG = re.compile(r'(?P<weak>W/)?"(?P<tag>[^"]*)"')
_TAG_LIST = re.compile(r'[\s,]*(?:(?:W/)?"[^"]*"[\s]*(?:,[\s,]*|\Z))+')

M = TypeVar("M", bound=BaseModel)


class MalformedError(InvalidInputError):
    """The body is not a JSON object: status 400 rather than 422."""


def request_query(endpoint: Endpoint, query_string: bytes) -> QueryParameters:
    """Parse and validate the query parameters. The last of repeated parameters counts; unknown ones are ignored.

    Raises:
        InvalidInputError: a parameter is missing or not valid.
    """
    if query_string.count(b"&") >= MAX_PARAMETERS:
        raise InvalidInputError(
            f"Invalid query: it has more than {MAX_PARAMETERS} parameters.", kind="query", hint="Send fewer."
        )
    try:
        pairs = parse_qsl(query_string.decode("ascii"), keep_blank_values=True, errors="strict")
        return endpoint.query.model_validate(dict(pairs))
    except ValidationError as error:
        raise _invalid(error, "parameter") from error
    except ValueError as error:
        raise InvalidInputError(
            "Invalid query: it is no percent-encoded UTF-8.", kind="query", hint="Percent-encode it as UTF-8."
        ) from error


def request_body(endpoint: Endpoint, body: bytes) -> BaseModel | None:
    """Parse and validate the body.

    Raises:
        MalformedError: the body is not a JSON object.
        InvalidInputError: a key is missing or not valid.
    """
    model = endpoint.body
    if model is None or (not body and not endpoint.body_needed):
        return None
    try:
        require_finite(body)
        return model.model_validate_json(body)
    except NotFiniteError as error:
        raise MalformedError(f"Invalid body: {error}.", kind="body", hint="Send finite numbers, or null.") from error
    except ValidationError as error:
        if any(not problem["loc"] for problem in error.errors(include_url=False, include_input=False)):
            raise MalformedError(
                "The body is not a JSON object.", kind="body", hint="Send an object as application/json."
            ) from error
        raise _invalid(error, "key") from error


def conditions_of(headers: Headers) -> Conditions:
    """The conditions of `If-Match` and `If-None-Match`.

    A weak tag in `If-Match` never matches, as it does not identify the bytes (RFC 9110, section 8.8.3.2).

    Raises:
        MalformedError: a header is not a list of entity tags.
    """
    return Conditions(
        match=_tags(headers, "if-match", weak=False), none_match=_tags(headers, "if-none-match", weak=True)
    )


def accepts_bytes(headers: Headers) -> bool:
    """Whether the client's `Accept` names `application/octet-stream` but not JSON."""
    types = [
        part.partition(";")[0].strip().lower()
        for given_text in headers.getlist("accept")
        for part in given_text.split(",")
    ]
    return "application/octet-stream" in types and "application/json" not in types


def _tags(headers: Headers, name: str, *, weak: bool) -> tuple[str, ...] | None:
    given_texts = [value.strip() for value in headers.getlist(name)]
    if not given_texts:
        return None
    text = ", ".join(given_texts)
    if text == "*":
        return ("*",)
    if not _TAG_LIST.fullmatch(text):
        raise MalformedError(
            f"Invalid header {name}: expected entity tags or *.", kind="header", hint='Send ETags as they came: "...".'
        )
    return tuple(
        match["tag"] if match["tag"] != "*" else '"*"'  # distinguishes the tag "*" from the asterisk
        for match in _TAG.finditer(text)
        if weak or not match["weak"]
    )


def _invalid(error: ValidationError, what: str) -> InvalidInputError:
    sentences: list[str] = []
    problems = error.errors(include_url=False, include_input=False)
    for problem in problems[:MAX_PROBLEMS]:
        name = ".".join(str(part) for part in problem["loc"])[:MAX_SHOWN_INPUT]
        if problem["type"] == "missing":
            sentences.append(f"Missing {what} {name}.")
        else:
            sentences.append(f"Invalid {what} {name}: {problem['msg'][:1].lower()}{problem['msg'][1:]}.")
    if len(problems) > MAX_PROBLEMS:
        sentences.append(f"And {len(problems) - MAX_PROBLEMS:,} more.")
    return InvalidInputError(
        " ".join(sentences), kind=what, hint="The API's document, /api/v1/openapi.json, says more."
    )
