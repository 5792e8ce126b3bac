"""Sign-in: by a form for an access key, or at an identity provider. A cookie stores the key for web pages only."""

from __future__ import annotations

import secrets
import time
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import parse_qs, quote, unquote, urlsplit

from anyio import CapacityLimiter
from anyio.lowlevel import RunVar
from anyio.to_thread import run_sync
from starlette.datastructures import Headers
from starlette.requests import Request, cookie_parser
from starlette.types import Receive, Scope

from commonplace.domain.errors import KnowledgeError
from commonplace.faces.access.authentication import SIGNED_OUT, Authenticator
from commonplace.faces.access.tokens import MAX_SECONDS, CodeFlow
from commonplace.faces.web.exchange import PageRequest, PageResponse, redirect
from commonplace.faces.web.pages import page

COOKIE = "commonplace_key"
FLOW_COOKIE = "commonplace_sign_in"
"""Cookie with the state of a sign-in at the identity provider."""
SIGN_IN, SIGN_OUT = "/sign-in", "/sign-out"
BEGIN, RETURN = "/sign-in/begin", "/sign-in/return"
"""Paths that start a sign-in at the identity provider and receive its redirect."""
PATHS = frozenset({SIGN_IN, SIGN_OUT, BEGIN, RETURN})
FORM_TYPE = "application/x-www-form-urlencoded"
SESSION_BYTES = 9
"""Number of random bytes in the number of a session."""
MAX_PROVIDER_CALLS = 4
"""Maximum number of concurrent calls to the identity provider."""
MAX_FIELDS = 10
"""Maximum number of form fields."""
MAX_KEY_CHARS = 4_000
MAX_AGE = 30 * 86_400
"""Maximum age of the cookie with the key, in seconds."""
_LIMITER: RunVar[CapacityLimiter] = RunVar("_LIMITER")


@dataclass(frozen=True, slots=True)
class SignIn:
    """The ways to sign in: a form for an access key, and an identity provider."""

    flow: CodeFlow | None = None
    """The flow at the identity provider; None without a provider."""
    public_url: str = ""
    """URL of this server for browsers, without a trailing slash; "" for the URL of the request."""
    gate: Authenticator | None = None
    """Checks the credential of a session that is signed out; None if sessions end in the browser only."""

    @property
    def provider(self) -> str:
        """The provider's host; "" without one."""
        return urlsplit(self.flow.issuer).netloc if self.flow else ""

    async def answer(self, scope: Scope, receive: Receive, request: PageRequest) -> PageResponse:
        """Handle a request for sign-in or sign-out: the form, the sent key, and the redirects to and from the provider.

        The key itself is not verified here, but with the next request.
        """
        path: str = scope["path"]
        body = await Request(scope, receive).body()
        if scope["method"] == "POST" and path == SIGN_OUT:
            await run_sync(self._end_session, Headers(scope=scope), limiter=_threads())
            return redirect(SIGN_IN, 303).with_headers({"set-cookie": _cookie(scope, COOKIE, "", 0)})
        if path in {BEGIN, RETURN} and self.flow is not None and scope["method"] == "GET":
            return await run_sync(self._with_provider, self.flow, scope, request, limiter=_threads())
        if scope["method"] == "POST" and path == SIGN_IN:
            return _keep_key(scope, request, body)
        return sign_in_page(request, local_target(request.query.get("next", "/")), status=200)

    def _with_provider(self, flow: CodeFlow, scope: Scope, request: PageRequest) -> PageResponse:
        back = f"{self.public_url or request.origin}{RETURN}"
        try:
            if scope["path"] == BEGIN:
                url, sealed = flow.begin(back, local_target(request.query.get("next", "/")))
                return redirect(url).with_headers({"set-cookie": _cookie(scope, FLOW_COOKIE, sealed, MAX_SECONDS)})
            done = flow.finish(cookie_in(Headers(scope=scope), FLOW_COOKIE), request.query, back)
        except KnowledgeError as error:
            return sign_in_page(request, "/", problem=str(error))
        if len(done.token) > MAX_KEY_CHARS:
            return sign_in_page(request, "/", problem="The identity provider's token is too long for a cookie.")
        cookie = _cookie(scope, COOKIE, _session(done.token), min(done.lifetime, MAX_AGE))
        return redirect(local_target(done.target), 303).with_headers({"set-cookie": cookie})

    def _end_session(self, headers: Headers) -> None:
        """Make the cookie of a request, and a token in it, sign nobody in any more. An invalid one is not recorded."""
        cookie = cookie_in(headers, COOKIE)
        credential = credential_of(cookie)
        if self.gate is None or self.gate.used is None or not credential:
            return
        with suppress(KnowledgeError):
            self.gate.authenticate(f"Bearer {credential}")
            self.gate.used.take(SIGNED_OUT, cookie, time.time() + MAX_AGE)
            if not self.gate.is_local(f"Bearer {credential}"):
                self.gate.used.take(SIGNED_OUT, credential, time.time() + MAX_AGE)


def _threads() -> CapacityLimiter:
    """The threads for calls to the provider, so that these calls cannot take the threads of other requests."""
    try:
        return _LIMITER.get()
    except LookupError:
        _LIMITER.set(limiter := CapacityLimiter(MAX_PROVIDER_CALLS))
        return limiter


def _session(credential: str) -> str:
    """The value of a cookie for a new session: the credential and the session's number."""
    return f"{credential}~{secrets.token_hex(SESSION_BYTES)}"


def credential_of(cookie: str) -> str:
    """The credential in the value of a cookie."""
    credential, mark, number = cookie.rpartition("~")
    return credential if mark and len(number) == 2 * SESSION_BYTES else cookie


def cookie_name(headers: Headers, name: str) -> str:
    """The name of a cookie: over TLS with a prefix, so that no other host of the domain can set it (RFC 6265bis)."""
    return f"__Host-{name}" if headers.get("x-forwarded-proto", "").lower() == "https" else name


def cookie_in(headers: Headers, name: str) -> str:
    """The value of a cookie of this server; "" if there is none."""
    return unquote(cookie_parser(headers.get("cookie", "")).get(cookie_name(headers, name), ""))


def _keep_key(scope: Scope, request: PageRequest, body: bytes) -> PageResponse:
    sent = body.decode("utf-8", "replace").split("&", MAX_FIELDS)[:MAX_FIELDS]
    fields = parse_qs("&".join(sent))
    key = fields.get("key", [""])[0].strip()[:MAX_KEY_CHARS]
    target = local_target(fields.get("next", ["/"])[0])
    if not key:
        return sign_in_page(request, target)
    return redirect(target, 303).with_headers({"set-cookie": _cookie(scope, COOKIE, _session(key), MAX_AGE)})


def sign_in_page(
    request: PageRequest, target: str, *, wrong: bool = False, problem: str = "", status: int = 401
) -> PageResponse:
    """The sign-in form.

    Args:
        request: The request.
        target: URL to which the reader is redirected after signing in.
        wrong: Whether an invalid or revoked key was given.
        problem: Reason why the sign-in at the identity provider failed.
        status: HTTP status; 401 if the form is shown instead of the requested page.
    """
    made = page(request, "signin.html", status, target=local_target(target), wrong=wrong, problem=problem, begin=BEGIN)
    return made.with_headers({"cache-control": "no-store"})


def local_target(url: str) -> str:
    """The URL if it is a path on this server, else `/`."""
    is_local = url.startswith("/") and not url.startswith(("//", "/\\")) and url.isprintable()
    return url if is_local and not url.startswith((SIGN_IN, SIGN_OUT)) else "/"


def scheme_of(scope: Scope, headers: Headers) -> str:
    """The scheme of the request: `X-Forwarded-Proto` if valid, else that of the connection."""
    header = headers.get("x-forwarded-proto", "").lower()
    return header if header in {"http", "https"} else str(scope.get("scheme", "http"))


def _cookie(scope: Scope, name: str, value: str, seconds: int) -> str:
    headers = Headers(scope=scope)
    secure = "; Secure" if scheme_of(scope, headers) == "https" else ""
    named = cookie_name(headers, name)
    return f"{named}={quote(value, safe='')}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"
