"""The port of a space's search, as a protocol that every search engine implements."""

from __future__ import annotations

from typing import Protocol

from commonplace.toolsets.pages.rules.queries import PageAnswer, PageQuery, RebuildReport


class PageEngine(Protocol):
    """Searches the pages of one space. Every method is thread-safe."""

    @property
    def name(self) -> str:
        """The engine's name for people."""
        ...

    @property
    def url(self) -> str | None:
        """The engine's URL; None if the engine runs in this process."""
        ...

    def connect(self) -> str:
        """Check that the engine responds. Returns a few words for people that confirm the connection.

        Raises:
            UnavailableError: kind "engine": the engine does not respond.
            UnauthenticatedError: the engine rejects the key.
        """
        ...

    def count(self, timeout: float) -> int:
        """Number of pages that can be searched.

        Args:
            timeout: Seconds to wait for an index that is being built.

        Raises:
            NotFoundError: kind "search_index": the space has no index.
            IndexingError: the index is not ready in time.
            UnavailableError, UnauthenticatedError: as for `connect`.
        """
        ...

    def rebuild(self, *, afresh: bool = False, dry_run: bool = False) -> RebuildReport:
        """Update the index to the current files. Searches are answered during the update.

        Args:
            afresh: Whether to rebuild the index from nothing.
            dry_run: Whether to only report.

        Raises:
            StorageError: kind "search_index": the index could not be built; the old one is unchanged.
            UnavailableError, UnauthenticatedError: as for `connect`.
        """
        ...

    def search(self, query: PageQuery) -> PageAnswer:
        """The best matching pages. A non-empty text without a letter or digit matches nothing.

        Raises:
            NotFoundError, UnavailableError, UnauthenticatedError: as for `count`.
        """
        ...

    def path_of(self, identifier: str) -> str | None:
        """The path of a page id in the engine's index, not validated; None if it is unknown."""
        ...

    def close(self) -> None:
        """Release all resources."""
        ...
