"""Dates of sections that state none: the date of the commit that last changed their lines."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from threading import Lock

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Commit
from commonplace.domain.errors import GitError, InvalidInputError, NotFoundError, StorageError
from commonplace.domain.ports import History
from commonplace.domain.records import iso_timestamp
from commonplace.services.collections import Collection
from commonplace.toolsets.cascade.rules.concepts import concept_address, read_concept
from commonplace.toolsets.cascade.rules.values import Concept, ConceptSection, without_trailing_blanks

log = logging.getLogger(__name__)

MAX_COMMITS = 1000
"""Maximum number of commits read for one document; sections with older lines have no date."""
MAX_SECONDS = 2.0
"""Timeout in seconds for reading the commits of one document; sections not found by then have no date."""
MAX_CACHED = 2000
"""Maximum number of documents of one layer whose dates are cached."""

_Lines = tuple[str, str]
"""Heading and text of a section, which are compared between commits."""
_Dates = Mapping[_Lines, str]


class SectionDates:
    """The dates of one layer's sections, cached for the branch's current commit."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._commit = ""
        self._cached: dict[str, tuple[tuple[_Lines, ...], _Dates]] = {}

    def completed(self, collection: Collection, concept: Concept) -> Concept:
        """The concept with a date for each section whose lines are committed and state no date."""
        undated = tuple(_lines(section) for section in concept.sections if section.updated is None)
        if not undated:
            return concept
        dates = self._dates(collection, concept.id, undated)
        if not dates:
            return concept
        return replace(concept, sections=tuple(_dated(section, dates) for section in concept.sections))

    def _dates(self, collection: Collection, identifier: str, undated: tuple[_Lines, ...]) -> _Dates:
        history = collection.store.history
        try:
            commit = history.head()
        except (GitError, StorageError) as error:
            log.warning("The sections of %s get no dates: %s", identifier, error)
            return {}
        if not commit:
            return {}
        with self._lock:
            if commit != self._commit or len(self._cached) > MAX_CACHED:
                self._commit, self._cached = commit, {}
            known_pair = self._cached.get(identifier)
        if known_pair is not None and known_pair[0] == undated:
            return known_pair[1]
        dates = _last_changes(history, concept_address(identifier), undated)
        with self._lock:
            if commit == self._commit:
                self._cached[identifier] = undated, dates
        return dates


def _last_changes(history: History, address: Address, undated: tuple[_Lines, ...]) -> _Dates:
    """The time of the oldest commit since which the document has contained the same lines without interruption."""
    deadline = time.monotonic() + MAX_SECONDS
    changes: dict[_Lines, str] = {}
    left = set(undated)
    newer: Commit | None = None
    try:
        commits = history.log(address, limit=MAX_COMMITS)
        for commit in commits:
            if time.monotonic() > deadline:
                return changes
            held = _held(history, commit)
            gone = {lines for lines in left if lines not in held}
            if newer is not None:
                changes |= dict.fromkeys(gone, iso_timestamp(newer.when))
            left -= gone
            newer = commit
            if not left:
                return changes
    except (GitError, StorageError) as error:
        log.warning("Some sections of %s get no dates: %s", address.path, error)
        return changes
    if newer is not None and len(commits) < MAX_COMMITS:
        changes |= dict.fromkeys(left, iso_timestamp(newer.when))
    return changes


def _held(history: History, commit: Commit) -> frozenset[_Lines]:
    (address,) = commit.addresses
    try:
        raw = history.read(address, commit.id)
    except (NotFoundError, InvalidInputError):  # the commit deleted the document
        return frozenset()
    return frozenset(_lines(section) for section in read_concept(address.path, raw).sections)


def _lines(section: ConceptSection) -> _Lines:
    return section.heading or "", without_trailing_blanks(section.text)


def _dated(section: ConceptSection, dates: _Dates) -> ConceptSection:
    date = dates.get(_lines(section)) if section.updated is None else None
    return section if date is None else replace(section, updated=date, dated_by="git")
