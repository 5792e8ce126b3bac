"""Changes of pages with author and time, and deleted pages."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from operator import itemgetter

from commonplace.domain.addresses import Address, fold
from commonplace.domain.changes import Commit, credited, through
from commonplace.domain.errors import IndexingError
from commonplace.domain.markdown.paths import ends_path
from commonplace.domain.words.moments import Since
from commonplace.services.collections import Collection
from commonplace.services.deletions import CPU_SECONDS, not_served, recent_commits
from commonplace.services.history import last_commits, moved_on

BATCH_COMMITS = 50
"""Number of commits read in the first batch; each further one has twice as many."""
MAX_BATCH_COMMITS = 800
"""Maximum number of commits read per batch."""
MAX_COMMITS = 5_000
"""Maximum number of commits read for one answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeFilter:
    """A filter for commits; all given parts must match."""

    address: Address | None = None
    prefix: str = ""
    since: Since | None = None
    """Only commits that came into the branch since match."""
    by: str = ""
    """Part of the name or address of the author, or of an agent or program that the message credits."""

    def after(self, collection: Collection) -> str:
        """The commit without whose history commits match; "" for none."""
        return self.since.commits.get(collection.name, "") if self.since else ""


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
    """The commits that match a filter, newest first. `go_on` is called regularly and may raise to stop the walk."""
    for commit in _walk(collection, change_filter, go_on):
        page_commit = _kept(commit, change_filter)
        if page_commit is not None:
            yield page_commit


def deleted_pages(
    collection: Collection, change_filter: ChangeFilter, limit: int, go_on: Callable[[], None]
) -> tuple[list[DeletedPage], bool]:
    """Pages that commits deleted and that do not exist now, latest deletion first; and whether all are known.

    Before the history has been read as a whole, only recent commits are looked at, for `CPU_SECONDS`.
    """
    there = _there(collection)
    gone = _last_touching(collection, change_filter, there)
    recent, is_whole = _recent(collection, change_filter) if gone is None else ([], True)
    touching = map(itemgetter(0), gone) if gone is not None else recent
    pages: list[DeletedPage] = []
    met = set[Address]()
    for commit in touching:
        go_on()
        for address in commit.addresses if _kept(commit, change_filter) else ():
            if address in there or address in met or not _is_meant(collection, change_filter, address):
                continue
            met.add(address)
            pages += _deleted_page(collection, address, commit, is_last=gone is not None)
        if len(pages) >= limit:
            return pages[:limit], True
    return pages, is_whole


def _there(collection: Collection) -> AbstractSet[Address]:
    """The pages that are there, by the files while the first index is being built, and the files not served."""
    try:
        collection.index.wait_ready(0)
        pages = collection.index.revisions().keys()
    except IndexingError:
        pages = {address for address, _ in collection.store.scan()}
    return pages | not_served(collection.store)


def _recent(collection: Collection, change_filter: ChangeFilter) -> tuple[list[Commit], bool]:
    """The recent commits, newest first, and whether there are no others that the filter may mean."""
    history, after = collection.store.history, change_filter.after(collection)
    recent = list(recent_commits(history, time.thread_time() + CPU_SECONDS, after))
    return recent, not history.log(None, limit=1, offset=len(recent), after=after, below="")


def _last_touching(
    collection: Collection, change_filter: ChangeFilter, there: Container[Address]
) -> Iterable[tuple[Commit, bool]] | None:
    """The commits that last touched pages that may be gone, newest first; None if the history has not been read."""
    history, after, prefix = collection.store.history, change_filter.after(collection), change_filter.prefix
    if change_filter.address and not after:
        return history.last_touching([change_filter.address])
    chosen = (change_filter.address,) if change_filter.address else None

    def is_meant(item: Address) -> bool:
        return item in chosen if chosen else item.path.startswith(prefix) and item not in there

    return history.latest(is_meant, after=after)


def _deleted_page(
    collection: Collection, address: Address, commit: Commit, *, is_last: bool
) -> tuple[DeletedPage, ...]:
    """A page that is gone; none if a later commit touched it, or if no commit has it.

    Args:
        collection: Its folder.
        address: The page.
        commit: A commit that touched it.
        is_last: Whether this is known to be the last one.
    """
    last = last_commits(collection, address, commit if is_last else None)
    if last is None or last.touched.id != commit.id:  # another commit, which the filter excludes, was later
        return ()
    if last.containing == last.touched.id:  # the file is gone, and no commit says so
        return (DeletedPage(address, None, last.containing),)
    return (DeletedPage(address, last.touched, last.containing, moved_on(collection, address, last.touched)),)


def _is_meant(collection: Collection, change_filter: ChangeFilter, address: Address) -> bool:
    is_chosen = change_filter.address in {None, address} and address.path.startswith(change_filter.prefix)
    return is_chosen and not collection.store.ignores(address)


def gone_pages(collection: Collection, name: str) -> list[Address]:
    """The pages of a folded name that are gone and that a commit or the trash knows, the last changed one first.

    Before the history has been read as a whole, only recent commits are looked at, for `CPU_SECONDS`.
    """

    def is_meant(address: Address) -> bool:
        return address.is_document and ends_path(name, address, fold)

    store = collection.store
    named = store.history.named(name)
    commits = None if named is None else store.history.last_touching(list(filter(is_meant, named)))
    touching = (
        recent_commits(store.history, time.thread_time() + CPU_SECONDS)
        if commits is None
        else (commit for commit, _ in commits)
    )
    when: dict[Address, int] = {}
    for commit in touching:
        for address in filter(is_meant, commit.addresses):
            when.setdefault(address, commit.when)
    for item in store.trash.items() if store.trash else ():
        if is_meant(item.address):
            when[item.address] = max(int(item.when), when.get(item.address, 0))
    there = _there(collection)
    return sorted(when.keys() - there, key=lambda address: (-when[address], address.path))


def _walk(collection: Collection, change_filter: ChangeFilter, go_on: Callable[[], None]) -> Iterator[Commit]:
    """The commits that changed the page, or (without one) anything in the folder, newest first."""
    history, address, after = collection.store.history, change_filter.address, change_filter.after(collection)
    seen, limit = 0, BATCH_COMMITS
    while history.available and seen < MAX_COMMITS:
        go_on()
        batch = history.log(address, limit=limit, offset=seen, after=after, below=change_filter.prefix or None)
        yield from (commit for commit in batch if commit.is_shown)
        seen += len(batch)
        if len(batch) < limit:
            return
        limit = min(2 * limit, MAX_BATCH_COMMITS)


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
