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
TURNS = 32
"""Locks by which equal calls wait for each other."""
REPEAT_SECONDS = 900.0
"""Seconds for which an answer is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteCall:
    """A call that writes, as far as two calls are compared."""

    bases: tuple[str, ...]
    """The identities of the folders that the caller sees."""
    client: str
    tool: str
    arguments: Mapping[str, Json]
    request_id: str
    """"" where the caller gave none."""

    @property
    def key(self) -> str:
        """The same for calls that are the same, and no other: hex digits."""
        told: Json = self.request_id or dict(self.arguments)
        kind = "id" if self.request_id else "text"
        text = json.dumps([list(self.bases), self.client, self.tool, kind, told], sort_keys=True)
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


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
        self._turns = tuple(Lock() for _ in range(TURNS))

    def once(self, call: WriteCall, write: Callable[[], WriteAnswer]) -> str:
        """The answer of the same call, found by its request id, else by its text while its pages are as it left them.

        If there is none, `write` makes it. Two equal calls at once are made one after the other.
        """
        key = call.key
        with self._turns[int(key[:2], 16) % len(self._turns)]:
            known = self._get(key)
            if known is None or not (call.request_id or known.stands()):
                known = write()
                self._add(key, known)
            return known.text

    def _add(self, key: str, answer: WriteAnswer) -> None:
        with self._lock:
            self._known[key] = self._clock(), answer
            while len(self._known) > MAX_REPEATS:
                self._known.popitem(last=False)

    def _get(self, key: str) -> WriteAnswer | None:
        with self._lock:
            known = self._known.get(key)
        return known[1] if known is not None and self._clock() - known[0] <= REPEAT_SECONDS else None


def _revision(collection: Collection, address: Address) -> str:
    try:
        return revision_of(collection.store.read(address))
    except KnowledgeError:
        return ""
