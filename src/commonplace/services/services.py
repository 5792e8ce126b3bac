"""What a face is given: everything that is open, in one value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from commonplace.domain.changes import ClientCredit
from commonplace.domain.errors import ForbiddenError, NotFoundError
from commonplace.services.change_feed import ChangeFeed
from commonplace.services.collections import Collection, Collections
from commonplace.services.sessions.memory import SessionMemories

if TYPE_CHECKING:
    from commonplace.domain.wiki import Wiki
    from commonplace.services.cascade.cascade import Cascade
    from commonplace.services.pages.pages import SpacePages
    from commonplace.services.projects.project_store import ProjectStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The open collections and what serves them."""

    collections: Collections
    change_feed: ChangeFeed = field(default_factory=ChangeFeed)
    """Who wants to know that documents have changed."""
    credit: ClientCredit = "none"
    """How commits name the program through which a caller writes."""
    cascade: Cascade | None = None
    """The layers, where a manifest names some."""
    wiki_of: Callable[[Collection], Wiki] | None = None
    """Shows a collection as a wiki."""
    remote_wiki: Wiki | None = None
    """The wiki on another server that is served instead of a folder here."""
    sessions: SessionMemories = field(default_factory=SessionMemories)
    """What each session was shown of documents."""

    open_projects: Callable[[], ProjectStore] | None = None
    """Gives the one store of projects, where that is what is served."""

    space: SpacePages | None = None
    """The one synced space, where that is what is served."""
    open_space: Callable[[Collection], SpacePages | None] | None = None
    """A collection as a synced space; None where it is none."""

    @property
    def pages(self) -> SpacePages:
        """The one synced space, else the first open collection that is one.

        Raises:
            NotFoundError: there is none that the caller may see.
        """
        if self.space is not None:
            return self.space
        for collection in self.collections:
            found = self.open_space(collection) if self.open_space else None
            if found is not None:
                return found
        raise NotFoundError(
            "None of the folders that are served is a synced space.",
            kind="collection",
            hint="Serve a folder that has a .confluence.json.",
        )

    @property
    def projects(self) -> ProjectStore:
        """The one store of projects.

        Raises:
            NotFoundError: there is none in this process.
        """
        if self.open_projects is None:
            raise NotFoundError("No store of projects is served here.", kind="collection")
        return self.open_projects()

    @property
    def wiki(self) -> Wiki:
        """The remote wiki, else the first open collection as a wiki.

        Raises:
            ForbiddenError: the caller may see no collection.
        """
        if self.remote_wiki is not None:
            return self.remote_wiki
        for collection in self.collections:
            if self.wiki_of is not None:
                return self.wiki_of(collection)
        raise ForbiddenError(
            "None of the collections that are served may be used with this key.",
            kind="collection",
            hint="Ask for a key that names a served collection.",
        )

    def only(self, names: frozenset[str] | None) -> Services:
        """The same for a caller who may use just these collections; None for all."""
        if names is None:
            return self
        seen = self.collections.only(names)
        return replace(self, collections=seen, cascade=None, remote_wiki=None, open_projects=None, space=None)
