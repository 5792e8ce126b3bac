"""What searching a space needs from outside, as a protocol that every search engine fulfils."""

from __future__ import annotations

from typing import Protocol

from commonplace.domain.pages.queries import PageAnswer, PageQuery, RebuildReport


class PageEngine(Protocol):
    """What searches the pages of one space. Every method may be called from several threads."""

    @property
    def name(self) -> str:
        """What a person calls it."""
        ...

    @property
    def url(self) -> str | None:
        """Where it answers; None for one in this process."""
        ...

    def connect(self) -> str:
        """See that the engine answers; a few words that say so.

        Raises:
            UnavailableError: kind "engine": it does not answer.
            UnauthenticatedError: it wants another key.
        """
        ...

    def count(self, timeout: float) -> int:
        """How many pages can be searched.

        Args:
            timeout: Seconds to wait for an index that is being built.

        Raises:
            NotFoundError: kind "search_index": there is no index for the space.
            IndexingError: it is not ready in time.
            UnavailableError, UnauthenticatedError: as for `connect`.
        """
        ...

    def rebuild(self, *, afresh: bool = False, dry_run: bool = False) -> RebuildReport:
        """Bring the index up to date with the files; searches are answered all the while.

        Args:
            afresh: Whether to begin with nothing, whatever is there.
            dry_run: Whether to say only what would be done.

        Raises:
            StorageError: kind "search_index": it could not be built; what was there is as it was.
            UnavailableError, UnauthenticatedError: as for `connect`.
        """
        ...

    def search(self, query: PageQuery) -> PageAnswer:
        """The best pages. A text without a letter or digit, where there is any, matches nothing.

        Raises:
            NotFoundError, UnavailableError, UnauthenticatedError: as for `count`.
        """
        ...

    def path_of(self, identifier: str) -> str | None:
        """The path of the page of this id, as far as the engine knows; not checked in any way."""
        ...

    def close(self) -> None:
        """Release what it holds."""
        ...
