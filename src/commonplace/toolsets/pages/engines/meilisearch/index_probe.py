"""Checks that a server is usable, and that an index was built by this program for the space.

Other programs build indexes of the same name with other documents and settings. Without these checks a search would
find nothing, or fail when a filter is used for the first time.
"""

from __future__ import annotations

import re

from commonplace.domain.errors import (
    KnowledgeError,
    NotFoundError,
    StorageError,
    UnauthenticatedError,
    UnavailableError,
)
from commonplace.toolsets.pages.engines.meilisearch.client import MeilisearchClient, index_path, whole_number
from commonplace.toolsets.pages.engines.meilisearch.page_documents import (
    FILTERABLE_ATTRIBUTES,
    SORTABLE_ATTRIBUTES,
    space_filter,
)
from commonplace.toolsets.pages.rules.space import Space

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
    found = _VERSION.match(version) if isinstance(version, str) else None
    if found is None:
        raise client.foreign("it names no version")
    if (int(found[1]), int(found[2])) < MIN_VERSION:
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
