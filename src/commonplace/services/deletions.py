"""Deletions: what an error about a page that is not there says of the commit that took it away."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from commonplace.domain.addresses import Address, address_or_none, fold
from commonplace.domain.changes import Commit, people_of
from commonplace.domain.errors import NotFoundError
from commonplace.domain.proposals import OWN_CHANGE, ServedView

if TYPE_CHECKING:
    from commonplace.domain.ports import History, Store

MAX_RECENT = 1_000
"""Maximum number of recent commits that are looked at, as long as the history has not been read as a whole."""
CPU_SECONDS = 0.15
"""Maximum processor time in seconds of looking through them."""
RECENT_BATCH = 50
"""Number of commits that are read at once."""
UNSHALLOW = "Run `git fetch --unshallow` in the folder to have the earlier commits."


class Deletion(NamedTuple):
    """The commit that took a page away."""

    address: Address
    commit: Commit
    moved_to: Address | None
    """The new path if it was moved; None if it was deleted."""
    is_committed: bool = True
    """Whether the commit took it away; otherwise it is the last one with the page, whose file is gone."""
    was_moved: bool = False
    """Whether `address` is not the path that was asked for, but the one to which the page was moved before."""
    is_proposed: bool = False
    """Whether an own proposal takes it away, which waits for a person."""

    @property
    def sentence(self) -> str:
        """A sentence that says when, by whom and in which commit."""
        day = datetime.fromtimestamp(self.commit.when, UTC).date().isoformat()
        what = f"moved to {self.moved_to.path}" if self.moved_to else "deleted"
        it = f"It was moved to {self.address.path}, which" if self.was_moved and not self.moved_to else "It"
        if not self.is_committed:
            last = f"commit {self.commit.id[:10]} of {day} by {people_of(self.commit)}"
            how = f"is {what} {OWN_CHANGE}" if self.is_proposed else f"was {what}, and that is not committed"
            return f"{it} {how}; {last} is the last with it."
        return f"{it} was {what} on {day} by {people_of(self.commit)}, in commit {self.commit.id[:10]}."

    @property
    def hint(self) -> str:
        """The way back, as every face has it."""
        if self.moved_to:
            return f"Give {self.moved_to.path}."
        it = self.address.path if self.was_moved else "it"
        return f"Bring {it} back with restore, or read it as it was {'' if self.is_committed else 'at '}{self.moment}."

    @property
    def moment(self) -> str:
        """The moment at which the page was last there, as `at` takes it."""
        return f"{'before ' if self.is_committed else ''}{self.commit.id[:10]}"


def deletion_of(stores: Sequence[Store], reference: str) -> Deletion | None:
    """The commit that took the page of a path or name away; None if none is known.

    Before the history has been read as a whole, only recent commits are looked at, for `CPU_SECONDS`.

    Args:
        stores: Where it may have been.
        reference: A path with or without suffix, or the name alone.
    """
    name = fold(reference.partition("#")[0].strip().removesuffix(".md"))
    until = time.thread_time() + CPU_SECONDS
    for store in stores if name else ():
        if deletion := _newest(store, lambda address: _is_named(address, name), store.history.named(name), until):
            return deletion
    return None


def _newest(
    store: Store, is_meant: Callable[[Address], bool], among: Sequence[Address] | None, until: float
) -> Deletion | None:
    """The newest deletion of a page that is meant.

    Args:
        store: Where it was.
        is_meant: Whether a page is meant.
        among: The pages that may be meant; None if the history has not been read.
        until: As for `recent_commits`.
    """
    skipped = not_served(store)
    commits = None if among is None else store.history.last_touching(list(filter(is_meant, among)))
    if commits is None:
        commits = ((commit, None) for commit in recent_commits(store.history, until))
    meant = (
        (commit, address, is_gone) for commit, is_gone in commits for address in commit.addresses if is_meant(address)
    )
    for commit, address, is_gone in meant:
        if address not in skipped and _is_gone(store, address):
            is_committed = _is_committed(store, address, commit, is_gone)
            return _deletion(store, Deletion(address, commit, None, is_committed), until)
    return None


def _is_committed(store: Store, address: Address, commit: Commit, is_gone: bool | None) -> bool:
    """Whether a commit took a page away; `is_gone` is the answer if it is known."""
    return not store.history.has(address, commit.id) if is_gone is None else is_gone


def _is_gone(store: Store, address: Address) -> bool:
    """Whether a page is not there; an ignored one may be."""
    return store.stat(address) is None and not store.ignores(address)


def is_proposed(store: Store, address: Address) -> bool:
    """Whether a file is as the caller's own proposal has it, and not as it is served."""
    return isinstance(store, ServedView) and address in store.changed()


def _own_moves(store: Store) -> Mapping[Address, Address]:
    return store.moved() if isinstance(store, ServedView) else {}


def own_change(store: Store, name: str) -> str:
    """A sentence about the page of a folded name, if the caller's own proposal moves or deletes it; "" otherwise."""
    changes = store.changed().items() if isinstance(store, ServedView) else ()
    for gone in (page for page, revision in changes if not revision and name == fold(page.id)):
        moved = _own_moves(store).get(gone)
        return f"It is {f'moved to {moved.path}' if moved else 'deleted'} {OWN_CHANGE}."
    return ""


def is_only_proposed(store: Store, address: Address) -> bool:
    """Whether a file is, or was, one of the caller's own proposal alone, and is not served."""
    return isinstance(store, ServedView) and store.served.stat(address) is None


def _deletion(store: Store, deletion: Deletion, until: float) -> Deletion:
    """The deletion with the new path, or that of the new path if the page is not there any more."""
    history, address = store.history, deletion.address
    if not deletion.is_committed:
        is_own = is_proposed(store, address)
        moved = _own_moves(store) if is_own else history.moved([present for present, _ in store.scan()])
        return deletion._replace(moved_to=moved.get(address), is_proposed=is_own)
    new = {old: new for new, old in history.renames(deletion.commit.id).items()}.get(address)
    later = _newest(store, new.__eq__, [new], until) if new and store.stat(new) is None else None
    return later._replace(was_moved=True) if later else deletion._replace(moved_to=new)


def recent_commits(history: History, until: float, after: str = "") -> Iterator[Commit]:
    """The recent commits, newest first, as far as the processor time suffices.

    Args:
        history: Their history.
        until: The processor time of this thread in seconds.
        after: As for `History.log`.
    """
    for offset in range(0, MAX_RECENT if history.available else 0, RECENT_BATCH):
        commits = history.log(None, limit=RECENT_BATCH, offset=offset, after=after, below="")
        yield from commits
        if len(commits) < RECENT_BATCH or time.thread_time() > until:
            return


def not_served(store: Store) -> AbstractSet[Address]:
    """The files that are there and were skipped by the last scan, such as links. They are no deleted pages."""
    return {address for path, _ in store.skipped() if (address := address_or_none(path)) is not None}


def skipped_file(stores: Sequence[Store], reference: str) -> str:
    """A sentence about a file of this path or name that is there and is not served, such as a link; "" for none."""
    name = fold(reference.partition("#")[0].strip().removesuffix(".md"))
    for store in stores if name else ():
        for path, reason in store.skipped():
            if (address := address_or_none(path)) and _is_named(address, name):
                return f"{path} is there, but not served: {reason}."
    return ""


def cut_off(stores: Sequence[Store]) -> str:
    """A sentence about what is not known, if one of the folders is in a shallow clone; "" otherwise."""
    if not any(store.history.is_shallow for store in stores):
        return ""
    return f"The clone is shallow: what was before its first commit, and who wrote it, is not known. {UNSHALLOW}"


def with_deletion(error: NotFoundError, stores: Sequence[Store], reference: str) -> NotFoundError:
    """The error about a page that is not there, with the commit that took it away, or why its file is not served."""
    if skipped := skipped_file(stores, reference):
        return NotFoundError(f"{error} {skipped}", kind=error.kind, reference=reference)
    gone = deletion_of(stores, reference)
    if gone is None:
        cut = cut_off(stores)
        return NotFoundError(f"{error} {cut}", kind=error.kind, hint=error.hint, **error.context) if cut else error
    return NotFoundError(f"{error} {gone.sentence}", kind=error.kind, hint=gone.hint, reference=reference)


def _is_named(address: Address, name: str) -> bool:
    path = fold(address.id)
    return path == name or ("/" not in name and path.rpartition("/")[2] == name)
