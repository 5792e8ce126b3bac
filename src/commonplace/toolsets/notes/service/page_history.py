"""Changes of pages with author and time, and deleted pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Commit, credited, through
from commonplace.domain.errors import NotFoundError
from commonplace.services.collections import Collection
from commonplace.services.deletions import not_served
from commonplace.services.history import dated_since, last_commits, moved_on

BATCH_COMMITS = 50
"""Number of commits read per batch."""
MAX_COMMITS = 5_000
"""Maximum number of commits read for one answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeFilter:
    """A filter for commits; all given parts must match."""

    address: Address | None = None
    prefix: str = ""
    since: datetime | None = None
    after: str = ""
    """A commit of the folder's branch (7 or more digits). Only commits that are not in its history match."""
    by: str = ""
    """Part of the name or address of the author, or of an agent or program that the message credits."""


@dataclass(frozen=True, slots=True)
class PageCommit:
    """A commit with the pages that it changed."""

    commit: Commit
    pages: tuple[Address, ...]
    """Their addresses in the commit. A page that was renamed later has its older address."""
    credits: tuple[str, ...]
    """Agents and programs that the message credits."""


@dataclass(frozen=True, slots=True)
class DeletedPage:
    """A deleted page, and the last commit that contains it."""

    address: Address
    deleted_in: Commit | None
    """The commit that deleted it; None if no commit has yet."""
    last_in: str
    moved_to: Address | None = None
    """The page to which commits moved the text; None if there is none."""


def commits(collection: Collection, change_filter: ChangeFilter, go_on: Callable[[], None]) -> Iterator[PageCommit]:
    """The commits that match a filter, newest first. `go_on` is called regularly and may raise to stop the iteration.

    Raises:
        NotFoundError: kind "revision": the branch has no commit `after`.
    """
    if change_filter.after and not collection.store.history.available:
        raise NotFoundError(
            f"There is no commit {change_filter.after[:40]!r} here.", kind="revision", hint="Give a date."
        )
    walk = _walk(collection, change_filter.address, go_on, change_filter.after)
    for commit in dated_since(walk, change_filter.since.timestamp()) if change_filter.since else walk:
        page_commit = _kept(commit, change_filter)
        if page_commit is not None:
            yield page_commit


def deleted_pages(
    collection: Collection, change_filter: ChangeFilter, limit: int, go_on: Callable[[], None]
) -> list[DeletedPage]:
    """Pages that commits deleted and that do not exist now, latest deletion first."""
    pages: dict[Address, DeletedPage] = {}
    there = collection.index.revisions()
    met = {*not_served(collection.store)}
    for commit in commits(collection, change_filter, go_on):
        for address in commit.pages:
            if address in there or address in met or not _is_meant(collection, change_filter, address):
                continue
            met.add(address)
            last = last_commits(collection, address)
            if (
                last is None or last.touched.id != commit.commit.id
            ):  # another commit, which the filter excludes, was later
                continue
            if last.containing == last.touched.id:  # the file is gone, and no commit says so
                pages[address] = DeletedPage(address, None, last.containing)
            else:
                moved_to = moved_on(collection, address, last.touched)
                pages[address] = DeletedPage(address, last.touched, last.containing, moved_to)
        if len(pages) >= limit:
            break
    return list(pages.values())[:limit]


def _is_meant(collection: Collection, change_filter: ChangeFilter, address: Address) -> bool:
    return change_filter.address in {None, address} and not collection.store.ignores(address)


def gone_pages(collection: Collection, is_meant: Callable[[Address], bool]) -> list[Address]:
    """The chosen pages that are gone and that a commit or the trash knows, the last changed one first."""
    store = collection.store
    commits = store.history.last_touching(is_meant)
    if commits is None:
        when = {address: span.last.when for address, span in store.history.touched().items() if is_meant(address)}
    else:
        when = {address: commit.when for commit, _ in commits for address in commit.addresses}
    for item in store.trash.items() if store.trash else ():
        if item.address.is_document and is_meant(item.address):
            when[item.address] = max(int(item.when), when.get(item.address, 0))
    there = collection.index.revisions().keys() | not_served(store)
    return sorted(when.keys() - there, key=lambda address: (-when[address], address.path))


def _walk(
    collection: Collection, address: Address | None, go_on: Callable[[], None], after: str = ""
) -> Iterator[Commit]:
    """The commits that changed a page, or anything in the folder if `address` is None, newest first."""
    history = collection.store.history
    seen = 0
    while history.available and seen < MAX_COMMITS:
        go_on()
        batch = history.log(address, limit=BATCH_COMMITS, offset=seen, after=after)
        yield from (commit for commit in batch if commit.is_shown)
        seen += len(batch)
        if len(batch) < BATCH_COMMITS:
            return


def _kept(commit: Commit, change_filter: ChangeFilter) -> PageCommit | None:
    pages = tuple(
        address
        for address in commit.addresses
        if change_filter.address or address.path.startswith(change_filter.prefix)
    )
    names = credited(commit.message)
    people = f"{commit.author.name} <{commit.author.email}> {' '.join((*names, *through(commit.message)))}".casefold()
    if (change_filter.prefix and not pages) or change_filter.by.casefold() not in people:
        return None
    return PageCommit(commit, pages, names)
