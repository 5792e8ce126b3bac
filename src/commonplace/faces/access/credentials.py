"""Header fields used for authorization."""

from __future__ import annotations

from starlette.datastructures import Headers


def combined(headers: Headers, name: str) -> str:
    """All values of a header field joined by commas, or "" if it is absent (RFC 9110, 5.3).

    Joining prevents this server and a proxy from choosing different values of a repeated field.
    """
    return ", ".join(headers.getlist(name))


def authorization(headers: Headers) -> str | None:
    """The `Authorization` header, or None. Programs have no other credentials."""
    return combined(headers, "authorization") if "authorization" in headers else None
