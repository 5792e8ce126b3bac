"""Searches the pages of a space on a Meilisearch server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar
from urllib.parse import quote

from commonplace.domain.errors import NotFoundError, StorageError, UnauthenticatedError, UnavailableError
from commonplace.domain.json import JsonObject
from commonplace.domain.ports import Store
from commonplace.toolsets.pages.engines.meilisearch.client import (
    MeilisearchClient,
    RejectedError,
    index_path,
    items,
    whole_number,
)
from commonplace.toolsets.pages.engines.meilisearch.index_builder import build
from commonplace.toolsets.pages.engines.meilisearch.index_probe import (
    UNUSABLE_CODES,
    check_server,
    no_index,
    other_documents,
    page_count,
    unusable_index,
)
from commonplace.toolsets.pages.engines.meilisearch.page_documents import (
    RETRIEVED_ATTRIBUTES,
    filter_of,
    page_document,
    page_from_hit,
    snippet_of,
    sort_of,
)
from commonplace.toolsets.pages.engines.page_reader import PageReader, has_pages
from commonplace.toolsets.pages.rules.matched_words import QueryWords
from commonplace.toolsets.pages.rules.queries import PageAnswer, PageHit, PageQuery, RebuildReport
from commonplace.toolsets.pages.rules.space import Space

Answer = TypeVar("Answer")


class MeilisearchEngine:
    """`toolsets.pages.rules.ports.PageEngine` on a server. Only `rebuild` updates the index.

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
            found = self._ask("GET", f"documents/{quote(identifier, safe='')}?fields=local_path").get("local_path")
        except (NotFoundError, StorageError, UnavailableError, UnauthenticatedError):
            return None
        return found if isinstance(found, str) else None

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _ask(self, method: str, below: str, body: JsonObject | None = None) -> JsonObject:
        space = self._space()
        return self._with_index(space, lambda: self._client.call(method, index_path(space.index_name, below), body))

    def _counted(self, space: Space) -> int:
        found = page_count(self._client, space)
        if not found and has_pages(self._store, space):
            raise unusable_index(space, other_documents(self._client, space))
        return found

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
