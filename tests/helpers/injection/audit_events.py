"""Something happens right before the program opens, links, renames or removes a file, as Python's audit events tell."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

Arguments: TypeAlias = tuple[object, ...]


@dataclass(slots=True)
class _Action:
    event: str
    matches: Callable[[Arguments], bool]
    act: Callable[[], object]
    calls: list[Arguments] = field(default_factory=list[Arguments])


_ACTIONS: list[_Action] = []
_HOOKS: list[Callable[[str, Arguments], None]] = []
_THREAD = threading.local()


@contextmanager
def before(
    event: str, matches: Callable[[Arguments], bool], act: Callable[[], object] = lambda: None
) -> Generator[list[Arguments]]:
    """A block in which something happens before calls; what it raises, the call raises.

    Args:
        event: The audit event: `open`, `os.link`, `os.rename`, `os.remove`, `os.mkdir`, `os.scandir`; of a flush
            `commonplace.flush`, `commonplace.fsync`, `commonplace.syncfs`, `commonplace.write_out`.
        matches: Whether a call with these arguments is meant.
        act: What happens. Calls that it makes itself are not looked at.

    Yields:
        The arguments of the calls that were meant, so far.
    """
    if not _HOOKS:  # it stays as long as the process
        _HOOKS.append(_hook)
        sys.addaudithook(_hook)
    action = _Action(event, matches, act)
    _ACTIONS.append(action)
    try:
        yield action.calls
    finally:
        _ACTIONS.remove(action)


def ends_with(end: str) -> Callable[[Arguments], bool]:
    """Whether a name among the arguments of a call ends so."""
    return lambda arguments: any(str(argument).endswith(end) for argument in arguments)


def once(act: Callable[[], object]) -> Callable[[], object]:
    """An action that happens the first time only."""
    left = [act]
    return lambda: left.pop()() if left else None


def raising(error: BaseException) -> Callable[[], object]:
    """An action that fails."""

    def act() -> None:
        raise error

    return act


def _hook(event: str, arguments: Arguments) -> None:
    if not _ACTIONS or getattr(_THREAD, "acts", False):
        return
    for action in tuple(_ACTIONS):
        if action.event == event and action.matches(arguments):
            action.calls.append(arguments)
            _THREAD.acts = True
            try:
                action.act()
            finally:
                _THREAD.acts = False
