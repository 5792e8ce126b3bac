"""Allowed host names of a server: protection against DNS rebinding."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

LOOPBACK_NAMES = frozenset({"localhost"})
MAX_CACHED_NAMES = 64
"""Number of names whose classification is cached. Most requests name the same few hosts."""
HTTP_PORT = 80
MAX_PORT = 65_535


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """The host names and origins that one server accepts.

    DNS rebinding needs a host name that the attacker controls. A request whose `Host` is an IP address is therefore
    safe.
    """

    bound: str
    """The address that the server listens on."""
    public_host: str = ""
    """Public host behind a proxy, with the port unless it is the scheme's default; "" without a proxy."""
    public_origin: str = ""
    node_host: str = ""
    """Host by which other servers of the same repositories reach this one; "" without such servers."""
    allowed_origins: frozenset[str] = frozenset()
    """Origins of other servers whose pages may call this one (CORS), in lower case."""

    def allows_host(self, host: str) -> bool:
        """Whether a `Host` header names this server."""
        if host and host.lower() in {self.public_host, self.node_host}:
            return True
        name, _ = _authority(host)
        if not name:
            return False
        if is_loopback(self.bound):
            return is_loopback(name)
        return name == self.bound.lower() or is_loopback(name) or _is_address(name)

    def allows_origin(self, origin: str, host: str) -> bool:
        """Whether an `Origin` header names this server or an allowed origin.

        Args:
            origin: The header's value.
            host: `Host` of the same request, which `allows_host` accepts. A page of this server has the same host.
        """
        given = origin.lower()
        if given == self.public_origin or self.shares_with(given):
            return bool(given)
        scheme, _, rest = given.partition("://")
        if scheme != "http" or host.lower() == self.public_host:
            return False
        here, there = _authority(host), _authority(rest)
        return here == there or (here[1] == there[1] and is_loopback(here[0]) and is_loopback(there[0]))

    def shares_with(self, origin: str) -> bool:
        """Whether pages of an origin may call this server and read its responses."""
        return origin.lower() in self.allowed_origins


def allowed_hosts_of(
    bound: str, public_url: str | None, allowed_origins: Iterable[str] = (), node_url: str | None = None
) -> AllowedHosts:
    """The allowed host names of a server.

    Args:
        bound: The address that the server listens on.
        public_url: The server's URL behind a proxy.
        allowed_origins: Origins of other servers whose pages may call this one.
        node_url: The server's URL for other servers of the same repositories.
    """
    allowed, node = frozenset(allowed_origins), urlsplit(node_url or "").netloc.lower()
    if not public_url:
        return AllowedHosts(bound, node_host=node, allowed_origins=allowed)
    parts = urlsplit(public_url)
    return AllowedHosts(bound, parts.netloc.lower(), f"{parts.scheme}://{parts.netloc}".lower(), node, allowed)


@lru_cache(MAX_CACHED_NAMES)
def is_loopback(name: str) -> bool:
    """Whether a name or address always means this machine."""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name.lower() in LOOPBACK_NAMES


@lru_cache(MAX_CACHED_NAMES)
def _authority(text: str) -> tuple[str, int]:
    """The name or address in `name:port`, in lower case, and the port; the name is "" if the text is malformed."""
    if text.startswith("["):
        inner, bracket, rest = text[1:].partition("]")
        name, port = (inner, rest.removeprefix(":")) if bracket and rest[:1] in {"", ":"} else ("", "")
    else:
        name, _, port = text.partition(":")
    if port and not (port.isascii() and port.isdigit() and int(port[:6]) <= MAX_PORT):
        return "", 0
    return name.lower(), int(port or HTTP_PORT)


@lru_cache(MAX_CACHED_NAMES)
def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
