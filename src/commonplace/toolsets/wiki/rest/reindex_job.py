"""Indexes a collection on request, in the background, at most once at a time."""

from __future__ import annotations

import logging
import threading
from typing import Literal

from commonplace.domain.errors import KnowledgeError, UnavailableError
from commonplace.faces.rest.endpoint import RestRequest, RestResponse
from commonplace.services.collections import Collection
from commonplace.toolsets.wiki.rest import models
from commonplace.toolsets.wiki.service import WIKI_KEY

log = logging.getLogger(__name__)


class ReindexJob:
    """The running and failed index jobs of one server."""

    def __init__(self) -> None:
        self._running: set[str] = set()
        self._failed: set[str] = set()
        self._lock = threading.Lock()

    def start(self, request: RestRequest) -> RestResponse:
        """Start a job unless one is running."""
        collection = _collection(request)
        with self._lock:
            if collection.name not in self._running:
                self._running.add(collection.name)
                threading.Thread(target=self._run, args=(collection,), name="reindex", daemon=True).start()
        return RestResponse(models.Started(), 202)

    def status(self, request: RestRequest) -> RestResponse:
        """Whether a job is running, and the number of indexed pages."""
        collection = _collection(request)
        counts = collection.index.counts()
        with self._lock:
            state: Literal["running", "failed", "idle"] = "idle"
            if collection.name in self._running:
                state = "running"
            elif collection.name in self._failed:
                state = "failed"
        return RestResponse(
            models.IndexStatus(status=state, pages_indexed=counts.documents, chunks_created=counts.sections)
        )

    def _run(self, collection: Collection) -> None:
        failed = True
        try:
            collection.index.sync()
            failed = False
        except KnowledgeError as error:
            log.warning(
                "%s: indexing failed: %s", collection.name, error.advice, exc_info=log.isEnabledFor(logging.DEBUG)
            )
        finally:
            with self._lock:
                self._running.discard(collection.name)
                (self._failed.add if failed else self._failed.discard)(collection.name)


def _collection(request: RestRequest) -> Collection:
    for collection in request.services.collections:
        return collection
    _ = request.services.of(WIKI_KEY)  # raises an error for a caller who may see no collection
    raise UnavailableError("There is no index here.", kind="index", hint="Ask the server that has the pages.")
