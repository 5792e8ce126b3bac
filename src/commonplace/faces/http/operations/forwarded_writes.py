"""`/cluster/writes`: accepts writes that another server of the same remote forwards.

The route needs no key: the body is signed with the secret that the servers share.
"""

from __future__ import annotations

import hmac
from functools import partial

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from commonplace.domain.cluster.forwarded_writes import MAX_FORWARDED, WRITES_PATH, WRITES_SIGNATURE, signature_of
from commonplace.domain.errors import KnowledgeError, NotFoundError, UnauthenticatedError
from commonplace.faces.http.app import MountedApp
from commonplace.faces.http.guard import RouteRules
from commonplace.faces.http.operations.post_body import post_body
from commonplace.faces.responses import Json, send_error, send_json
from commonplace.faces.worker_threads import run_in_worker
from commonplace.services.services import Services


class ForwardedWrites:
    """The route `/cluster/writes`.

    Args:
        services: Services with replicas that write.
        secret: The shared secret.
    """

    def __init__(self, services: Services, secret: str) -> None:
        self._services = services
        self._secret = secret

    def part(self) -> MountedApp:
        """The route as a part of the application."""
        return MountedApp(WRITES_PATH, self._serve, RouteRules(lambda _: MAX_FORWARDED, lambda _: True))

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await post_body(WRITES_PATH, scope, receive, send)
        if body is None:
            return
        given = Headers(scope=scope).get(WRITES_SIGNATURE, "").strip().lower()
        if not hmac.compare_digest(given.encode("latin-1"), signature_of(body, self._secret).encode()):
            await send_error(send, _unsigned())
            return
        try:
            results = await run_in_worker(partial(self._taken, body), reads=False)
        except KnowledgeError as error:
            await send_error(send, error)
            return
        await send_json(send, 200, results)

    def _taken(self, body: bytes) -> Json:
        replicas = [one.replica for one in self._services.collections.opened if one.replica is not None]
        for replica in replicas:
            if (results := replica.take_writes(body)) is not None:
                return results
        raise NotFoundError(
            "This server does not write to that repository.",
            kind="replica",
            hint="All servers name a repository in the same way.",
        )


def _unsigned() -> UnauthenticatedError:
    return UnauthenticatedError(
        "The call is not signed with this server's cluster_secret.",
        kind="signature",
        hint="Give all servers the same secret.",
    )
