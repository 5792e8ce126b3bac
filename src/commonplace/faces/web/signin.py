"""Signing in: a form takes a key and keeps it as a cookie, which the guard accepts for pages alone."""

from __future__ import annotations

from urllib.parse import parse_qs, quote

from starlette.datastructures import Headers
from starlette.types import Receive, Scope

from commonplace.faces.web.exchange import PageRequest, PageResponse, redirect
from commonplace.faces.web.pages import page

COOKIE = "commonplace_key"
SIGN_IN, SIGN_OUT = "/sign-in", "/sign-out"
PATHS = frozenset({SIGN_IN, SIGN_OUT})
FORM_TYPE = "application/x-www-form-urlencoded"
MAX_KEY_CHARS = 4_000
MAX_AGE = 30 * 86_400
"""Seconds for which a browser keeps the key."""


async def answer(scope: Scope, receive: Receive, request: PageRequest) -> PageResponse:
    """Show the form, keep the key that was sent, or drop it. The next page tells whether the key is known."""
    body = await _body(receive)
    if scope["method"] == "POST" and scope["path"] == SIGN_OUT:
        return redirect(SIGN_IN, 303).with_headers({"set-cookie": _cookie(scope, "", 0)})
    if scope["method"] == "POST":
        fields = parse_qs(body.decode("utf-8", "replace"), max_num_fields=10)
        key = fields.get("key", [""])[0].strip()[:MAX_KEY_CHARS]
        target = local_target(fields.get("next", ["/"])[0])
        if not key:
            return sign_in_page(request, target, wrong=False)
        return redirect(target, 303).with_headers({"set-cookie": _cookie(scope, key, MAX_AGE)})
    return sign_in_page(request, local_target(request.query.get("next", "/")), wrong=False, status=200)


def sign_in_page(request: PageRequest, target: str, *, wrong: bool, status: int = 401) -> PageResponse:
    """The form.

    Args:
        request: What the reader asked for.
        target: Where the reader goes once signed in.
        wrong: Whether a key was given that is not known.
        status: 401 when it stands for another page.
    """
    made = page(request, "signin.html", status, target=local_target(target), wrong=wrong)
    return made.with_headers({"cache-control": "no-store"})


def local_target(url: str) -> str:
    """The URL if it is a path of this server, else `/`."""
    is_local = url.startswith("/") and not url.startswith(("//", "/\\")) and url.isprintable()
    return url if is_local and not url.startswith((SIGN_IN, SIGN_OUT)) else "/"


def scheme_of(scope: Scope, headers: Headers) -> str:
    """`https` behind a proxy that says so, else the scheme of the connection."""
    told = headers.get("x-forwarded-proto", "").lower()
    return told if told in {"http", "https"} else str(scope.get("scheme", "http"))


def _cookie(scope: Scope, key: str, seconds: int) -> str:
    secure = "; Secure" if scheme_of(scope, Headers(scope=scope)) == "https" else ""
    return f"{COOKIE}={quote(key, safe='')}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"


async def _body(receive: Receive) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body
