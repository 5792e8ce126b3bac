"""The one guard before every route: names, keys, rates, sizes. What passes it has a caller and a whole body."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import anyio.to_thread
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from commonplace.domain.errors import Code, ForbiddenError, InvalidInputError, KnowledgeError
from commonplace.faces.access.callers import SCOPE_KEY, Caller
from commonplace.faces.access.gate import Gate
from commonplace.faces.access.rates import Rates
from commonplace.faces.http.bodies import GoneError, SlowError, taken_in
from commonplace.faces.http.names import Names
from commonplace.faces.replies import send_refusal

MISDIRECTED = 421
REQUEST_TIMEOUT = 408


@dataclass(frozen=True, slots=True)
class Rules:
    """What the guard asks of one part of the application."""

    max_body: Callable[[Scope], int]
    """Bytes."""
    is_open: Callable[[Scope], bool]
    """Whether a request needs no key."""


@dataclass(frozen=True, slots=True)
class Guard:
    """Lets requests through to an application, or answers them itself."""

    names: Names
    gate: Gate
    rates: Rates
    challenge: str = "Bearer"
    """What `WWW-Authenticate` says to whoever comes without a key."""

    async def pass_on(self, app: ASGIApp, rules: Rules, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        try:
            headers = Headers(scope=scope)
            self._check_names(headers)
            if not rules.is_open(scope):
                scope[SCOPE_KEY] = await self._admitted(headers)
            whole = await taken_in(receive, rules.max_body(scope), headers.get("content-length", ""))
        except GoneError:
            return
        except _MisdirectedError as error:
            await send_refusal(send, error, status=MISDIRECTED)
        except SlowError as error:
            await send_refusal(send, error, status=REQUEST_TIMEOUT, headers=(("connection", "close"),))
        except KnowledgeError as error:
            await send_refusal(send, error, headers=self._challenges(error))
        else:
            await app(scope, whole, send)

    def _challenges(self, error: KnowledgeError) -> list[tuple[str, str]]:
        """What tells a client how to come in: after a key that is not known, that it was this (RFC 6750)."""
        if error.code is not Code.UNAUTHENTICATED:
            return []
        wrong = f'{"," if " " in self.challenge else ""} error="invalid_token"' if error.kind == "token" else ""
        return [("www-authenticate", self.challenge + wrong)]

    def _check_names(self, headers: Headers) -> None:
        if not self.names.allows_host(headers.get("host", "")):
            raise _MisdirectedError(
                "This server is not known by that Host.",
                kind="host",
                hint="Call it by its address, or start it with --public-url.",
            )
        origin = headers.get("origin")
        if origin is not None and not self.names.allows_origin(origin):
            raise ForbiddenError(
                "Pages of that Origin may not call this server.",
                kind="origin",
                hint="Start the server with --public-url to allow its own pages.",
            )

    async def _admitted(self, headers: Headers) -> Caller:
        # In a thread: keys are read from a file, tokens checked with an identity provider's keys.
        caller = await anyio.to_thread.run_sync(self.gate.admit, headers.get("authorization"))
        self.rates.take(caller.id)
        return caller


class _MisdirectedError(InvalidInputError):
    """The request is for another server: status 421."""
