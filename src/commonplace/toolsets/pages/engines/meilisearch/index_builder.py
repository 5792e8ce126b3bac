"""Builds a new index and swaps it with the live one."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from commonplace.domain.errors import KnowledgeError, NotFoundError
from commonplace.domain.json import JsonObject
from commonplace.domain.records import normal_timestamp
from commonplace.toolsets.pages.engines.meilisearch.client import MeilisearchClient, index_path, items
from commonplace.toolsets.pages.engines.meilisearch.page_documents import INDEX_SETTINGS, batches

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
    for one in items(client.call("GET", "/indexes?limit=1000").get("results")):
        uid, changed = (one.get("uid"), one.get("updatedAt")) if isinstance(one, Mapping) else (None, None)
        moment = normal_timestamp(changed)
        left = bool(moment) and now - datetime.fromisoformat(moment) > LEFT_AFTER
        if left and isinstance(uid, str) and uid.startswith(f"{name}{TEMPORARY_SUFFIX}"):
            client.wait(client.call("DELETE", index_path(uid)))
