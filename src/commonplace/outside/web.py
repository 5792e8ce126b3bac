"""Connections to hosts that outside text names: what is on a private network is refused, unless it is permitted.

All addresses of a host are checked, and the one that was checked is connected to. Each redirect is checked again.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING, TypeAlias, cast
from urllib.parse import urljoin, urlsplit

from commonplace import __version__
from commonplace.domain.errors import ConfigError, InvalidInputError, KnowledgeError, TooLargeError, UnavailableError

if TYPE_CHECKING:  # a server posts notices without it
    from commonplace.domain.sources import SourceFile

TIMEOUT = 60.0
"""Timeout in seconds of one download, redirects included."""
MAX_REDIRECTS = 5
HTTP_PORTS = {"http": 80, "https": 443}
_NAT64 = IPv6Network("64:ff9b::/96")
_UNICAST = IPv6Network("2000::/3")
"""All that IANA has assigned for the internet. The rest has site-local, translated and local addresses, too."""
_RESERVED = (IPv4Network("192.0.0.0/24"), IPv6Network("3fff::/20"))
"""Networks that older versions of Python take for public (RFC 6890, RFC 9637)."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HEADERS = {
    "user-agent": f"commonplace/{__version__}",
    "accept": "text/markdown, text/html, */*;q=0.5",
    "accept-encoding": "identity",
}

Lookup: TypeAlias = Callable[[str, int], Sequence[str]]
"""Returns the addresses of a host and port; raises OSError or UnicodeError if it has none."""


def port_of(url: str) -> int:
    """The port of a URL; 0 if it is invalid."""
    with suppress(ValueError):
        parts = urlsplit(url)
        return parts.port or HTTP_PORTS.get(parts.scheme, 0)
    return 0


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address is on the internet, also the IPv4 address that an IPv6 address contains."""
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _NAT64:
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
        if address not in _UNICAST:
            return False
    return address.is_global and not address.is_multicast and not any(address in network for network in _RESERVED)


def system_lookup(host: str, port: int) -> Sequence[str]:
    """The addresses of a host by the system's resolver."""
    return [str(row[4][0]) for row in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def resolved(
    host: str,
    port: int,
    refusal: Callable[[str], KnowledgeError],
    *,
    allow_private: bool,
    lookup: Lookup = system_lookup,
) -> str:
    """The address to connect to. All addresses of the host are checked, and this one is connected to.

    Args:
        host: Name or address of the host.
        port: Port.
        refusal: Makes the error for a private host.
        allow_private: Whether the host may be on a private network.
        lookup: Returns the addresses of a host.

    Raises:
        UnavailableError: the host has no address.
        KnowledgeError: from `refusal`: an address of it is private.
    """
    try:
        addresses = lookup(host, port)
    except (OSError, UnicodeError) as error:
        raise UnavailableError(f"{host} has no address now.", kind="host") from error
    if not addresses:
        raise UnavailableError(f"{host} has no address now.", kind="host")
    if not allow_private and not all(is_public(ip_address(address.partition("%")[0])) for address in addresses):
        raise refusal(host)
    return addresses[0]


class CheckedConnection(http.client.HTTPConnection):
    """A connection to one address, whatever the host's name means by then.

    Args:
        url: The URL.
        address: The checked address.
        timeout: Timeout in seconds of each step.
    """

    def __init__(self, url: str, address: str, timeout: float) -> None:
        parts = urlsplit(url)
        super().__init__(cast("str", parts.hostname), port_of(url), timeout=timeout)
        self._address = address
        self._is_encrypted = parts.scheme == "https"
        self._opened: socket.socket | None = None
        """The socket, which `self.sock` is not any more once the head of a last answer was read."""
        self.is_cut = False
        """Whether `cut` ended the connection, so that an answer may be a part of one."""

    def connect(self) -> None:
        """Connect to the address, and over TLS check that it is the host."""
        raw = socket.create_connection((self._address, self.port), self.timeout)
        self.sock = self._opened = raw
        if self._is_encrypted:
            self.sock = self._opened = ssl.create_default_context().wrap_socket(raw, server_hostname=self.host)

    def cut(self) -> None:
        """End the connection from another thread."""
        self.is_cut = True
        with suppress(OSError):
            if self._opened is not None:
                self._opened.shutdown(socket.SHUT_RDWR)


@contextmanager
def exchange(
    connection: CheckedConnection, request: tuple[str, str, bytes | None, Mapping[str, str]], timeout: float, kind: str
) -> Generator[http.client.HTTPResponse]:
    """Send a request and give its answer, all within a time. The connection is closed afterwards.

    Args:
        connection: The connection.
        request: Method, URL, body and headers.
        timeout: Timeout in seconds, from the connection to the end of the `with` block.
        kind: Kind of the error.

    Raises:
        UnavailableError: the host does not answer in time, or the connection fails.
    """
    method, url, body, headers = request
    parts = urlsplit(url)
    watchdog = threading.Timer(timeout, connection.cut)
    watchdog.daemon = True
    watchdog.start()
    try:
        target = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
        connection.request(method, target, body, dict(headers))
        with connection.getresponse() as answer:
            yield answer
        if connection.is_cut:
            raise TimeoutError
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = "it took too long" if connection.is_cut else _reason(error)
        raise UnavailableError(f"{parts.hostname} does not answer: {reason}.", kind=kind) from error
    finally:
        watchdog.cancel()
        connection.close()


def _reason(error: Exception) -> str:
    """The reason of a failure, without what the host sent."""
    if isinstance(error, ssl.SSLError):
        return "its certificate or its TLS is not valid"
    if isinstance(error, TimeoutError):
        return "it took too long"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return "it ended the connection, or took too long"


def download(url: str, *, allow_private: bool, timeout: float = TIMEOUT, lookup: Lookup = system_lookup) -> SourceFile:
    """The file of a URL, with the URL that it came from after redirects.

    Args:
        url: URL of http or https.
        allow_private: Whether hosts may be on private networks.
        timeout: Timeout in seconds of each hop.
        lookup: Returns the addresses of a host.

    Raises:
        InvalidInputError: it is no URL of http or https.
        ConfigError: a host is private.
        UnavailableError: a host does not answer in time, or answers with an error.
        TooLargeError: the file has more than `MAX_SOURCE_BYTES`.
    """
    from commonplace.domain.sources import SourceFile, name_of_url

    for _ in range(MAX_REDIRECTS + 1):
        host = _host(url)
        address = resolved(host, port_of(url), _private, allow_private=allow_private, lookup=lookup)
        connection = CheckedConnection(url, address, timeout)
        with exchange(connection, ("GET", url, None, _HEADERS), timeout, "source") as answer:
            if answer.status not in _REDIRECTS:
                return SourceFile(name_of_url(url), _content(answer, host), url)
            url = urljoin(url, answer.headers.get("location", "")).partition("#")[0]
    raise UnavailableError(f"The URL redirects more than {MAX_REDIRECTS} times.", kind="source")


def _host(url: str) -> str:
    """The host of a URL that may be read."""
    with suppress(ValueError):
        parts = urlsplit(url)
        is_plain = url.isascii() and url.isprintable() and " " not in url
        is_open = not parts.username and not parts.password
        if is_plain and parts.scheme in HTTP_PORTS and is_open and port_of(url) and parts.hostname:
            return parts.hostname
    raise InvalidInputError(
        "It is no URL of http or https without a password, in ASCII.", kind="source", hint="Give https://HOST/PATH."
    )


def _content(answer: http.client.HTTPResponse, host: str) -> bytes:
    from commonplace.domain.sources import MAX_SOURCE_BYTES

    if not 200 <= answer.status < 300:  # noqa: PLR2004 - success
        raise UnavailableError(f"{host} answers {answer.status}.", kind="source", hint="Check the URL.")
    if answer.headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}:
        raise UnavailableError(f"{host} compresses its answer without being asked to.", kind="source")
    content = answer.read(MAX_SOURCE_BYTES + 1)
    if len(content) > MAX_SOURCE_BYTES:
        raise TooLargeError(
            f"The file has more than {MAX_SOURCE_BYTES:,} bytes.", kind="source", hint="Add the part that matters."
        )
    return content


def _private(host: str) -> ConfigError:
    return ConfigError(
        f"{host} is on a private network or this machine, and is not read.",
        kind="setting",
        hint="On the command line --private permits it; for a server, source_private.",
    )
