"""The web pages as an ASGI application: dispatches to views in worker threads and adds the headers for pages."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from urllib.parse import parse_qsl, quote, unquote

from starlette.datastructures import Headers
from starlette.requests import Request, cookie_parser
from starlette.types import Receive, Scope, Send

from commonplace.domain.addresses import is_document_path
from commonplace.domain.errors import Code, IndexingError, InvalidInputError, KnowledgeError, UnauthenticatedError
from commonplace.faces.access.authentication import SIGNED_OUT
from commonplace.faces.access.callers import allows, authorization, caller_of, require_tier
from commonplace.faces.access.used_once import UsedOnce
from commonplace.faces.call_log import traced_call
from commonplace.faces.errors import error_mapping
from commonplace.faces.responses import send_error
from commonplace.faces.web import live, pages, signin
from commonplace.faces.web.edit_requests import form_of, run_editing
from commonplace.faces.web.exchange import (
    Administration,
    AgentText,
    EditingView,
    PageRequest,
    PageResponse,
    ToolsetPages,
    View,
    compressed,
)
from commonplace.faces.web.routes import (
    EDITING,
    SEARCHES,
    VIEWS,
    WITHOUT_INDEX,
    editing_at,
    is_view,
    no_such_page,
    view_at,
)
from commonplace.faces.web.urls import COLLECTION_MARK, Urls, first_name
from commonplace.faces.web.views.failures import error_page, unfinished_page, waiting_page
from commonplace.faces.worker_threads import run_in_worker, unless_gone
from commonplace.services.collections import UNFINISHED_SECONDS
from commonplace.services.services import Services

log = logging.getLogger(__name__)

SECURITY_HEADERS = {
    "content-security-policy": (
        "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-dns-prefetch-control": "off",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
"""Headers of all pages. Inline scripts and styles are forbidden, as are resources of other origins."""
MIN_COMPRESSED = 1_000
"""Minimum size in bytes of a response that is compressed."""
SIGN_IN_CALLS = 20
"""Number of calls that a sign-in counts as in the rate limit of its address."""
MAX_FIELDS = 40
"""Maximum number of query parameters; further ones are ignored."""
MAX_BODY_BYTES = 16 * 1024
"""Maximum size in bytes of the sign-in form."""
_REFUSED = re.compile(r"q=0(\.0*)?")
_TEXT = ("text/", "application/json", "application/atom+xml", "application/opensearch", "image/svg")
FOREVER = "public, max-age=31536000, immutable"


class WebPages:
    """Serves the web pages. Requests have passed the guard, so the caller is known.

    Args:
        services: The services.
        agent_text: Returns the text of a document for MCP clients.
        toolsets: Returns the pages that toolsets add; called for each request.
        sign_in: The ways to sign in; None for access keys only.
        administration: What a person with the tier admin sees and changes; None for nothing.
    """

    def __init__(
        self,
        services: Services,
        agent_text: AgentText,
        toolsets: Callable[[], Sequence[ToolsetPages]] = tuple,
        sign_in: signin.SignIn | None = None,
        administration: Administration | None = None,
    ) -> None:
        self._services = services
        self._agent_text = agent_text
        self._toolsets = toolsets
        self._sign_in = sign_in or signin.SignIn()
        self._administration = administration
        self._live = live.LiveChanges(services.change_feed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        path: str = scope["path"]
        if path in signin.PATHS:
            await _send(scope, send, await self._signing_in(scope, receive))
        elif (editing := editing_at(path)) is not None:
            await self._edit(scope, receive, send, editing)
        elif scope["method"] not in {"GET", "HEAD"}:
            await self._refuse_method(scope, send, path)
        elif path.startswith(f"{pages.PREFIX}/"):
            await _send(scope, send, _static(path))
        elif path == live.PATH and scope["method"] == "GET":
            await self._live.serve(scope, receive, send)
        elif path == live.PATH:
            await self._live.describe(send)
        else:
            await self._view(scope, receive, send, path)

    async def _refuse_method(self, scope: Scope, send: Send, path: str) -> None:
        """Respond to a method that no page supports: 405 for an existing page, otherwise 404 as for GET."""
        is_other = path == live.PATH or path.startswith(f"{pages.PREFIX}/")
        if not is_other and not is_view(path, self._seen(scope).toolsets):
            await send_error(send, no_such_page())
            return
        await _send_method_error(send, ("GET", "HEAD"))

    async def _edit(self, scope: Scope, receive: Receive, send: Send, editing: EditingView) -> None:
        """Serve a view that edits."""
        name, _, rest = scope["path"].lstrip("/").partition("/")
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        body = await Request(scope, receive).body()
        if method not in editing.methods and allows(caller_of(scope).page_tier, editing.tier):
            await _send_method_error(send, editing.methods)
            return

        def run(request: PageRequest) -> PageResponse:
            require_tier(request.tier, editing.tier)
            form = form_of(body) if method == "POST" else {}
            return run_editing(editing, replace(request, method=method, form=form, body=body))

        reads = method == "GET" or not editing.writes
        await self._respond(scope, receive, send, lambda: self._answered(scope, name, rest, run), reads=reads)

    async def _view(self, scope: Scope, receive: Receive, send: Send, path: str) -> None:
        await self._respond(scope, receive, send, lambda: self._answer(scope, path), reads=True)

    async def _respond(
        self, scope: Scope, receive: Receive, send: Send, answer: Callable[[], PageResponse], *, reads: bool
    ) -> None:
        try:
            answered = await unless_gone(receive, run_in_worker(answer, reads=reads))
        except KnowledgeError as error:
            await send_error(send, error, status=404 if _is_bad_url(scope, error) else 0)
        else:
            if answered is not None:
                await _send(scope, send, answered)

    def end_streams(self) -> None:
        """End all streams of changes, at the start of the shutdown."""
        self._live.end()

    def is_open(self, scope: Scope) -> bool:
        """Whether a request needs no key: only sign-in pages, static files and `robots.txt`.

        Where nothing needs a key, `robots.txt` is for a caller as every page is, and may open the bases to robots.
        """
        path: str = scope["path"]
        gate = self._sign_in.gate
        is_robots = path == "/robots.txt" and not (gate is not None and gate.is_open)
        return path in signin.PATHS or path.startswith(f"{pages.PREFIX}/") or is_robots

    def max_body(self, scope: Scope) -> int:
        """Maximum size of a request's body in bytes."""
        editing = editing_at(scope["path"])
        if editing is None or scope["method"] in {"GET", "HEAD"}:
            return MAX_BODY_BYTES if scope["path"] in signin.PATHS else 0
        return editing.max_body if allows(caller_of(scope).page_tier, editing.tier) else MAX_BODY_BYTES

    def own_pages_only(self, scope: Scope) -> bool:
        """Whether only this server's own pages may send a request: whatever may write."""
        return scope["method"] not in {"GET", "HEAD"} and editing_at(scope["path"]) is not None

    def takes_any_type(self, scope: Scope) -> bool:
        """Whether a request's body is a file: no page of another server sends PUT without asking first."""
        return scope["method"] == "PUT"

    def cost(self, scope: Scope) -> int:
        """Number of calls that an open request counts as for its address: sign-in calls the identity provider."""
        is_form = scope["path"] == signin.SIGN_IN and scope["method"] != "POST"
        return SIGN_IN_CALLS if scope["path"] in signin.PATHS and not is_form else 0

    async def show_error(self, scope: Scope, send: Send, error: KnowledgeError) -> bool:
        """Respond to a browser with an error page. Returns False for requests that get JSON errors."""
        shown = self._error_page(scope, error)
        if shown is not None:
            await _send(scope, send, shown)
        return shown is not None

    def _error_page(self, scope: Scope, error: KnowledgeError) -> PageResponse | None:
        if not _wants_html(scope) or (scope["method"] not in {"GET", "HEAD"} and not self.own_pages_only(scope)):
            return None
        request = self._request(scope, "", self._services.only(frozenset()))
        if isinstance(error, UnauthenticatedError):
            return signin.sign_in_page(request, _wanted(scope), wrong=error.kind == "token")
        return error_page(request, error, error_mapping(error).http)

    async def _signing_in(self, scope: Scope, receive: Receive) -> PageResponse:
        request = self._request(scope, "", self._services.only(frozenset()))
        return await self._sign_in.answer(scope, receive, request)

    def _answer(self, scope: Scope, path: str) -> PageResponse:
        name, rest, view = view_at(path, self._seen(scope).toolsets)
        return self._answered(scope, name, rest, view)

    def _seen(self, scope: Scope) -> PageRequest:
        """The request with what its caller may see."""
        return self._request(scope, "", self._services.only(caller_of(scope).collections))

    def _answered(self, scope: Scope, name: str, rest: str, view: View) -> PageResponse:
        request = replace(self._seen(scope), path=rest.strip("/"))
        try:
            named = f"{scope['method']} /{name}"
            actor = request.caller.actor("web", named)
            reads = scope["method"] in {"GET", "HEAD"}
            with traced_call(named), request.services.watch(actor, request.caller.limits, reads=reads):
                return _shown(request, name, view)
        except KnowledgeError as error:
            if not _wants_html(scope):
                raise
            if isinstance(error, IndexingError):
                return waiting_page(replace(request, method=str(scope["method"])), error)
            near = f"/p/{_collection_in(rest)}" if name in VIEWS or name in EDITING or not name else f"/{name}/"
            return error_page(request, error, 404 if _is_bad_url(scope, error) else error_mapping(error).http, near)

    def _request(self, scope: Scope, rest: str, services: Services) -> PageRequest:
        headers = Headers(scope=scope)
        cookies = cookies_of(headers)
        theme = cookies.get("theme", "")
        return PageRequest(
            services=services,
            caller=caller_of(scope),
            urls=Urls(first_name(self._services.collections)),
            origin=f"{signin.scheme_of(scope, headers)}://{headers.get('host', '')}",
            path=rest.strip("/"),
            query=_query_of(scope),
            agent_text=self._agent_text,
            theme=theme if theme in {"light", "dark"} else "",
            signed_in=signin.cookie_name(headers, signin.COOKIE) in cookies and not headers.get("authorization"),
            provider=self._sign_in.provider,
            administration=self._administration,
            toolsets=[toolsets for toolsets in self._toolsets() if services.unrestricted or toolsets.confined],
        )


def _shown(request: PageRequest, name: str, view: View) -> PageResponse:
    """A view, or what can be told instead while the first index is being built.

    Raises:
        IndexingError: nothing can be told within `UNFINISHED_SECONDS`.
    """
    if name in SEARCHES and not request.at:
        request.collections.wait_searchable(SEARCHES[name], _ignore)
    elif not _is_without_index(name, request):
        try:
            request.collections.wait_ready(0.0, _ignore)
        except IndexingError as error:
            unfinished = unfinished_page(request, name, error)
            if unfinished is not None:
                return unfinished
            request.collections.wait_ready(UNFINISHED_SECONDS, _ignore)
    return view(request)


def _is_without_index(name: str, request: PageRequest) -> bool:
    """Whether a view needs no index: a picture or another file, what Git or the server alone tell."""
    if request.method == "POST" or name not in WITHOUT_INDEX:
        is_file = name == "files" and not is_document_path(request.path)
        return is_file or (name in EDITING and not EDITING[name].waits)
    return True


def credentials(headers: Headers, used: UsedOnce | None = None) -> str | None:
    """The `Authorization` header, else the key in the cookie. Only web pages accept the cookie.

    Args:
        headers: The headers of the request.
        used: The cookies that were signed out; None for none.
    """
    given_authorization = authorization(headers)
    cookie = signin.cookie_in(headers, signin.COOKIE)
    is_ended = used is not None and cookie and used.has(SIGNED_OUT, cookie)
    key = "" if is_ended else signin.credential_of(cookie)
    return given_authorization if given_authorization is not None or not key else f"Bearer {key}"


def cookies_of(headers: Headers) -> Mapping[str, str]:
    """The cookies of a request by name. Malformed cookies of other programs on the same host do not hide valid ones."""
    return {name: unquote(value) for name, value in cookie_parser(headers.get("cookie", "")).items()}


def _query_of(scope: Scope) -> dict[str, str]:
    """The last value of each parameter."""
    fields = scope["query_string"].decode("ascii", "replace").split("&", MAX_FIELDS)[:MAX_FIELDS]
    return dict(parse_qsl("&".join(fields), keep_blank_values=True))


def _collection_in(path: str) -> str:
    """The collection part of a path in URL form, such as `@notes/`; "" if the path names no collection."""
    mark, name = path[:1], path[1:].partition("/")[0]
    return f"{COLLECTION_MARK}{quote(name, safe='')}/" if mark == COLLECTION_MARK else ""


def _takes_gzip(request: Headers) -> bool:
    """Whether the client accepts gzip: `gzip` or `*` is listed, and not with `q=0` (RFC 9110, section 12.5.3)."""
    rows = (part.partition(";") for part in request.get("accept-encoding", "").lower().split(","))
    weights = {coding.strip(): parameter.replace(" ", "") for coding, _, parameter in rows}
    weight = weights.get("gzip", weights.get("*", "q=0"))
    return _REFUSED.fullmatch(weight) is None


def _is_bad_url(scope: Scope, error: KnowledgeError) -> bool:
    """Whether a page is asked for by an invalid name, so that it is not found."""
    return error.code is Code.INVALID and scope["method"] in {"GET", "HEAD"}


async def _send_method_error(send: Send, methods: Sequence[str]) -> None:
    takes = " and ".join(methods)
    error = InvalidInputError("This URL does not take this method.", kind="method", hint=f"It takes {takes}.")
    await send_error(send, error, status=405, headers=(("allow", ", ".join(methods)),))


def _ignore(done: int, total: int) -> None:
    del done, total


def _wants_html(scope: Scope) -> bool:
    """Whether the client accepts HTML. Other clients get errors as JSON."""
    return "text/html" in Headers(scope=scope).get("accept", "")


def _wanted(scope: Scope) -> str:
    """The requested URL without its host."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    query: bytes = scope["query_string"]
    return (raw.partition(b"?")[0] + (b"?" + query if query else b"")).decode("ascii", "replace")


def _static(path: str) -> PageResponse:
    asset = pages.asset_at(path)
    if asset is None:
        return PageResponse(b"There is no such file.", "text/plain", 404)
    headers = {"cache-control": FOREVER, "vary": "accept-encoding"}
    if asset.content_type.startswith("text/html"):
        headers["content-security-policy"] = pages.frame_policy(asset.name)
    return PageResponse(asset.content, asset.content_type, 200, headers, asset.compressed)


async def _send(scope: Scope, send: Send, response: PageResponse) -> None:
    headers = {"content-type": response.content_type, **SECURITY_HEADERS, "cache-control": "private, no-cache"}
    headers |= response.headers
    body, status = response.body, response.status
    request = Headers(scope=scope)
    if status == 200 and headers["cache-control"].endswith("no-cache"):  # noqa: PLR2004 - an HTTP status
        headers.setdefault("etag", f'"{blake2b(body, digest_size=12).hexdigest()}"')
        if headers["etag"] in request.get("if-none-match", ""):
            status, body = 304, b""
    if len(body) >= MIN_COMPRESSED and "content-encoding" not in headers and headers["content-type"].startswith(_TEXT):
        headers.setdefault("vary", "accept-encoding, cookie")
        if _takes_gzip(request):
            body = response.compressed or compressed(body)
            headers["content-encoding"] = "gzip"
    if status != 304:  # noqa: PLR2004 - an HTTP status
        headers["content-length"] = str(len(body))
    raw = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
