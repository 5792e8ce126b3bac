"""`/hooks/git`: webhook for Git hosts. A push event makes the affected replicas read their remote at once.

The route needs no key. Instead, the body must be signed with the secret in the settings (GitHub, Gitea, Forgejo,
Bitbucket), or a header must contain the secret (GitLab). Only URLs are read from the body; they select the replicas.
Git hosts sign neither a time nor a number, so an event that was sent before is accepted and changes nothing. A sender
that signs as Standard Webhooks does (standardwebhooks.com) gets both checked.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from typing import cast

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from commonplace.domain.errors import KnowledgeError, UnauthenticatedError
from commonplace.faces.access.used_once import UsedOnce
from commonplace.faces.http.app import MountedApp
from commonplace.faces.http.guard import RouteRules
from commonplace.faces.http.operations.post_body import post_body
from commonplace.faces.responses import send_error, send_json
from commonplace.services.services import Services

PATH = "/hooks/git"
MAX_BODY = 4_000_000
"""Maximum size of the body in bytes. A larger event is refused; the replica reads its remote at the next interval."""
URL_KEYS = (
    "clone_url",
    "ssh_url",
    "git_url",
    "html_url",
    "full_name",
    "git_http_url",
    "git_ssh_url",
    "path_with_namespace",
    "web_url",
)
"""Keys of a repository object that contain one of its URLs or its path, for all supported Git hosts."""
MAX_SIGNATURES, MAX_DIGITS = 5, 13
"""Maximum number of signatures in a header, and of digits in a time."""
MAX_URL = 2_000
"""Maximum characters of a URL."""
SIGNATURES = ("x-hub-signature-256", "x-gitea-signature", "x-forgejo-signature", "x-hub-signature")
"""Headers with the HMAC-SHA256 of the body in hexadecimal digits, some with the prefix `sha256=`."""
STANDARD_SIGNATURE, STANDARD_ID, STANDARD_TIME = "webhook-signature", "webhook-id", "webhook-timestamp"
"""Headers with `v1,` and the HMAC-SHA256 in base64 of `ID.TIME.BODY`, with the id and the time (Standard Webhooks)."""
MAX_CLOCK_SECONDS = 60
"""Maximum difference in seconds between a signed time and this server's clock."""
EVENT_SECONDS = 30 * 86_400
"""Time in seconds for which events are recorded."""
SECRET_HEADER = "x-gitlab-token"  # noqa: S105 - a header's name
"""Header with the secret in plain text (GitLab)."""


class GitWebhook:
    """The route `/hooks/git`.

    Args:
        services: Services with replicas.
        secret: The shared secret.
        used: The events that were received.
    """

    def __init__(self, services: Services, secret: str, used: UsedOnce) -> None:
        self._services = services
        self._used = used
        self._secret = secret.encode("utf-8", "surrogateescape")

    def part(self) -> MountedApp:
        """The route as a part of the application."""
        return MountedApp(PATH, self._serve, RouteRules(lambda _: MAX_BODY, lambda _: True))

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await post_body(PATH, scope, receive, send)
        if body is None:
            return
        event = self._event(Headers(scope=scope), body)
        if event is None:
            await send_error(send, _unsigned())
            return
        try:
            is_new = self._used.take("webhook", event, time.time() + EVENT_SECONDS)
        except KnowledgeError as error:
            await send_error(send, error)
            return
        if is_new:
            self._refresh(body)
        await send_json(send, 202, {"status": "accepted"})

    def _refresh(self, body: bytes) -> None:
        """Make the replicas that an event concerns read their remotes."""
        replicas = [one.replica for one in self._services.collections.opened if one.replica is not None]
        urls = list(_urls(body))
        for replica in [one for one in replicas if any(map(one.follows, urls))] or replicas:
            replica.refresh()

    def _event(self, headers: Headers, body: bytes) -> str | None:
        """The identity of an authentic event; None if the call is not authentic."""
        if STANDARD_SIGNATURE in headers:
            return self._standard_event(headers, body)
        token = headers.get(SECRET_HEADER)
        is_authentic = self._is_signed(headers, body) if token is None else _equal(token, self._secret)
        return hashlib.sha256(body).hexdigest() if is_authentic else None

    def _standard_event(self, headers: Headers, body: bytes) -> str | None:
        number, sent = headers.get(STANDARD_ID, ""), headers.get(STANDARD_TIME, "")
        signed = hmac.digest(self._secret, f"{number}.{sent}.".encode("latin-1") + body, "sha256")
        wanted = b"v1," + base64.b64encode(signed)
        if not any(_equal(one, wanted) for one in headers.get(STANDARD_SIGNATURE, "").split()[:MAX_SIGNATURES]):
            return None
        is_now = sent.isdigit() and len(sent) < MAX_DIGITS and abs(time.time() - int(sent)) <= MAX_CLOCK_SECONDS
        return f"id {number}" if number and is_now else None

    def _is_signed(self, headers: Headers, body: bytes) -> bool:
        signature = next((found for name in SIGNATURES if (found := headers.get(name))), "")
        given = signature.removeprefix("sha256=").strip().lower()
        return _equal(given, hmac.new(self._secret, body, hashlib.sha256).hexdigest().encode())


def _equal(given: str, wanted: bytes) -> bool:
    return hmac.compare_digest(given.encode("latin-1", "replace"), wanted)


def _urls(body: bytes) -> Iterator[str]:
    """The URLs of the repository in an event; none if the event has an unknown form."""
    try:
        told: object = json.loads(body)
    except (ValueError, RecursionError):
        return
    payload = cast("dict[str, object]", told) if isinstance(told, dict) else {}
    for name in ("repository", "project"):
        repository = payload.get(name)
        if isinstance(repository, dict):
            values = map(cast("dict[str, object]", repository).get, URL_KEYS)
            yield from (value for value in values if isinstance(value, str) and len(value) <= MAX_URL)


def _unsigned() -> UnauthenticatedError:
    return UnauthenticatedError(
        "The call is not signed with this server's webhook_secret.",
        kind="signature",
        hint="Give the Git host the same secret, with the content type application/json.",
    )
