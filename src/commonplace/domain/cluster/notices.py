"""Notices about how a call was answered, for faces whose answers have no room for one."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_SAID: ContextVar[list[str] | None] = ContextVar("said", default=None)


@contextmanager
def recording_notices() -> Generator[list[str]]:
    """Collect the notices of the block, without repetitions. Only those of this call's context are collected."""
    said: list[str] = []
    token = _SAID.set(said)
    try:
        yield said
    finally:
        _SAID.reset(token)


def note(text: str) -> None:
    """Add a notice, a sentence without content of documents, to the list of `recording_notices`, if one is active."""
    said = _SAID.get()
    if said is not None and text not in said:
        said.append(text)
