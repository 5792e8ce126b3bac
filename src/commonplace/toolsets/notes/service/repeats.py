"""Answers of writes that are sent again: the second call answers as the first did, and writes nothing."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock

from commonplace.domain.addresses import Address
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.json import Json
from commonplace.domain.revisions import revision_of
from commonplace.services.collections import Collection

MAX_REPEATS = 512
"""Answers that are kept; the oldest are forgotten."""
REPEAT_SECONDS = 900.0
"""Seconds for which an answer is kept."""


@dataclass(frozen=True, slots=True)
class WriteAnswer:
    """The answer of a write, and what it left."""

    text: str
    collection: Collection
    left: Mapping[Address, str]
    """Revision by address after the write; "" for a page that it deleted."""

    def stands(self) -> bool:
        """Whether every page is still as the write left it."""
        return all(_revision(self.collection, address) == revision for address, revision in self.left.items())


class RepeatedWrites:
    """The answers of the last writes, by caller and call."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: OrderedDict[str, tuple[float, WriteAnswer]] = OrderedDict()
        self._lock = Lock()

    def find(self, client: str, tool: str, arguments: Mapping[str, Json], request_id: str) -> WriteAnswer | None:
        """The answer of the same call: by its request id, else by its text while its pages are as it left them."""
        known = self._get(_key(client, tool, arguments, request_id))
        return known if known is not None and (request_id or known.stands()) else None

    def add(self, client: str, tool: str, arguments: Mapping[str, Json], request_id: str, answer: WriteAnswer) -> None:
        """Keep the answer of a call."""
        with self._lock:
            self._known[_key(client, tool, arguments, request_id)] = self._clock(), answer
            while len(self._known) > MAX_REPEATS:
                self._known.popitem(last=False)

    def _get(self, key: str) -> WriteAnswer | None:
        with self._lock:
            known = self._known.get(key)
        return known[1] if known is not None and self._clock() - known[0] <= REPEAT_SECONDS else None


def _key(client: str, tool: str, arguments: Mapping[str, Json], request_id: str) -> str:
    told: Json = request_id or dict(arguments)
    kind = "id" if request_id else "text"
    return sha256(json.dumps([client, tool, kind, told], sort_keys=True).encode()).hexdigest()


def _revision(collection: Collection, address: Address) -> str:
    try:
        return revision_of(collection.store.read(address))
    except KnowledgeError:
        return ""
