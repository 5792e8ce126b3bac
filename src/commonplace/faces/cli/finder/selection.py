"""The typed text, the selection, and the answer, which another thread computes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor

from commonplace.domain.errors import KnowledgeError
from commonplace.faces.cli.finder.choices import Choice, Choices, Finder, Preview


class Selection:
    """A text, the pages found for it, and the one that is chosen among them.

    Args:
        finder: Answers the text.
        worker: Runs the searches, so that keys are answered meanwhile.
        text: The text at first.
    """

    def __init__(self, finder: Finder, worker: Executor, text: str) -> None:
        self.text = text
        self.choices = Choices()
        self.preview = Preview()
        self.problem = ""
        """Why the chosen page cannot be shown; "" if it can."""
        self._finder = finder
        self._worker = worker
        self._chosen = 0
        self._answered: str | None = None
        """The text that the choices answer; None before the first answer."""
        self._previewed: Choice | None = None
        self._changed = asyncio.Event()
        self._changed.set()

    @property
    def chosen(self) -> int:
        """Index of the chosen page among the choices; 0 without any."""
        return self._chosen

    @property
    def choice(self) -> Choice | None:
        """The chosen page; None if nothing was found."""
        return self.choices.found[self._chosen] if self.choices.found else None

    @property
    def settled(self) -> bool:
        """Whether the choices and the preview are those of the text."""
        return self._answered == self.text and self._previewed is self.choice

    def type(self, text: str) -> None:
        """Take a new text."""
        self.text = text
        self._changed.set()

    def move(self, steps: int) -> None:
        """Choose the page that is so many below the chosen one, or above it, as far as there are any."""
        self._chosen = max(0, min(self._chosen + steps, len(self.choices.found) - 1))
        self._changed.set()

    async def follow(self, changed: Callable[[], None]) -> None:
        """Answer what is typed and chosen until cancelled; texts that were typed over meanwhile are left out.

        Args:
            changed: Told after each step.
        """
        while True:
            await self._changed.wait()
            self._changed.clear()
            while not self.settled:
                await (self._search() if self._answered != self.text else self._read())
                changed()
            changed()

    async def _search(self) -> None:
        text, loop = self.text, asyncio.get_running_loop()
        try:
            self.choices = await loop.run_in_executor(self._worker, self._finder.choices, text)
        except KnowledgeError as error:
            self.choices = Choices(notice=str(error))
        self._answered, self._chosen, self._previewed = text, 0, None
        if not self.choices.found:
            self.preview = Preview()

    async def _read(self) -> None:
        choice, loop = self.choice, asyncio.get_running_loop()
        if choice is None:
            return
        try:
            preview = await loop.run_in_executor(self._worker, self._finder.preview, choice, self._answered or "")
            self.preview, self.problem = preview, ""
        except KnowledgeError as error:
            self.preview, self.problem = Preview(), str(error)
        self._previewed = choice
