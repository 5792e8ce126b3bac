"""How one connection is read: no client may hold one open for long without sending a request."""

from __future__ import annotations

import asyncio
from typing import cast

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_TIMEOUT = 10.0
"""Seconds for a request's line and headers to arrive."""
MAX_CONNECTIONS = 900
"""Open connections; over it the newest is closed at once. Most systems give a process 1,024 files."""


class PatientProtocol(H11Protocol):
    """uvicorn's HTTP/1.1, with a limit on connections and on the time before a request."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, or close at once when there are too many."""
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
            return
        self._deadline = self.loop.call_later(HEADER_TIMEOUT, self._close_if_idle)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        deadline = cast("asyncio.TimerHandle | None", getattr(self, "_deadline", None))
        if deadline is not None:
            deadline.cancel()
        super().connection_lost(exc)

    def _close_if_idle(self) -> None:
        began = cast("object", self.cycle) is not None  # uvicorn declares it always there; it is not before a request
        if not began and not self.transport.is_closing():
            self.transport.abort()
