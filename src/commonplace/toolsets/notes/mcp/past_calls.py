"""Calls about the base as it was."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

from commonplace.faces.mcp.toolset import Call
from commonplace.services.past import as_of
from commonplace.toolsets.notes.mcp.text_output import BoundedAnswer


@contextmanager
def call_at(call: Call, at: str, answer: BoundedAnswer) -> Generator[Call]:
    """The same call on the base as it was; the call itself without a moment.

    The answer's first line says so, and the session does not count as having seen the pages.

    Args:
        call: The call.
        at: The moment, as `services.past` takes it; "" for now.
        answer: The answer, which is empty.
    """
    if not at:
        yield call
        return
    with as_of(call.services.collections, at) as base:
        answer.add_shortened(base.note)
        yield replace(call, services=replace(call.services, collections=base.collections), session=None)
