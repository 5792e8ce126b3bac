"""OAuth 2.0 with an app of one's own: a sign-in in the browser, and access tokens that are renewed as they expire."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import cast
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2

from commonplace.domain.errors import InvalidInputError, UnauthenticatedError, UnavailableError
from commonplace.toolsets.pages.confluence.credentials import Login, OAuthApp
from commonplace.toolsets.pages.confluence.remote import Json, part_of, rows_of, text_of

AUTHORITY = "https://auth.atlassian.com"
GATEWAY = "https://api.atlassian.com"
SCOPES = (
    *(f"read:{kind}:confluence" for kind in ("space", "page", "folder", "whiteboard", "database", "embed")),
    *(f"read:{kind}:confluence" for kind in ("attachment", "comment", "label", "user", "content-details")),
    *(f"write:{kind}:confluence" for kind in ("page", "attachment", "label")),
    *("search:confluence", "readonly:content.attachment:confluence", "offline_access"),
)
"""The permissions that an app needs; offline_access lets `cn` renew the token."""
PATH = "/callback"
SIGN_IN_SECONDS = 300
"""Time for the sign-in in the browser."""
_TIMEOUT = httpx2.Timeout(30.0)


def sign_in(site: str, app: OAuthApp, port: int, show: Callable[[str], None]) -> Login:
    """A login to a site by its owner's consent in a browser.

    Args:
        site: The site.
        app: The app; its callback URL is `http://localhost:PORT/callback`.
        port: Port on which the browser's answer is awaited.
        show: Shows the owner the address to open.

    Raises:
        UnauthenticatedError: consent was refused, or not given in time, or the app has no access to the site.
        InvalidInputError: the port is taken.
    """
    callback = f"http://localhost:{port}{PATH}"
    nonce = secrets.token_urlsafe(24)
    query = {
        "audience": "api.atlassian.com",
        "client_id": app.client,
        "scope": " ".join(SCOPES),
        "redirect_uri": callback,
        "state": nonce,
        "response_type": "code",
        "prompt": "consent",
    }
    with _Callback(port, nonce) as server:
        show(f"{AUTHORITY}/authorize?{urlencode(query)}")
        code = server.code()
    request = {"grant_type": "authorization_code", "code": code, "redirect_uri": callback}
    login = _login(replace(app, url=f"{AUTHORITY}/oauth/token"), request)
    return replace(login, api=f"{GATEWAY}/ex/confluence/{_cloud_id(site, login)}")


def renewed(login: Login) -> Login:
    """The login with a new access token. The refresh token changes, too, so the result is to be kept.

    Raises:
        UnauthenticatedError: the consent was withdrawn, or has expired.
    """
    if login.app is None:
        return login
    return replace(
        _login(login.app, {"grant_type": "refresh_token", "refresh_token": login.app.refresh}), api=login.api
    )


def _login(app: OAuthApp, request: Mapping[str, str]) -> Login:
    content = {**request, "client_id": app.client, "client_secret": app.secret}
    answer = _answer("POST", app.url, json=content)
    tokens = part_of({"": answer}, "")
    token, refresh = text_of(tokens, "access_token"), text_of(tokens, "refresh_token")
    if not token:
        raise UnauthenticatedError("The site gave no access token.", kind="site", hint="Run 'cn login --oauth' again.")
    return Login("bearer", "", token, app=replace(app, refresh=refresh or app.refresh))


def _cloud_id(site: str, login: Login) -> str:
    url = f"{GATEWAY}/oauth/token/accessible-resources"
    answer = _answer("GET", url, headers={"Authorization": login.header, "Accept": "application/json"})
    rows = rows_of({"sites": answer}, "sites")
    for row in rows:
        if text_of(row, "url").rstrip("/") == site:
            return text_of(row, "id")
    sites = ", ".join(text_of(row, "url") for row in rows) or "no site"
    raise UnauthenticatedError(f"The app was given access to {sites}, not to {site}.", kind="site")


def _answer(method: str, url: str, **request: Json) -> Json:
    try:
        response = httpx2.request(method, url, timeout=_TIMEOUT, verify=url.startswith("https"), **request)
    except httpx2.HTTPError as error:
        raise UnavailableError(f"{urlsplit(url).netloc} cannot be reached: {error}", kind="site") from None
    answer: Json = None
    with suppress(ValueError, RecursionError):
        answer = response.json()
    if response.status_code != HTTPStatus.OK:
        reason = text_of(part_of({"": answer}, ""), "error_description")
        raise UnauthenticatedError(
            f"The sign-in was refused: {reason or f'status {response.status_code}'}.",
            kind="site",
            hint="Run 'cn login --oauth' again.",
        )
    return answer


class _Callback(HTTPServer):
    """Receives the browser's answer on loopback."""

    def __init__(self, port: int, nonce: str) -> None:
        try:
            super().__init__(("127.0.0.1", port), _Receiver)
        except OSError as error:
            raise InvalidInputError(
                f"Port {port} cannot be used: {error.strerror}.",
                kind="port",
                hint="Name another one with --port, and give the app the callback URL with it.",
            ) from None
        self.nonce = nonce
        self.timeout = SIGN_IN_SECONDS
        self.answer: dict[str, list[str]] | None = None
        self.is_late = False

    def handle_timeout(self) -> None:
        self.is_late = True

    def code(self) -> str:
        while self.answer is None and not self.is_late:
            self.handle_request()
        values = self.answer or {}
        if "code" not in values:
            reason = " ".join(values.get("error_description", values.get("error", ["nobody signed in"])))
            raise UnauthenticatedError(f"The sign-in was not finished: {reason[:200]}.", kind="site")
        return values["code"][0]


class _Receiver(BaseHTTPRequestHandler):
    """One request of a browser; those without the right state are of somebody else."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        values = parse_qs(parts.query)
        server = cast("_Callback", self.server)
        is_ours = parts.path == PATH and secrets.compare_digest(values.get("state", [""])[0], server.nonce)
        self.send_response(HTTPStatus.OK if is_ours else HTTPStatus.NOT_FOUND)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.end_headers()
        self.wfile.write(b"You can close this page and go back to the terminal.\n" if is_ours else b"Not found.\n")
        if is_ours:
            server.answer = values

    def log_message(self, format: str, *args: object) -> None:  # the address has the code  # noqa: A002
        del format, args
