"""`/hooks/git`: webhook for Git hosts. A push event makes the affected replicas read their remote at once.

The route needs no key. Instead, the body must be signed with the secret in the settings (GitHub, Gitea, Forgejo,
Bitbucket), or a header must contain the secret (GitLab). Only URLs are read from the body; they select the replicas.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import cast

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from commonplace.domain.errors import UnauthenticatedError
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
MAX_URL = 2_000
"""Maximum characters of a URL."""
SIGNATURES = ("x-hub-signature-256", "x-gitea-signature", "x-forgejo-signature", "x-hub-signature")
"""Headers with the HMAC-SHA256 of the body in hexadecimal digits, some with the prefix `sha256=`."""
SECRET_HEADER = "x-gitlab-token"  # noqa: S105 - a header's name
"""Header with the secret in plain text (GitLab)."""


class GitWebhook:
    """The route `/hooks/git`.

    Args:
        services: Services with replicas.
        secret: The shared secret.
    """

    def __init__(self, services: Services, secret: str) -> None:
        self._services = services
        self._secret = secret.encode("utf-8", "surrogateescape")

    def part(self) -> MountedApp:
        """The route as a part of the application."""
        return MountedApp(PATH, self._serve, RouteRules(lambda _: MAX_BODY, lambda _: True))

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await post_body(PATH, scope, receive, send)
        if body is None:
            return
        if not self._is_authentic(Headers(scope=scope), body):
            await send_error(send, _unsigned())
            return
        replicas = [one.replica for one in self._services.collections.opened if one.replica is not None]
        urls = list(_urls(body))
        for replica in [one for one in replicas if any(map(one.follows, urls))] or replicas:
            replica.refresh()
        await send_json(send, 202, {"status": "accepted"})

    def _is_authentic(self, headers: Headers, body: bytes) -> bool:
        token = headers.get(SECRET_HEADER)
        if token is not None:
            return hmac.compare_digest(token.encode("latin-1"), self._secret)
        signature = next((found for name in SIGNATURES if (found := headers.get(name))), "")
        given = signature.removeprefix("sha256=").strip().lower().encode("latin-1")
        return hmac.compare_digest(given, hmac.new(self._secret, body, hashlib.sha256).hexdigest().encode())


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
