"""Records the commits that a call's writes made at remotes, so that its answer can name them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_WRITTEN: ContextVar[dict[str, str] | None] = ContextVar("written", default=None)


@contextmanager
def recording_written() -> Generator[dict[str, str]]:
    """Collect the last commit of the block's writes to each store, by the store's identity.

    Only writes in the current context are collected. At the end they are added to an enclosing block's result.
    """
    written: dict[str, str] = {}
    outer = _WRITTEN.get()
    token = _WRITTEN.set(written)
    try:
        yield written
    finally:
        _WRITTEN.reset(token)
        if outer is not None:
            outer |= written


def record_written(store: str, commit: str) -> None:
    """Add the commit of a write that a remote has accepted to the result of `recording_written`, if one is active.

    Args:
        store: The store's identity.
        commit: The commit.
    """
    written = _WRITTEN.get()
    if written is not None:
        written[store] = commit
