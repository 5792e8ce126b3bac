"""Calls on a past state of the base."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

from commonplace.faces.mcp.toolset import Call
from commonplace.services.past import as_of
from commonplace.toolsets.notes.mcp.text_output import BoundedAnswer


@contextmanager
def call_at(call: Call, at: str, answer: BoundedAnswer) -> Generator[Call]:
    """The call on the base at a past moment; the unchanged call if `at` is "".

    The first line of the answer names the moment. Pages of the past are not recorded as seen in the session.

    Args:
        call: The call.
        at: The moment in the syntax of `services.past`; "" for now.
        answer: The answer, still empty.
    """
    if not at:
        yield call
        return
    with as_of(call.services.collections, at) as base:
        answer.add_shortened(base.note)
        yield replace(call, services=replace(call.services, collections=base.collections), session=None)
