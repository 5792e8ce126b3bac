"""Searches the pages of a space on a Meilisearch server."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TypeVar
from urllib.parse import quote

from commonplace.domain.errors import (
    KnowledgeError,
    NotFoundError,
    StorageError,
    UnauthenticatedError,
    UnavailableError,
)
from commonplace.domain.json import JsonObject
from commonplace.domain.ports import Store
from commonplace.domain.records import normal_timestamp
from commonplace.toolsets.pages.engines.meilisearch.client import (
    FILTERABLE_ATTRIBUTES,
    INDEX_SETTINGS,
    RETRIEVED_ATTRIBUTES,
    SORTABLE_ATTRIBUTES,
    MeilisearchClient,
    RejectedError,
    batches,
    filter_of,
    index_path,
    items,
    page_document,
    page_from_hit,
    snippet_of,
    sort_of,
    space_filter,
    whole_number,
)
from commonplace.toolsets.pages.rules.matched_words import QueryWords
from commonplace.toolsets.pages.rules.page import PageReader, has_pages
from commonplace.toolsets.pages.rules.queries import PageAnswer, PageHit, PageQuery, RebuildReport
from commonplace.toolsets.pages.rules.space import Space

Answer = TypeVar("Answer")


class MeilisearchEngine:
    """`toolsets.pages.rules.queries.PageEngine` on a server. Only `rebuild` updates the index.

    Args:
        client: The server.
        store: The indexed folder.
        space: Returns the current space.
    """

    def __init__(self, client: MeilisearchClient, store: Store, space: Callable[[], Space]) -> None:
        self._client = client
        self._store = store
        self._space = space

    @property
    def name(self) -> str:
        """The engine's name for people."""
        return "Meilisearch"

    @property
    def url(self) -> str:
        """The server's URL."""
        return self._client.url

    def connect(self) -> str:
        """Check that the server can be used."""
        check_server(self._client)
        return f"{self.name} connected at {self.url}"

    def count(self, timeout: float) -> int:  # noqa: ARG002 - an index is swapped in whole, so there is nothing to wait for
        """Number of the space's pages in the index."""
        space = self._space()
        return self._with_index(space, lambda: self._counted(space))

    def rebuild(self, *, afresh: bool = False, dry_run: bool = False) -> RebuildReport:  # noqa: ARG002 - always afresh
        """Build a new index and swap it in."""
        space = self._space()
        gathered = PageReader(self._store, space)
        if dry_run:
            return RebuildReport(len(gathered.pages), gathered.unusable, gathered.flawed)
        count = 0

        def documents() -> Iterator[JsonObject]:
            nonlocal count
            for whole in gathered.texts():
                count += 1
                yield page_document(whole, space.key)

        build(self._client, space.index_name, documents())
        return RebuildReport(count, gathered.unusable, gathered.flawed)

    def search(self, query: PageQuery) -> PageAnswer:
        """The best matching pages."""
        text = query.text.strip()
        if text and not any(letter.isalnum() for letter in text):
            return PageAnswer()  # the server would treat it as an empty text
        answer = self._ask(
            "POST",
            "search",
            {
                "q": text,
                "page": 1,
                "hitsPerPage": query.limit,
                "filter": filter_of(query.filter, self._space().key),
                "sort": sort_of(query.sort),
                "attributesToRetrieve": list(RETRIEVED_ATTRIBUTES),
            },
        )
        hits = [hit for hit in items(answer.get("hits")) if isinstance(hit, Mapping)]
        total = whole_number(answer.get("totalHits")) or 0
        if not total:
            self.count(0)  # raise if another program has replaced the index, which then matches nothing
        words = QueryWords.of(text)
        chars = query.snippet_chars(len(hits))
        shown = (PageHit(page_from_hit(hit), snippet_of(hit, words, chars)) for hit in hits)
        return PageAnswer(tuple(shown), total)

    def path_of(self, identifier: str) -> str | None:
        """Path of the indexed page with this id; None if there is none or the server does not respond."""
        try:
            local_path = self._ask("GET", f"documents/{quote(identifier, safe='')}?fields=local_path").get("local_path")
        except (NotFoundError, StorageError, UnavailableError, UnauthenticatedError):
            return None
        return local_path if isinstance(local_path, str) else None

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _ask(self, method: str, below: str, body: JsonObject | None = None) -> JsonObject:
        space = self._space()
        return self._with_index(space, lambda: self._client.call(method, index_path(space.index_name, below), body))

    def _counted(self, space: Space) -> int:
        count = page_count(self._client, space)
        if not count and has_pages(self._store, space):
            raise unusable_index(space, other_documents(self._client, space))
        return count

    @staticmethod
    def _with_index(space: Space, ask: Callable[[], Answer]) -> Answer:
        """Run a query of an index. Errors name the command that builds the index."""
        try:
            return ask()
        except NotFoundError:
            raise no_index(space) from None
        except RejectedError as error:
            if error.rejection not in UNUSABLE_CODES:
                raise
            raise unusable_index(space, error.reason.rstrip(".")) from None


# Builds a new index and swaps it with the live one.


TEMPORARY_SUFFIX = "--new-"
"""Separates the live index's name from a random part in the name of an unfinished index."""
LEFT_AFTER = timedelta(hours=2)
"""Minimum age at which an unfinished index counts as that of a killed process."""


def build(client: MeilisearchClient, name: str, documents: Iterable[JsonObject]) -> None:
    """Build an index of these documents and swap it with the live one, which answers until then.

    The live index stays in place if the build fails.

    Raises:
        StorageError: kind "search_index": a task failed.
        UnavailableError, UnauthenticatedError: as for `MeilisearchClient.call`.
    """
    _remove_left(client, name)
    beside = f"{name}{TEMPORARY_SUFFIX}{secrets.token_hex(6)}"
    client.wait(client.call("POST", "/indexes", {"uid": beside, "primaryKey": "id"}))
    try:
        client.wait(client.call("PATCH", index_path(beside, "settings"), INDEX_SETTINGS))
        tasks = [client.call("POST", index_path(beside, "documents"), batch) for batch in batches(documents)]
        for task in tasks:
            client.wait(task)
        _put_in_place(client, name, beside)
    finally:
        # After the swap this name belongs to the old index. If its deletion fails, a later build removes it by its age.
        with suppress(KnowledgeError):
            client.wait(client.call("DELETE", index_path(beside)))


def _put_in_place(client: MeilisearchClient, name: str, beside: str) -> None:
    try:
        client.call("GET", index_path(name))
    except NotFoundError:
        client.wait(client.call("POST", "/indexes", {"uid": name, "primaryKey": "id"}))
    client.wait(client.call("POST", "/swap-indexes", [{"indexes": [name, beside]}]))


def _remove_left(client: MeilisearchClient, name: str) -> None:
    """Remove unfinished indexes of killed processes."""
    now = datetime.now(UTC)
    for element in items(client.call("GET", "/indexes?limit=1000").get("results")):
        uid, changed = (element.get("uid"), element.get("updatedAt")) if isinstance(element, Mapping) else (None, None)
        moment = normal_timestamp(changed)
        left = bool(moment) and now - datetime.fromisoformat(moment) > LEFT_AFTER
        if left and isinstance(uid, str) and uid.startswith(f"{name}{TEMPORARY_SUFFIX}"):
            client.wait(client.call("DELETE", index_path(uid)))


# Checks that a server is usable, and that an index was built by this program for the space.
#
# Other programs build indexes of the same name with other documents and settings. Without these checks a search would
# find nothing, or fail when a filter is used for the first time.


MIN_VERSION = (1, 0)
"""The oldest version of the server that has every required function."""
UNUSABLE_CODES = frozenset({"invalid_search_filter", "invalid_search_sort"})
"""Codes of the server's errors for attributes that an index cannot filter or sort by."""

_VERSION = re.compile(r"(\d+)\.(\d+)")


def check_server(client: MeilisearchClient) -> None:
    """Check that the server responds, is a Meilisearch server, and is not too old.

    A key that permits searches only may not read the version, which is then not checked.

    Raises:
        UnavailableError: kind "engine": the server does not respond, or cannot be used.
        UnauthenticatedError: the key is wrong.
    """
    if client.call("GET", "/health").get("status") != "available":
        raise client.foreign("its health is not that of a Meilisearch")
    try:
        version = client.call("GET", "/version").get("pkgVersion")
    except UnauthenticatedError:
        return
    match = _VERSION.match(version) if isinstance(version, str) else None
    if match is None:
        raise client.foreign("it names no version")
    if (int(match[1]), int(match[2])) < MIN_VERSION:
        oldest = ".".join(map(str, MIN_VERSION))
        raise UnavailableError(
            f"Meilisearch at {client.url} is version {version}, which is too old: {oldest} or later is needed. "
            "Update it with: docker run -d -p 7700:7700 getmeili/meilisearch:latest",
            kind="engine",
        )


def page_count(client: MeilisearchClient, space: Space) -> int:
    """Number of the space's pages in its index. The request uses every filter and sort that a search may use.

    Raises:
        NotFoundError: kind "search_index": there is no index.
        RejectedError: kind "search_index": one of `UNUSABLE_CODES` if the index does not support a filter or sort.
        UnavailableError, UnauthenticatedError: as for `MeilisearchClient.call`.
    """
    query = {
        "q": "",
        "page": 1,
        "hitsPerPage": 1,
        # Every page has labels, possibly an empty list. The other attributes test whether the index can filter by them.
        "filter": [space_filter(space.key), [f"{name} EXISTS" for name in FILTERABLE_ATTRIBUTES]],
        "sort": [f"{name}:asc" for name in SORTABLE_ATTRIBUTES],
        "attributesToRetrieve": ["id"],
    }
    return whole_number(client.call("POST", index_path(space.index_name, "search"), query).get("totalHits")) or 0


def unusable_index(space: Space, reason: str) -> StorageError:
    """The error for an index that was not built for this space by this program."""
    return StorageError(
        f'The search index "{space.index_name}" cannot be used for space "{space.key}": {reason}. '
        "Run 'cn search index' to build it anew.",
        kind="search_index",
    )


def no_index(space: Space) -> NotFoundError:
    """The error for a space without an index."""
    return NotFoundError(
        f"No search index found for space \"{space.key}\". Run 'cn search index' first.", kind="search_index"
    )


def other_documents(client: MeilisearchClient, space: Space) -> str:
    """A clause about the content of an index without a page of the space."""
    try:
        count = whole_number(client.call("GET", index_path(space.index_name, "stats")).get("numberOfDocuments"))
    except KnowledgeError:  # the key permits searches only
        return "it has no page of this space"
    return f"none of its {count} documents is a page of this space" if count else "it is empty"
