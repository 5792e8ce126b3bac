"""The screen of `commonplace find`: an input line, the list of choices, and a preview of the selected page.

This is the only module that imports the library for full-screen programs.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.data_structures import Point
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.input import create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import BufferControl, DynamicContainer, FormattedTextControl, HSplit, Layout, VSplit, Window
from prompt_toolkit.layout.processors import BeforeInput
from prompt_toolkit.output import ColorDepth, create_output

from commonplace.faces.cli.commands.finder import (
    HELP,
    ROWS_PER_CHOICE,
    Choice,
    Finder,
    Panes,
    Selection,
    list_rows,
    state_row,
    text_rows,
)
from commonplace.faces.cli.output import FAINT, PLAIN

KEY_SECONDS = 0.05
"""Maximum time in seconds between the bytes of an escape sequence; after it, the first byte is the Escape key."""

_STYLE = re.compile(r"\x1b\[[0-9;]*m")

Chosen = tuple[Choice, int]
"""The chosen page, and the line number at which to open it, from 1."""


def find(finder: Finder, text: str, *, styles: bool) -> Chosen | None:
    """Let a person search and choose a page; None if they cancel.

    Args:
        finder: Computes the choices.
        text: Initial query.
        styles: Whether styles may be shown.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    with ThreadPoolExecutor(1, "find") as worker:
        return _Screen(Selection(finder, worker, text), styles=styles).run()


class _Screen:
    """The view of a selection, and its key bindings."""

    def __init__(self, selection: Selection, *, styles: bool) -> None:
        self._selection = selection
        self._line = Buffer(multiline=False)
        self._line.insert_text(selection.text)
        self._line.on_text_changed += self._type
        self.scrolled = 0
        """Rows by which the preview is scrolled down; negative for up."""
        self._accepted = False
        """Whether Enter was pressed. The page opens once the choices are up to date with the query."""
        self.styles = styles
        self._output = create_output(always_prefer_tty=True)
        self._application: Application[Chosen | None] = Application(
            layout=Layout(_layout(self._line, selection, self)),
            key_bindings=_keys(self),
            full_screen=True,
            color_depth=ColorDepth.DEPTH_1_BIT,  # matches are bold, never coloured
            input=create_input(always_prefer_tty=True),
            output=self._output,
        )
        self._application.timeoutlen = self._application.ttimeoutlen = KEY_SECONDS

    @property
    def panes(self) -> Panes:
        """The layout for the current screen size."""
        size = self._output.get_size()
        return Panes(size.columns, size.rows)

    def run(self) -> Chosen | None:
        """Run the application; see `find`."""

        def start() -> None:
            follow = self._application.create_background_task(self._selection.follow(self._changed))
            follow.add_done_callback(self._end_with_error)

        return self._application.run(pre_run=start)

    def accept(self) -> None:
        """Open the selected page once the choices are up to date with the query."""
        self._accepted = True
        self._changed()

    def move(self, steps: int) -> None:
        """Move the selection by this many choices."""
        self.scrolled = 0
        self._selection.move(steps)

    def _end_with_error(self, task: asyncio.Task[None]) -> None:
        """Exit with the exception of the background task, which would otherwise be lost."""
        error = None if task.cancelled() else task.exception()
        if error and self._application.is_running:
            self._application.exit(exception=error)

    def _type(self, line: Buffer) -> None:
        self._accepted, self.scrolled = False, 0
        self._selection.type(line.text)

    def _changed(self) -> None:
        """Redraw the screen. If the page was accepted and the choices are up to date, exit with it."""
        selection = self._selection
        self._application.invalidate()
        if not (self._accepted and selection.settled):
            return
        self._accepted = False
        if selection.choice and not selection.problem and self._application.is_running:
            self._application.exit(result=(selection.choice, selection.preview.line))


def _layout(line: Buffer, selection: Selection, screen: _Screen) -> HSplit:
    def styled(rows: Sequence[str]) -> ANSI:
        text = "\n".join(rows)
        return ANSI(text if screen.styles else _STYLE.sub("", text))

    def hits() -> ANSI:
        return styled(list_rows(selection, screen.panes.list_columns))

    def text() -> ANSI:
        rows, screen.scrolled = text_rows(selection.preview, screen.panes, screen.scrolled)
        return styled(rows)

    def cursor() -> Point:
        return Point(0, min(selection.chosen * ROWS_PER_CHOICE + 1, max(0, 2 * len(selection.choices.found) - 1)))

    pages = Window(
        FormattedTextControl(hits, show_cursor=False, get_cursor_position=cursor),
        width=lambda: screen.panes.list_columns,
        height=lambda: screen.panes.list_rows,
    )
    preview = Window(FormattedTextControl(text))
    beside = VSplit([pages, Window(char="│", width=1), Window(width=1), preview])
    below = HSplit([pages, Window(char="─", height=1), preview])

    def body() -> VSplit | HSplit | Window:
        panes = screen.panes
        return pages if not panes.preview else beside if panes.beside else below

    return HSplit(
        [
            Window(BufferControl(line, input_processors=[BeforeInput("> ")]), height=1),
            Window(FormattedTextControl(lambda: styled([f"{FAINT}{state_row(selection)}{PLAIN}"])), height=1),
            DynamicContainer(body),
            Window(FormattedTextControl(styled([f"{FAINT}{HELP}{PLAIN}"])), height=1),
        ]
    )


def _keys(screen: _Screen) -> KeyBindings:
    bindings = KeyBindings()

    def bind(names: Sequence[str], act: Callable[[KeyPressEvent], None]) -> None:
        for name in names:
            bindings.add(name)(act)

    def scroll(pages: int) -> None:
        screen.scrolled += pages * max(1, screen.panes.text_rows - 1)

    bind(["enter"], lambda _: screen.accept())
    bind(["down", "c-n", "tab"], lambda _: screen.move(1))
    bind(["up", "c-p", "s-tab"], lambda _: screen.move(-1))
    bind(["pagedown"], lambda _: scroll(1))
    bind(["pageup"], lambda _: scroll(-1))
    bind(["escape"], lambda event: event.app.exit())
    bind(["c-c", "<sigint>"], lambda event: event.app.exit(exception=KeyboardInterrupt))
    return bindings
