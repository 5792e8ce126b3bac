"""A progress bar on standard error, for a person who waits."""

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
"""Seconds before a bar is drawn; what is quicker shows none."""


@contextmanager
def progress_bar(label: str, terminal: Terminal) -> Generator[Progress | None]:
    """Something to tell how far the work is; None where nobody looks, or where control sequences are not wanted."""
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
    """A function that takes the name of each step of a long task, for tasks whose length is not known.

    A person sees the step with a clock that runs; otherwise each step is one line.

    Args:
        terminal: Where it is shown.
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
    """Draws the bar with the first report after `DELAY`; the library for it is loaded then and not before."""

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
        """Take the bar off the screen."""
        if self._bar is not None:
            self._bar.stop()

    def _draw(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=Console(file=self._stderr), transient=True)
        self._bar.add_task(self._label, total=total)
        self._bar.start()  # known by now to `close`, should Ctrl-C come here: it has hidden the cursor
