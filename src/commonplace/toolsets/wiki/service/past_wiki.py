"""A wiki at a moment of its folder's history."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from commonplace.domain.errors import GitError, InvalidInputError, NotFoundError
from commonplace.services.past import as_of, moment_of
from commonplace.services.services import Services
from commonplace.toolsets.wiki.rules.wiki import NoteQueries, Notes
from commonplace.toolsets.wiki.service import WIKI_KEY
from commonplace.toolsets.wiki.service.note_queries import LocalNoteQueries
from commonplace.toolsets.wiki.service.notes import DEFAULT_OPTIONS, LocalNotes


@dataclass(frozen=True, slots=True)
class WikiState:
    """Read access to a wiki, now or at an earlier moment."""

    notes: Notes
    queries: NoteQueries
    commit: str = ""
    """The commit that was current at that moment; "" for the current wiki."""


@contextmanager
def wiki_at(services: Services, at: str) -> Generator[WikiState]:
    """The caller's wiki at a moment, for the duration of a `with` block.

    Args:
        services: The services that the caller may use.
        at: The moment in the syntax of `services.past.moment_of`; "" for now.

    Raises:
        NotFoundError: kind "revision": the text does not name a past moment.
        InvalidInputError: the wiki is that of another server.
        StorageError, UnavailableError: as from `services.past.as_of`.
    """
    wiki = services.of(WIKI_KEY)
    if not at.strip():
        yield WikiState(wiki.notes, wiki.queries)
        return
    first = next(iter(services.collections), None)
    if first is None:
        raise InvalidInputError(
            "The wiki of another server has no past states here.",
            kind="revision",
            hint="Read one page with revision, or ask that server.",
        )
    try:
        moment_of(first, at)
    except (InvalidInputError, GitError) as error:
        # Any text may be the name of a tag, so a tag that does not exist is "not found", as is a missing history.
        raise NotFoundError(str(error), kind="revision", hint=error.hint) from error
    with as_of(services.collections.only(frozenset({first.name})), at) as base:
        (past,), (moment,) = tuple(base.collections), base.moments
        past = replace(past, index=past.index.preferring_last())
        yield WikiState(LocalNotes(past, DEFAULT_OPTIONS), LocalNoteQueries(past), moment.commit.id)
