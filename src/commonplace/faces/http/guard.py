"""The guard of every route: checks host name, key, rate and size.

An admitted request has a caller and a complete body.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import anyio.to_thread
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from commonplace.domain.errors import ForbiddenError, InvalidInputError, KnowledgeError, UnauthenticatedError
from commonplace.faces.access.authentication import Authenticator
from commonplace.faces.access.callers import SCOPE_KEY, Caller, Networks, client_address, is_proxy
from commonplace.faces.access.credentials import authorization, combined
from commonplace.faces.access.rate_limits import WRONG_KEY, RateLimiter
from commonplace.faces.access.tokens import LEAST_SCOPE
from commonplace.faces.http.allowed_hosts import AllowedHosts, is_loopback
from commonplace.faces.http.bodies import (
    ClientDisconnectError,
    RequestTimeoutError,
    UnfinishedBodies,
    buffered_body,
    replayed,
)
from commonplace.faces.http.cors import is_preflight, send_preflight, shared
from commonplace.faces.responses import send_error

JSON = "application/json"
REQUEST_TIMEOUT = 408


async def no_page(scope: Scope, send: Send, error: KnowledgeError) -> bool:
    """Default of `RouteRules.show_error`: the error is sent as JSON."""
    del scope, send, error
    return False


@dataclass(frozen=True, slots=True)
class RouteRules:
    """The rules of one part of the application."""

    max_body: Callable[[Scope], int]
    """Maximum size of a body in bytes."""
    is_open: Callable[[Scope], bool]
    """Whether a request needs no key."""
    credentials: Callable[[Headers], str | None] = authorization
    """The credentials of a request, in the form of `Authorization`."""
    cost: Callable[[Scope], int] = lambda _: 0
    """Number of calls that a request without a key counts as for its address."""
    body_type: str = JSON
    """Required media type of bodies."""
    show_error: Callable[[Scope, Send, KnowledgeError], Awaitable[bool]] = no_page
    """Sends an error as a page and returns True; False if the error is to be sent as JSON."""
    takes_any_type: Callable[[Scope], bool] = lambda _: False
    """Whether a request's body may be of any media type. Only for methods that browsers send after a preflight."""


@dataclass(frozen=True, slots=True)
class Guard:
    """Passes a valid request to an application; responds to any other request with an error."""

    names: AllowedHosts
    authenticator: Authenticator
    limiter: RateLimiter
    challenge: str = "Bearer"
    """Value of `WWW-Authenticate` for a request without a key."""
    spares_loopback: bool = False
    """Whether calls from this machine without a key are exempt from the rate limit."""
    proxies: Networks = ()
    """Networks of the proxies whose headers are believed; () for every private address."""
    unfinished: UnfinishedBodies = field(default_factory=UnfinishedBodies)
    """The bodies that are being received."""

    async def handle(self, app: ASGIApp, rules: RouteRules, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if not is_proxy((scope.get("client") or ("",))[0], self.proxies):
            told = [field for field in scope["headers"] if not field[0].startswith(b"x-forwarded-")]
            scope = {**scope, "headers": told}
        headers = Headers(scope=scope)
        origin = combined(headers, "origin")
        if self.names.shares_with(origin):
            send = shared(send, origin)
        try:
            self._check_names(headers)
            if self.names.shares_with(origin) and is_preflight(scope["method"], headers):
                await send_preflight(send, headers)
                return
            counted_as = f"address:{self._address(scope, headers)}"
            if not rules.is_open(scope):
                caller = scope[SCOPE_KEY] = await self._admitted(scope, headers, rules.credentials(headers))
                counted_as = caller.counted_as
            elif cost := rules.cost(scope):
                self._limit(counted_as, self._address(scope, headers), cost)
            declared = headers.get("content-length", "")
            body = await buffered_body(receive, rules.max_body(scope), declared, self.unfinished, counted_as)
            if body and not rules.takes_any_type(scope):
                _check_type(headers, rules.body_type)
        except ClientDisconnectError:
            return
        except KnowledgeError as error:
            await self._refuse(rules, scope, send, error)
        else:
            await app(scope, replayed(body, receive), send)

    async def _refuse(self, rules: RouteRules, scope: Scope, send: Send, error: KnowledgeError) -> None:
        """Respond with an error."""
        if isinstance(error, _StatusError):
            await send_error(send, error, status=error.status, headers=error.headers)
        elif isinstance(error, RequestTimeoutError):
            await send_error(send, error, status=REQUEST_TIMEOUT, headers=(("connection", "close"),))
        elif not await rules.show_error(scope, send, error):
            await send_error(send, error, headers=self._challenges(error))

    def _challenges(self, error: KnowledgeError) -> list[tuple[str, str]]:
        """The `WWW-Authenticate` header: how to authenticate, and why a key was refused (RFC 6750)."""
        if isinstance(error, UnauthenticatedError):
            wrong = ['error="invalid_token"'] if error.kind == "token" else []
        elif error.kind == "scope":
            wrong = ['error="insufficient_scope"', f'scope="{LEAST_SCOPE}"']
        else:
            return []
        given = [part for part in (self.challenge.removeprefix("Bearer").strip(), *wrong) if part]
        return [("www-authenticate", f"Bearer {', '.join(given)}".strip())]

    def _check_names(self, headers: Headers) -> None:
        if not self.names.allows_host(headers.get("host", "")):
            raise _MisdirectedError(
                "This server is not known by that Host.",
                kind="host",
                hint="Call it by its address, or start it with --public-url.",
            )
        if "origin" in headers and not self.names.allows_origin(combined(headers, "origin"), headers.get("host", "")):
            raise ForbiddenError(
                "Pages of that Origin may not call this server.",
                kind="origin",
                hint="Start the server with --allow-origin to let them, or with --public-url for its own pages.",
            )

    async def _admitted(self, scope: Scope, headers: Headers, credentials: str | None) -> Caller:
        address = self._address(scope, headers)
        try:
            found = await self._authenticated(credentials)
        except KnowledgeError as error:
            is_wrong = isinstance(error, UnauthenticatedError) and error.kind == "token"
            self.limiter.take(f"address:{address}", WRONG_KEY if is_wrong else 1)
            raise
        caller = replace(found, address=address)
        self._limit(caller.counted_as, "" if caller.id else address)
        return caller

    def _limit(self, counted_as: str, address: str, calls: int = 1) -> None:
        """Count calls; those from this machine without a key may be exempt."""
        if not (self.spares_loopback and is_loopback(address)):
            self.limiter.take(counted_as, calls)

    def _address(self, scope: Scope, headers: Headers) -> str:
        peer: str = (scope.get("client") or ("",))[0]
        return client_address(
            peer, combined(headers, "x-forwarded-for") if self.names.public_host else "", self.proxies
        )

    async def _authenticated(self, authorization: str | None) -> Caller:
        if self.authenticator.is_local(authorization):
            return self.authenticator.authenticate(authorization)
        # In a thread, because it may have to fetch keys from the identity provider.
        return await anyio.to_thread.run_sync(self.authenticator.authenticate, authorization)


def _check_type(headers: Headers, wanted: str) -> None:
    """Check that a body has the media type of the route.

    Browsers send some types other than JSON across origins without a preflight.
    """
    given = headers.getlist("content-type")
    if len(given) != 1 or given[0].partition(";")[0].strip().lower() != wanted:
        shown = "JSON" if wanted == JSON else "a form"
        raise _MediaTypeError(
            f"The body is not declared to be {shown}.",
            kind="content-type",
            hint=f"Send it with Content-Type: {wanted}.",
        )


class _StatusError(InvalidInputError):
    """A request error with an HTTP status that no error code has."""

    status: ClassVar[int]
    headers: ClassVar[Sequence[tuple[str, str]]] = ()


class _MisdirectedError(_StatusError):
    """The request is for another server."""

    status = 421


class _MediaTypeError(_StatusError):
    """The media type of the body is not supported."""

    status = 415
    headers = (("accept", JSON),)
