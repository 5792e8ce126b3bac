"""Records the writes of a call, so that its face can say which findings they newly cause."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from commonplace.domain.findings import NewFinding
from commonplace.services.collections import Collection
from commonplace.services.writes.overwrites import WriteReceipt


@dataclass(slots=True)
class RecordedWrites:
    """The writes of a block, in order."""

    receipts: list[tuple[Collection, WriteReceipt]] = field(default_factory=list[tuple[Collection, WriteReceipt]])
    findings: list[NewFinding] = field(default_factory=list[NewFinding])
    """New findings of writes without a collection, as of another server."""
    more: int = 0
    """Number of further findings of that server."""


_RECORDED: ContextVar[RecordedWrites | None] = ContextVar("recorded", default=None)


@contextmanager
def recording_writes() -> Generator[RecordedWrites]:
    """Collect the writes of the block. Only writes in the current context are collected."""
    recorded = RecordedWrites()
    token = _RECORDED.set(recorded)
    try:
        yield recorded
    finally:
        _RECORDED.reset(token)


def record_write(collection: Collection, receipt: WriteReceipt) -> WriteReceipt:
    """Add a completed write to what `recording_writes` collects, if it is active; return the receipt."""
    recorded = _RECORDED.get()
    if recorded is not None:
        recorded.receipts.append((collection, receipt))
    return receipt


def record_new_findings(findings: list[NewFinding], more: int = 0) -> None:
    """Add the new findings of a write to what `recording_writes` collects, if it is active."""
    recorded = _RECORDED.get()
    if recorded is not None:
        recorded.findings += findings
        recorded.more += more
