"""Notices about the answer of a call, for faces whose answers have no field for notices."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_SAID: ContextVar[list[str] | None] = ContextVar("said", default=None)


@contextmanager
def recording_notices() -> Generator[list[str]]:
    """Collect the notices of the block, without repetitions. Only notices in the current context are collected."""
    said: list[str] = []
    token = _SAID.set(said)
    try:
        yield said
    finally:
        _SAID.reset(token)


def note(text: str) -> None:
    """Add a notice to the list of `recording_notices`, if one is active. It must not contain content of documents."""
    said = _SAID.get()
    if said is not None and text not in said:
        said.append(text)
