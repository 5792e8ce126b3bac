"""By which names a server may be called: what keeps a web page from reaching it through a name that it controls."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

LOOPBACK_NAMES = frozenset({"localhost"})
MAX_PORT = 65_535


@dataclass(frozen=True, slots=True)
class Names:
    """The names of one server.

    DNS rebinding needs a name of the attacker's in `Host`; an IP address in it cannot be rebound.
    """

    bound: str
    """The address that the server listens on."""
    public_host: str = ""
    """Host, with a port where it is not the scheme's own, behind a proxy; or ""."""
    public_origin: str = ""

    def allows_host(self, host: str) -> bool:
        """Whether a `Host` header names this server."""
        if self.public_host and host.lower() == self.public_host:
            return True
        name = _name(host)
        if not name:
            return False
        if is_loopback(self.bound):
            return is_loopback(name)
        return name == self.bound.lower() or is_loopback(name) or _is_address(name)

    def allows_origin(self, origin: str) -> bool:
        """Whether an `Origin` header names a page that this server, or its user on this machine, serves."""
        if self.public_origin and origin.lower() == self.public_origin:
            return True
        scheme, separator, rest = origin.partition("://")
        return bool(separator) and scheme in {"http", "https"} and self.allows_host(rest)


def names_of(bound: str, public_url: str | None) -> Names:
    """The names of a server that listens on an address and, behind a proxy, has a public URL."""
    if not public_url:
        return Names(bound)
    parts = urlsplit(public_url)
    return Names(bound, parts.netloc.lower(), f"{parts.scheme}://{parts.netloc}".lower())


def is_loopback(name: str) -> bool:
    """Whether a name or address is this machine and can be nothing else."""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name.lower() in LOOPBACK_NAMES


def _name(host: str) -> str:
    """The name or address in `name:port`, lower case; "" when it is malformed."""
    if host.startswith("["):
        inner, bracket, rest = host[1:].partition("]")
        name, port = (inner, rest.removeprefix(":")) if bracket and rest[:1] in {"", ":"} else ("", "")
    else:
        name, _, port = host.partition(":")
    if port and not (port.isascii() and port.isdigit() and int(port[:6]) <= MAX_PORT):
        return ""
    return name.lower()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
