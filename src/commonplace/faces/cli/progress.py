"""A progress bar on standard error."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from commonplace.domain.ports import Progress
    from commonplace.faces.cli.output import Terminal

DELAY = 0.3
"""Delay in seconds before the bar is shown, so that short work shows none."""


@contextmanager
def progress_bar(label: str, terminal: Terminal) -> Generator[Progress | None]:
    """A callback for progress reports; None if standard error is not a terminal or styles are disabled."""
    if not (terminal.watched and terminal.styles):
        yield None
        return
    shown = _Shown(label, terminal.stderr)
    try:
        yield shown
    finally:
        shown.close()


@contextmanager
def activity(terminal: Terminal, message: Callable[[str], None]) -> Generator[Callable[[str], None]]:
    """A callback that takes the name of each step, for work of unknown length.

    On a terminal, the current step is shown with a running clock; otherwise each step is one line.

    Args:
        terminal: The terminal.
        message: Writes one line.
    """
    if not (terminal.watched and terminal.styles):
        yield message
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(file=terminal.stderr), transient=True) as clock:
        task = clock.add_task("", total=None)
        yield lambda step: clock.reset(task, description=step)


class _Shown:
    """Shows the bar at the first report after `DELAY`. The library is imported only then."""

    def __init__(self, label: str, stderr: TextIO) -> None:
        self._label = label
        self._stderr = stderr
        self._due = time.monotonic() + DELAY
        self._bar: Bar | None = None

    def __call__(self, done: int, total: int) -> None:
        if self._bar is None and time.monotonic() >= self._due and done < total:
            self._draw(total)
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, total=total)

    def close(self) -> None:
        """Remove the bar from the screen."""
        if self._bar is not None:
            self._bar.stop()

    def _draw(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=Console(file=self._stderr), transient=True)
        self._bar.add_task(self._label, total=total)
        self._bar.start()  # the attribute is set before: if Ctrl-C arrives here, `close` restores the hidden cursor
