"""Header fields that decide what a request may do."""

from __future__ import annotations

from starlette.datastructures import Headers


def combined(headers: Headers, name: str) -> str:
    """The value of a field that may be given several times: all of them, joined by commas; "" for none (RFC 9110, 5.3).

    So what decides about a request is no value that stands beside another one, which a proxy may have read instead.
    """
    return ", ".join(headers.getlist(name))


def authorization(headers: Headers) -> str | None:
    """The `Authorization` header, the only credentials of programs."""
    return combined(headers, "authorization") if "authorization" in headers else None
