"""The socket on which a server listens."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from commonplace.domain.errors import ConfigError

BACKLOG = 2048


@dataclass(frozen=True, slots=True)
class BindAddress:
    """The address and port on which a server listens."""

    host: str
    port: int
    """Port number; 0 for any free port."""


def listening(address: BindAddress) -> socket.socket:
    """Create a listening socket, before any slow start-up work.

    Raises:
        ConfigError: the address is in use, forbidden or invalid.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    made = socket.socket(family)
    try:  # `socket.create_server` closes its socket after some errors only
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind((address.host, address.port))
        made.listen(BACKLOG)
    except (OSError, OverflowError, TypeError, ValueError) as error:  # the last two: an invalid host name
        made.close()
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError(
            f"Cannot listen on {address.host}, port {address.port}: {reason}.",
            kind="port",
            hint="Choose another with --host and --port; --port 0 takes any free one.",
        ) from error
    return made


def serving_line(listener: socket.socket) -> str:
    """The line on standard error with the server's URL."""
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"Serving on http://{shown}:{port}\n"
