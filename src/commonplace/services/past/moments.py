"""Resolves a moment that a caller names to the commit that was current then, and opens the collections as they were."""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Commit
from commonplace.domain.errors import GitError, InvalidInputError, NotFoundError
from commonplace.domain.past import PastStates
from commonplace.domain.query import Filter
from commonplace.domain.records import iso_timestamp
from commonplace.domain.words.moments import Since, parse_moment
from commonplace.services.collections import Collection, Collections, FoundDocument
from commonplace.services.deletions import UNSHALLOW

BEFORE = "before "
_HEAD = frozenset({"head", "@"})
_STEPS = re.compile(r"(?P<name>.+?)(?:~(?P<count>[0-9]{0,7})|(?P<marks>\^{1,99}))?")
PAST_READY_SECONDS = 45.0
"""Timeout in seconds for the first index, from which those of the past are made."""
MAX_SHOWN_MOMENT = 40
"""Maximum number of characters of a caller's moment that a message repeats."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment of one collection's past."""

    collection: Collection
    """The current collection."""
    commit: Commit
    """The commit that was current then."""

    @property
    def day(self) -> str:
        """The commit's date in UTC."""
        return f"{datetime.fromtimestamp(self.commit.when, UTC):%Y-%m-%d}"

    @property
    def note(self) -> str:
        """A line with the time that an answer is from."""
        return f"AS IT WAS at {self.commit.id[:10]} of {self.day}, not as it is now"


@dataclass(frozen=True, slots=True)
class PastBase:
    """The collections as they were."""

    collections: Collections
    """The collections that had a commit then. They are read-only and never change."""
    moments: Sequence[Moment]
    """The moment of each collection, in the same order."""

    @property
    def note(self) -> str:
        """A line with the times that the answer is from."""
        each = ", ".join(f"{moment.collection.name} {moment.commit.id[:10]}" for moment in self.moments)
        named = self.moments[0].commit.id[:10] if len(self.moments) == 1 else each
        days = sorted({moment.day for moment in self.moments})
        return f"AS IT WAS at {named} of {' and '.join(days)}, not as it is now"


def since_of(collections: Iterable[Collection], text: str) -> Since:
    """The moment since which changes are asked for, as a caller names it.

    Args:
        collections: The collections.
        text: As for `moment_of`; a date means its beginning.

    Raises:
        InvalidInputError: the text is not a moment, or is in the future.
        NotFoundError, GitError: from `moment_of`, if no collection has such a commit.
    """
    members, named, (before, name) = list(collections), dict[str, Commit](), _parts(text)
    errors: list[GitError | NotFoundError | InvalidInputError] = []
    for collection in members:
        try:
            named[collection.name] = _named(collection, _past_of(collection), name, before=before)
        except (GitError, NotFoundError, InvalidInputError) as error:  # a tag is that of one repository
            errors.append(error)
    if named:
        when = max(commit.when for commit in named.values())
        commits = {collection: commit.id for collection, commit in named.items()}
        return Since(when, commits, _named_commit(commits.values(), text))
    moment = parse_moment(name)
    if moment is None:
        errors.sort(key=lambda error: (not isinstance(error, NotFoundError), isinstance(error, GitError)))
        raise errors[0] if errors else _no_moment(name)
    if moment.timestamp() > time.time():
        raise _in_future(name)
    return since_time(members, moment.timestamp())


def _named_commit(commits: Iterable[str], text: str) -> str:
    """`Since.name` of commits, one of each collection, that a text names."""
    words, (first, *others) = " ".join(text.split())[:MAX_SHOWN_MOMENT], sorted(set(commits))
    if others:
        return words
    return first[:10] if first.startswith(words.lower()) else f"{first[:10]} ({words})"


def since_time(collections: Iterable[Collection], when: float) -> Since:
    """A time in Unix seconds since which changes are asked for, as `Since`."""
    return Since(when, {collection.name: _commit_before(collection, when) for collection in collections})


def _commit_before(collection: Collection, when: float) -> str:
    """Id of the last commit that the branch had before a time; "" without one.

    A commit that was made before, and picked or rebased onto the branch since, was not there.
    """
    if collection.past is None:
        return ""
    commits, before = collection.past.commits, int(when) - 1
    commit = commits.latest(before)
    while commit and commit.latest > before:
        commit, steps = commits.before(commit.id, 1)
        commit = commit if steps else None
    return commit.id if commit else ""


def narrowed_since(collection: Collection, filter_: Filter, since: Since | None) -> Filter:
    """A filter that is narrowed to the documents whose text came into the branch, or their files, since a moment.

    Without Git, the documents' own dates count.
    """
    history = collection.store.history
    then = since.commits.get(collection.name) if since else ""
    if since is None or (then == "" and history.available):
        return filter_
    if not history.available:
        return replace(filter_, updated_from=iso_timestamp(int(since.when))[: len("2026-03-01")])
    came = history.differing(then) | _written_since(collection, since.when) if then else set[Address]()
    among = came if filter_.among is None else came.intersection(filter_.among)
    return replace(filter_, among=tuple(among))


def _written_since(collection: Collection, when: float) -> set[Address]:
    """The documents whose files were written since a time, and that are not committed so."""
    changed, _ = collection.store.history.working_changes(collection.index.revisions())
    stats = ((address, collection.store.stat(address)) for address in changed)
    return {address for address, stat in stats if stat and max(stat.mtime_ns, stat.ctime_ns) / 1e9 >= when}


def moment_of(collection: Collection, text: str) -> Moment:
    """The moment of a collection that a text names.

    Args:
        collection: The collection.
        text: A date (its end, UTC) or time, "yesterday", "7 days ago", a commit, a tag, `HEAD`, one of these three
            with `~3` or `^` for commits before it, or "before" with any of them. A commit or tag takes precedence over
            a date of the same spelling.

    Raises:
        InvalidInputError: the text is not a moment, or is in the future.
        NotFoundError: the current branch has no such commit, or no commit so early.
        GitError: the collection has no history.
    """
    past = _past_of(collection)
    before, name = _parts(text)
    when = parse_moment(name, end=not before)
    try:
        return Moment(collection, _named(collection, past, name, before=before))
    except (InvalidInputError, NotFoundError):
        if when is None:
            raise
    is_shallow = collection.store.history.is_shallow
    return Moment(collection, _at(past, when, name, before=before, is_shallow=is_shallow))


def _parts(text: str) -> tuple[bool, str]:
    """Whether a text names what is before a moment, and the name of the moment."""
    wanted_text = " ".join(text.split())
    before = wanted_text.lower().startswith(BEFORE)
    return before, wanted_text[len(BEFORE) :] if before else wanted_text


def day_of(collection: Collection, text: str) -> str:
    """The day on which a past state is looked at: that which a text names, else that of its commit; "" for today.

    The parameters are those of `moment_of`; a text that names no moment, such as a revision in the trash, is of today.
    """
    if (when := parse_moment(text)) is not None:
        return f"{when:%Y-%m-%d}"
    try:
        return moment_of(collection, text).day
    except (InvalidInputError, NotFoundError, GitError):
        return ""


def is_moment(collection: Collection, text: str) -> bool:
    """Whether a text names a moment of a collection. The parameters are those of `moment_of`."""
    try:
        moment_of(collection, text)
    except (InvalidInputError, NotFoundError, GitError):
        return False
    return True


@contextmanager
def as_of(collections: Collections, text: str) -> Generator[PastBase]:
    """The collections as they were at a moment, for the duration of a `with` block.

    Searches in past collections are by words, because only current documents are embedded.

    Args:
        collections: The current collections.
        text: The moment, as for `moment_of`.

    Raises:
        InvalidInputError, NotFoundError, GitError: from `moment_of`, if no collection has such a moment.
        IndexingError: the first index, which the past ones are made from, is not ready in time.
        StorageError, UnavailableError: from an index.
    """
    collections.wait_ready(PAST_READY_SECONDS, lambda _done, _total: None)
    moments, when = _moments(collections, text), parse_moment(text)
    with ExitStack() as opened:
        members: list[Collection] = []
        for moment in moments:
            store, index = opened.enter_context(_past_of(moment.collection).opened(moment.commit.id))
            then = replace(
                moment.collection,
                store=store,
                index=index,
                semantic_index=None,
                past=None,
                is_past=True,
                day=moment.day if when is None else f"{when:%Y-%m-%d}",
            )
            members.append(then)
        yield PastBase(Collections(lambda: members), moments)


def document_then(now: FoundDocument, then: Collections) -> FoundDocument | None:
    """A present document at a past moment, under the address that it had before later renames; None without one.

    Args:
        now: The document in the present collections.
        then: The collections at the moment, from `as_of`.
    """
    past = next((collection for collection in then if collection.name == now.collection.name), None)
    if past is None:
        return None
    commit = past.store.history.head()
    address = now.collection.store.history.address_at(now.record.address, commit)
    record = past.index.record(address) if address else None
    return FoundDocument(past, record) if record else None


def _moments(collections: Collections, text: str) -> list[Moment]:
    moments: list[Moment] = []
    failed: GitError | NotFoundError | InvalidInputError | None = None
    for collection in collections:
        try:
            moments.append(moment_of(collection, text))
        except (GitError, NotFoundError, InvalidInputError) as error:  # a tag is that of one repository
            failed = failed or error
    if not moments and failed is not None:
        raise failed
    return moments


def require_history(collection: Collection) -> Collection:
    """The collection itself, after a check that it has a history.

    Raises:
        GitError: the collection has no history.
    """
    if not collection.store.history.available:
        raise _without_history(collection)
    return collection


def _past_of(collection: Collection) -> PastStates:
    past = require_history(collection).past
    if past is None:
        raise _without_history(collection)
    return past


def _without_history(collection: Collection) -> GitError:
    return GitError(
        f"There is no history of {collection.name!r}: {collection.store.history.absence}.",
        kind="history",
        hint="Run `git init` and commit in the folder to have one; `commonplace doctor` says what a repository lacks.",
    )


def _named(collection: Collection, past: PastStates, name: str, *, before: bool) -> Commit:
    parts = _STEPS.fullmatch(name)
    if parts is None:
        raise _no_moment(name)
    count = parts["count"]
    steps = len(parts["marks"] or "") if count is None else int(count or 1)
    base = collection.store.history.head() if parts["name"].lower() in _HEAD else parts["name"]
    try:
        commit, done = past.commits.before(base, steps + before)
    except InvalidInputError as error:
        raise _no_moment(name) from error
    if done == steps + before:
        return commit
    raise _nothing_there(collection, name, f"{done} before {parts['name'][:MAX_SHOWN_MOMENT]}" if done < steps else "")


def _nothing_there(collection: Collection, name: str, begin: str) -> NotFoundError:
    """The error for steps beyond the first commit; `begin` says where that is, "" for the named commit itself."""
    where = f"{'at' if begin else 'before'} {name[:MAX_SHOWN_MOMENT]}"
    if collection.store.history.is_shallow:
        return _not_known(where)
    return NotFoundError(
        f"There is nothing {where}: the history begins {begin or 'with it'}.",
        kind="revision",
        hint="Ask for the changes to see the commits.",
    )


def _at(past: PastStates, when: datetime, name: str, *, before: bool, is_shallow: bool) -> Commit:
    limit = when.timestamp() - before  # dates are whole seconds: "before" a second means at most the previous one
    if limit > time.time() and when.date() != datetime.now(UTC).date():
        raise _in_future(name)
    commit = past.commits.latest(limit)
    if commit is None:
        where = f"{'before ' if before else 'at '}{name[:MAX_SHOWN_MOMENT]}"
        if is_shallow:
            raise _not_known(where)
        raise NotFoundError(
            f"There was no commit yet {where}.",
            kind="revision",
            hint="Ask for the changes to see when the history begins.",
        )
    return commit


def _not_known(where: str) -> NotFoundError:
    return NotFoundError(
        f"It is not known what was there {where}: the clone is shallow, and its history begins later.",
        kind="revision",
        hint=UNSHALLOW,
    )


def _in_future(name: str) -> InvalidInputError:
    return InvalidInputError(
        f"{name[:MAX_SHOWN_MOMENT]!r} lies in the future: it is {datetime.now(UTC):%Y-%m-%d %H:%M} UTC.",
        kind="revision",
        hint="Give a moment of the past, or none for now.",
    )


def _no_moment(name: str) -> InvalidInputError:
    return InvalidInputError(
        f"{name[:MAX_SHOWN_MOMENT]!r} is no moment of the past.",
        kind="revision",
        hint="Give a date such as 2026-03-01, 'yesterday', '7 days ago', '2 hours ago', a commit (7 or more digits), a "
        "tag, 'HEAD~1', or 'before COMMIT'.",
    )
