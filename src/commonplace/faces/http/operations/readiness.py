"""`/health/ready` tells balancers and probes whether a server can answer; `/health/collections` gives details."""

from __future__ import annotations

import os
from contextlib import suppress

import anyio.to_thread
from starlette.types import Receive, Scope, Send

from commonplace.domain.errors import IndexingError, KnowledgeError, NotFoundError
from commonplace.domain.json import JsonObject
from commonplace.domain.query import ListQuery
from commonplace.faces.access.callers import caller_of
from commonplace.faces.http.app import MountedApp, small_body
from commonplace.faces.http.guard import RouteRules
from commonplace.faces.responses import send_json
from commonplace.services.collections import Collection
from commonplace.services.services import Services

NOT_READY = 503


class Readiness:
    """The readiness of a server's collections.

    Args:
        services: The services.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._ending = False

    def end(self) -> None:
        """Report "ending" from now on, so that balancers send no further requests."""
        self._ending = True

    def parts(self) -> list[MountedApp]:
        """The routes: one for probes, without a key, and one with the state of each collection."""
        return [
            MountedApp("/health/ready", self._serve, RouteRules(small_body, lambda _: True), is_document=True),
            MountedApp("/health/collections", self._list, RouteRules(small_body, lambda _: False), is_document=True),
        ]

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        state = await anyio.to_thread.run_sync(self._current_state, abandon_on_cancel=True)
        status = "ending" if self._ending else state
        code = 200 if status == "ready" else NOT_READY
        await send_json(send, code, {"status": status}, with_body=scope["method"] != "HEAD")

    def _current_state(self) -> str:
        try:
            members = self._services.collections.members
        except KnowledgeError:  # a folder cannot be opened; the start-up retries it
            return "starting"
        if not all(map(is_ready, members)):
            return "starting"
        return "ready" if all(map(can_read, members)) else "failing"

    async def _list(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        names = caller_of(scope).collections
        visible = [one for one in self._services.collections.opened if names is None or one.name in names]
        found: JsonObject = {one.name: _state(one) for one in visible}
        await send_json(send, 200, {"collections": found}, with_body=scope["method"] != "HEAD")


def is_ready(collection: Collection) -> bool:
    """Whether the collection's index is ready for searches."""
    try:
        collection.index.wait_ready(0)
    except IndexingError:
        return False
    return True


def can_read(collection: Collection) -> bool:
    """Whether a page can be listed and read now: not if file descriptors have run out, or the disk fails."""
    try:
        for record in collection.index.list(ListQuery(limit=1)).records:
            with suppress(NotFoundError):  # deleted since it was indexed
                collection.store.read(record.address)
        os.close(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))  # what was read may have been open already
    except (KnowledgeError, OSError):
        return False
    return True


def _state(collection: Collection) -> JsonObject:
    state: JsonObject = {"ready": is_ready(collection) and can_read(collection)}
    if collection.replica is not None:
        status = collection.replica.status()
        age = None if status.age is None else round(status.age, 1)
        state |= {"commit": status.commit or None, "age_seconds": age, "problem": status.problem or None}
        if status.shared_index is not None:
            state["shared_index"] = status.shared_index
    return state
