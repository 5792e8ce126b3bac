"""The one decision on whether a caller may write, and the record of what each session reads and writes."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from commonplace.domain.activity import (
    NO_LIMITS,
    Access,
    AccessLog,
    Actor,
    HourlyUse,
    HourlyUses,
    PlannedWrite,
    WriteLimits,
    watched_by,
)
from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.errors import ForbiddenError, RateLimitedError
from commonplace.domain.records import build_record
from commonplace.domain.revisions import revision_of

_OF_PROPOSAL = re.compile(r"-[0-9]{8}-[0-9a-f]{6}$")
"""End of the identity of a view, behind that of the served store."""
MAX_READ = 50
"""Maximum number of pages of one call that are recorded as read."""


@dataclass(slots=True)
class CallWatch:
    """`domain.activity.WriteWatch` of one call."""

    actor: Actor
    log: AccessLog
    uses: HourlyUses
    limits: WriteLimits = NO_LIMITS
    reads: bool = False
    """Whether the call only reads, so that the pages that it names count as read."""
    _read: dict[tuple[str, str], None] = field(default_factory=dict[tuple[str, str], None])

    @contextmanager
    def writing(self, write: PlannedWrite) -> Generator[Callable[[str], None]]:
        """Allow a write for the duration of a `with` block; yields what is called with its commit when it is done."""
        release = require_allowed(self.limits, write, self.actor, self.uses)
        done = False

        def finish(commit: str) -> None:
            nonlocal done
            done = True
            self.log.add(_written(self.actor, write, commit))

        try:
            yield finish
        finally:
            if not done:
                release()

    def reading(self, base: str, path: str) -> None:
        """Record that a page was read."""
        if self.reads and len(self._read) < MAX_READ:
            self._read[_OF_PROPOSAL.sub("", base), path] = None

    def finish(self) -> None:
        """Add what was read to the log."""
        for base in dict.fromkeys(base for base, _ in self._read):
            paths = tuple(path for other, path in self._read if other == base)
            self.log.add(Access(when=time.time(), actor=self.actor, base=base, read=paths))


@contextmanager
def watched(watch: CallWatch) -> Generator[None]:
    """Let a watch see the reads and writes of the block."""
    with watched_by(watch):
        try:
            yield
        finally:
            watch.finish()


def require_allowed(limits: WriteLimits, write: PlannedWrite, actor: Actor, uses: HourlyUses) -> Callable[[], None]:
    """Check that a caller may make a write, and count it. Every face and every tool is decided here.

    Args:
        limits: The limits of the caller's key.
        write: The write.
        actor: The caller.
        uses: What each key has written in the last hour.

    Returns:
        A function that takes the count back, for a write that was not made.

    Raises:
        ForbiddenError: kind "limit": a file is in another folder, or of another type.
        RateLimitedError: kind "limit": the key has written too much in the last hour.
    """
    if limits == NO_LIMITS:
        return lambda: None
    for address in write.after:
        if limits.folders and not _is_below(address, limits.folders):
            raise ForbiddenError(
                f"This key writes in {_listed(limits.folders, '/')} only; {address} is not there. Nothing was written.",
                kind="limit",
                hint="Write there, or ask for a key without this limit.",
            )
        for name in _types(address, write) if limits.types else ():
            if name not in limits.types:
                raise ForbiddenError(
                    f"This key writes pages of type {_listed(limits.types)} only; {address} has "
                    f"{f'the type {name[:60]}' if name else 'none'}. Nothing was written.",
                    kind="limit",
                    hint="Write pages of these types, or ask for a key without this limit.",
                )
    if not limits.is_hourly:
        return lambda: None
    pages, size = len(write.after), sum(len(content or b"") for content in write.after.values())

    def check(use: HourlyUse) -> None:
        for name, most, used, asked in (
            ("pages", limits.pages, use.pages, pages),
            ("bytes", limits.size, use.size, size),
        ):
            if most is not None and used + asked > most:
                raise _too_much(name, most, used, asked, use.until)

    return uses.reserve(actor.caller, pages, size, check)


def _is_below(address: Address, folders: Sequence[str]) -> bool:
    return any(address.path.startswith(f"{folder.strip('/')}/") for folder in folders)


def _types(address: Address, write: PlannedWrite) -> Iterator[str]:
    """The types that a page has before and after a write."""
    if address.is_document:
        for content in (write.before.get(address), write.after[address]):
            if content is not None:
                yield str(build_record(read_document(address, content), revision_of(content)).type or "")


def _listed(names: Sequence[str], end: str = "") -> str:
    shown = [f"{name.strip('/')}{end}" for name in names]
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]


def _too_much(name: str, most: int, used: int, asked: int, until: float) -> RateLimitedError:
    left = max(0, most - used)
    wait = max(1, int(until) + 1)
    more = f"Wait {wait} s, or write at most {left:,} {name}." if asked <= most else f"Write at most {most:,} {name}."
    return RateLimitedError(
        f"This key writes {most:,} {name} an hour: {used:,} are written, {left:,} are left, and this write has "
        f"{asked:,}. Nothing was written.",
        kind="limit",
        hint=more,
        retry_after=wait,
    )


def _written(actor: Actor, write: PlannedWrite, commit: str) -> Access:
    files = None
    if not commit:
        files = {
            address.path: (_revision(write.before.get(address)), _revision(content))
            for address, content in write.after.items()
        }
    return Access(when=time.time(), actor=actor, base=write.base, commit=commit, proposal=write.proposal, files=files)


def _revision(content: bytes | None) -> str:
    return "" if content is None else revision_of(content)
