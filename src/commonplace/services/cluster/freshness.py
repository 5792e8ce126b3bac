"""Freshness of answers: the commits that replicas contain, and waiting for a commit that a caller needs."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote

from commonplace.domain.errors import InvalidInputError
from commonplace.services.collections import Collection, Collections

WAIT_SECONDS = 10.0
"""Timeout in seconds of a call for the commits that it names."""
MAX_COMMITS = 100
"""Maximum number of commits in one call."""
_COMMIT = re.compile(r"[0-9a-f]{40}")
_MAX_SHOWN = 60


@dataclass(frozen=True, slots=True)
class NeededCommit:
    """A commit that an answer must contain."""

    collection: str
    """Name of the collection; "" if only one is served."""
    commit: str


def parse_needed(text: str) -> list[NeededCommit]:
    """The commits that a caller needs.

    Args:
        text: `COMMIT`, or `NAME=COMMIT` with a percent-encoded name; several are separated by commas, as in
            `contained_commits`.

    Raises:
        InvalidInputError: the text does not have this form.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    found: list[NeededCommit] = []
    for part in parts[: MAX_COMMITS + 1]:
        name, _, commit = part.rpartition("=")
        if not _COMMIT.fullmatch(commit):
            raise InvalidInputError(
                f"Invalid at_least {part[:_MAX_SHOWN]!r}: a commit has 40 hexadecimal digits.",
                kind="commit",
                hint="Send what an earlier answer named: COMMIT, or NAME=COMMIT.",
            )
        found.append(NeededCommit(unquote(name), commit))
    if not 1 <= len(found) <= MAX_COMMITS:
        raise InvalidInputError(f"Invalid at_least: name 1 to {MAX_COMMITS} commits.", kind="commit")
    return found


def wait_for_commits(collections: Collections, text: str, timeout: float = WAIT_SECONDS) -> None:
    """Wait until the replicas contain the commits that a caller needs.

    A collection that is not a replica contains all of its commits, and needs no waiting.

    Args:
        collections: The collections that the caller may use.
        text: The commits, as for `parse_needed`.
        timeout: Timeout in seconds for all commits together.

    Raises:
        InvalidInputError: the text is invalid, or names no collection although several are served.
        NotFoundError: kind "collection" or "commit": there is no such collection, or its branch has lost the commit.
        UnavailableError: kind "commit": a replica did not receive its commit in time.
    """
    deadline = time.monotonic() + timeout
    for needed in parse_needed(text):
        replica = _collection(collections, needed.collection).replica
        if replica is not None:
            replica.wait_for(needed.commit, max(0.0, deadline - time.monotonic()))


def commits_before(collections: Iterable[Collection]) -> dict[str, str]:
    """The commits that answers of the replicas have now at least, by the identity of their store."""
    return {one.store.identity: one.replica.status().commit for one in collections if one.replica is not None}


def contained_commits(
    collections: Iterable[Collection], before: Mapping[str, str], written: Mapping[str, str] | None = None
) -> str:
    """The commits that an answer of the replicas has at least, as `parse_needed` reads them; "" without replicas.

    Args:
        collections: The collections that the caller may use.
        before: What `commits_before` returned when the answer was begun: what came since may not be in it. A collection
            that was opened since is not among them.
        written: The commits that the call itself has made, by the identity of their store. The index may follow later.
    """
    made = written or {}
    found: list[tuple[str, str]] = []
    for one in collections:
        if one.replica is not None:
            store = one.store.identity
            first = before.get(store) or one.replica.status().commit
            found.append((one.name, made.get(store) or one.replica.status(first).commit))
    return ", ".join(f"{quote(name, safe='')}={commit}" for name, commit in found if commit)


def _collection(collections: Collections, name: str) -> Collection:
    if name:
        return collections.get(name)
    members = collections.members
    if len(members) != 1:
        raise InvalidInputError(
            "Invalid at_least: several collections are served.", kind="commit", hint="Send NAME=COMMIT."
        )
    return members[0]
