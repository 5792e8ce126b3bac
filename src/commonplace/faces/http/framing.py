"""Framing of requests, against request smuggling: framing that a proxy could interpret differently is refused."""

from __future__ import annotations

import re

import h11
from h11._receivebuffer import ReceiveBuffer

MAX_HEAD = 64 * 1024
"""Maximum size in bytes of a request's line and headers."""
_END = re.compile(rb"\n\r?\n")
_ABSOLUTE = re.compile(rb"https?://(?P<host>[^/?#@]+)(?P<rest>[/?][^#]*)?", re.IGNORECASE)
_HUGE_CHUNK = re.compile(rb"0*[1-9A-Fa-f][0-9A-Fa-f]{8}")
_BARE_LF = re.compile(rb"(?<!\r)\n")


class StrictConnection(h11.Connection):
    """h11's server connection without its tolerance for malformed framing.

    Protocol errors are: a line that ends in LF alone, a line that continues the previous line, `Content-Length`
    together with `Transfer-Encoding`, and `Transfer-Encoding` in HTTP/1.0. RFC 9112, sections 2.2, 5.2 and 6.1, permits
    a server to reject these. Versions other than HTTP/1 are rejected, too, and chunks of 4 GiB or more, which exceed
    every body limit.
    A target in absolute form is converted to origin form, and its host becomes `Host` (RFC 9112, 3.2.2).
    """

    def __init__(self) -> None:
        super().__init__(h11.SERVER, MAX_HEAD)
        self._receive_buffer = _StrictBuffer()

    def next_event(self) -> type[h11.NEED_DATA | h11.PAUSED] | h11.Event:
        """The next event.

        Raises:
            h11.RemoteProtocolError: the request is not valid.
        """
        event = super().next_event()
        if isinstance(event, h11.Request):
            if not event.http_version.startswith(b"1."):
                raise h11.RemoteProtocolError("not HTTP/1")
            names = {name for name, _ in event.headers}
            if b"transfer-encoding" in names and (b"content-length" in names or event.http_version < b"1.1"):
                raise h11.RemoteProtocolError("two lengths of the body")
            return _in_origin_form(event)
        return event


def _in_origin_form(request: h11.Request) -> h11.Request:
    """Convert the request's target to origin form. A host in the target replaces the `Host` header.

    Raises:
        h11.RemoteProtocolError: the target is not an HTTP URL with a host, or contains user information.
    """
    if request.target.startswith(b"/") or b"://" not in request.target:
        return request
    found = _ABSOLUTE.fullmatch(request.target)
    if found is None:
        raise h11.RemoteProtocolError("a target that names no host of HTTP")
    others = [(name, value) for name, value in request.headers if name != b"host"]
    rest: bytes = found["rest"] or b""
    return h11.Request(
        method=request.method,
        target=rest if rest.startswith(b"/") else b"/" + rest,
        headers=[(b"host", found["host"]), *others],
        http_version=request.http_version,
    )


class _StrictBuffer(ReceiveBuffer):
    """h11's receive buffer with strict lines in heads and trailers, for which h11 has no public option."""

    def maybe_extract_lines(self) -> list[bytearray] | None:
        blank = 1 if self._data.startswith(b"\n") else 2 * self._data.startswith(b"\r\n")
        end = None if blank else _END.search(self._data, self._multiple_lines_search)
        if _BARE_LF.search(self._data, 0, end.end() if end else blank):
            raise h11.LocalProtocolError("a line ends in LF alone")
        lines = super().maybe_extract_lines()
        if any(line.startswith((b" ", b"\t")) for line in lines or ()):
            raise h11.LocalProtocolError("a line that continues another")
        return lines

    def maybe_extract_next_line(self) -> bytearray | None:
        line = super().maybe_extract_next_line()
        if line is not None and _HUGE_CHUNK.match(line):
            raise h11.LocalProtocolError("a chunk larger than any body")
        return line
