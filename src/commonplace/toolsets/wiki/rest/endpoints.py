"""The endpoints of the wiki's REST API."""

from __future__ import annotations

import logging
import threading
from typing import Literal

from commonplace.domain.errors import KnowledgeError, UnavailableError
from commonplace.faces.rest.endpoint import Endpoint, RestContract, RestRequest, RestResponse
from commonplace.services.collections import Collection
from commonplace.toolsets.wiki.rest import handlers, models
from commonplace.toolsets.wiki.service import WIKI_KEY

PAGE_TEMPLATE = "/pages/{path}"
ATTACHMENTS = "/pages/{path}/attachments"
ATTACHMENT = "/pages/{path}/attachments/{filename}"
MAX_UPLOAD = 14 * 1024 * 1024
"""Maximum number of bytes of a request body: base64 turns 10 MB into 14 MB."""


def endpoints() -> tuple[Endpoint, ...]:
    """The endpoints in the order of the OpenAPI document."""
    reindexing = ReindexJob()
    return (
        Endpoint(
            method="GET",
            template="/health",
            summary="Whether the server is there",
            run=handlers.health,
            answers={200: models.Health},
            tier=None,
        ),
        Endpoint(
            method="GET",
            template="/pages",
            summary="List pages",
            run=handlers.list_pages,
            answers={200: models.Pages},
            query=models.ListParameters,
            error_statuses=frozenset({404}),
        ),
        *_of_pages(),
        *_of_moves(),
        *_of_finding(),
        *_of_attachments(),
        *_of_attachment(),
        Endpoint(
            method="POST",
            template="/reindex",
            summary="Bring the index up to date",
            run=reindexing.start,
            answers={202: models.Started},
            tier="write",
            proposes=False,
        ),
        Endpoint(
            method="GET",
            template="/reindex/status",
            summary="How far the index is",
            run=reindexing.status,
            answers={200: models.IndexStatus},
        ),
    )


def _of_pages() -> tuple[Endpoint, ...]:
    missing, conflict = frozenset({404}), frozenset({404, 409})
    return (
        Endpoint(
            method="GET",
            template=PAGE_TEMPLATE,
            summary="Read a page",
            run=handlers.get_page,
            conditional=True,
            answers={200: models.Page},
            query=models.RevisionParameters,
            error_statuses=missing,
        ),
        Endpoint(
            method="PUT",
            template=PAGE_TEMPLATE,
            summary="Create a page, or replace it at its revision",
            run=handlers.put_page,
            conditional=True,
            answers={200: models.Saved, 201: models.Saved},
            tier="write",
            body=models.Put,
            max_body=MAX_UPLOAD,
            error_statuses=conflict,
        ),
        Endpoint(
            method="PATCH",
            template=PAGE_TEMPLATE,
            summary="Replace the one occurrence of a text",
            run=handlers.patch_page,
            conditional=True,
            answers={200: models.Edited},
            tier="write",
            body=models.Patch,
            max_body=MAX_UPLOAD,
            error_statuses=conflict,
        ),
        Endpoint(
            method="DELETE",
            template=PAGE_TEMPLATE,
            summary="Delete a page",
            run=handlers.delete_page,
            conditional=True,
            answers={200: models.Deleted},
            tier="write",
            body=models.Delete,
            body_needed=False,
            error_statuses=conflict,
        ),
    )


def _of_moves() -> tuple[Endpoint, ...]:
    missing, conflict = frozenset({404}), frozenset({404, 409})
    return (
        Endpoint(
            method="POST",
            template="/pages/{path}/rename",
            summary="Move a page; links to it follow",
            run=handlers.rename_page,
            conditional=True,
            answers={200: models.Renamed},
            tier="write",
            body=models.Rename,
            error_statuses=conflict,
        ),
        Endpoint(
            method="GET",
            template="/pages/{path}/history",
            summary="The commits that touched a page",
            run=handlers.page_history,
            answers={200: models.History},
            query=models.HistoryParameters,
            error_statuses=missing,
        ),
        Endpoint(
            method="GET",
            template="/pages/{path}/diff",
            summary="What differs between two revisions of a page",
            run=handlers.page_diff,
            answers={200: models.Differences},
            query=models.DiffParameters,
            error_statuses=missing,
        ),
        Endpoint(
            method="POST",
            template="/pages/{path}/restore",
            summary="Write a page's text of an older revision again",
            run=handlers.restore_page,
            conditional=True,
            answers={200: models.Saved, 201: models.Saved},
            tier="write",
            body=models.Restore,
            error_statuses=conflict,
        ),
    )


def _of_finding() -> tuple[Endpoint, ...]:
    return (
        Endpoint(
            method="GET",
            template="/search",
            summary="Pages by words",
            run=handlers.search,
            answers={200: models.Hits},
            query=models.SearchParameters,
            answers_unfinished=True,
            error_statuses=frozenset({404}),
        ),
        Endpoint(
            method="GET",
            template="/semantic-search",
            summary="Pieces of pages by meaning",
            run=handlers.semantic_search,
            answers={200: models.Chunks},
            query=models.SemanticSearchParameters,
            answers_unfinished=True,
        ),
        Endpoint(
            method="GET",
            template="/links/{path}",
            summary="The links of a page",
            run=handlers.page_links,
            answers={200: models.Links},
            query=models.MomentParameters,
            error_statuses=frozenset({404}),
        ),
        Endpoint(
            method="GET",
            template="/links",
            summary="All links",
            run=handlers.all_links,
            answers={200: models.Graph},
            query=models.MomentParameters,
            error_statuses=frozenset({404}),
        ),
        Endpoint(
            method="GET",
            template="/changelog",
            summary="The latest commits",
            run=handlers.changelog,
            answers={200: models.Changelog},
            query=models.ChangelogParameters,
        ),
    )


def _of_attachments() -> tuple[Endpoint, ...]:
    missing = frozenset({404})
    return (
        Endpoint(
            method="GET",
            template=ATTACHMENTS,
            summary="The files of a page",
            run=handlers.list_attachments,
            answers={200: models.Attachments},
            error_statuses=missing,
        ),
        Endpoint(
            method="POST",
            template=ATTACHMENTS,
            summary="Add a file to a page",
            run=handlers.upload_attachment,
            conditional=True,
            answers={200: models.Uploaded, 201: models.Uploaded},
            tier="write",
            body=models.Upload,
            max_body=MAX_UPLOAD,
            error_statuses=frozenset({404, 409}),
        ),
    )


def _of_attachment() -> tuple[Endpoint, ...]:
    missing = frozenset({404})
    return (
        Endpoint(
            method="PUT",
            template=ATTACHMENT,
            summary="Add a file to a page as bytes, or replace the one that If-Match names",
            run=handlers.put_attachment,
            conditional=True,
            answers={200: models.Uploaded, 201: models.Uploaded},
            tier="write",
            takes_bytes=True,
            max_body=MAX_UPLOAD,
            error_statuses=frozenset({404, 409}),
        ),
        Endpoint(
            method="GET",
            template=ATTACHMENT,
            summary="A file of a page",
            run=handlers.download_attachment,
            conditional=True,
            gives_bytes=True,
            answers={200: models.Downloaded},
            error_statuses=missing,
        ),
        Endpoint(
            method="DELETE",
            template=ATTACHMENT,
            summary="Delete a file of a page",
            run=handlers.delete_attachment,
            conditional=True,
            answers={200: models.Detached},
            tier="write",
            body=models.Delete,
            body_needed=False,
            error_statuses=frozenset({404, 409}),
        ),
    )


WIKI_REST = RestContract(
    description="A wiki of Markdown pages. Paths of pages are percent-encoded, their slashes may be.",
    endpoints=endpoints,
    is_document=handlers.is_page,
    proposes=True,
)


# Indexes a collection on request, in the background, at most once at a time.


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
