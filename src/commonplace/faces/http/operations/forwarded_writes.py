"""`/cluster/writes`: accepts writes that another server of the same remote forwards.

The route needs no key: the call is signed with the secret that the servers share, for this server, with its time and a
number that is accepted once.
"""

from __future__ import annotations

import time
from functools import partial

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from commonplace.domain.cluster.forwarded_writes import (
    MAX_CLOCK_SECONDS,
    MAX_FORWARDED,
    WRITES_PATH,
    WRITES_SIGNATURE,
    signature_in,
)
from commonplace.domain.errors import KnowledgeError, NotFoundError, UnauthenticatedError
from commonplace.faces.access.used_once import UsedOnce
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
        url: URL of this server, which a call must name as its recipient; "" if no server forwards to this one.
        used: The numbers of earlier calls.
    """

    def __init__(self, services: Services, secret: str, url: str, used: UsedOnce) -> None:
        self._services = services
        self._secret = secret
        self._url = url
        self._used = used

    def part(self) -> MountedApp:
        """The route as a part of the application."""
        return MountedApp(WRITES_PATH, self._serve, RouteRules(lambda _: MAX_FORWARDED, lambda _: True))

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await post_body(WRITES_PATH, scope, receive, send)
        if body is None:
            return
        header = Headers(scope=scope).get(WRITES_SIGNATURE, "")
        try:
            results = await run_in_worker(partial(self._answer, header, body), reads=False)
        except KnowledgeError as error:
            await send_error(send, error)
            return
        await send_json(send, 200, results)

    def _answer(self, header: str, body: bytes) -> Json:
        """The results of the writes of a call that is signed for this server and was not sent before."""
        signature = signature_in(header, body, self._secret)
        if signature is None or signature.recipient.rstrip("/") != self._url.rstrip("/"):
            raise _refused("The call is not signed with this server's cluster_secret for its node_url.")
        if abs(time.time() - signature.time) > MAX_CLOCK_SECONDS:
            raise _refused("The call was signed at another time than this server's clock shows.")
        expires = signature.time + 2 * MAX_CLOCK_SECONDS
        if not self._used.take("forwarded writes", signature.number, expires):
            raise _refused("The call was sent before.")
        return self._taken(body)

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


def _refused(message: str) -> UnauthenticatedError:
    return UnauthenticatedError(
        message,
        kind="signature",
        hint="Give all servers the same secret and the same time, and name each among the peers by its node_url.",
    )
