"""The query, the selection, and the results, which a worker thread computes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor

from commonplace.domain.errors import KnowledgeError
from commonplace.faces.cli.finder.choices import Choice, Choices, Finder, Preview


class Selection:
    """The query, its choices, and the selected choice.

    Args:
        finder: Computes choices and previews.
        worker: Runs the searches, so that the screen stays responsive.
        text: Initial query.
    """

    def __init__(self, finder: Finder, worker: Executor, text: str) -> None:
        self.text = text
        self.choices = Choices()
        self.preview = Preview()
        self.problem = ""
        """Reason why the selected page cannot be shown; "" if there is none."""
        self._finder = finder
        self._worker = worker
        self._chosen = 0
        self._answered: str | None = None
        """The query that `choices` belongs to; None before the first result."""
        self._previewed: Choice | None = None
        self._changed = asyncio.Event()
        self._changed.set()

    @property
    def chosen(self) -> int:
        """Index of the selected choice; 0 if there are none."""
        return self._chosen

    @property
    def choice(self) -> Choice | None:
        """The selected choice; None if there are none."""
        return self.choices.found[self._chosen] if self.choices.found else None

    @property
    def settled(self) -> bool:
        """Whether choices and preview are up to date with the query and the selection."""
        return self._answered == self.text and self._previewed is self.choice

    def type(self, text: str) -> None:
        """Replace the query."""
        self.text = text
        self._changed.set()

    def move(self, steps: int) -> None:
        """Move the selection down by `steps`, or up if negative, within the list."""
        self._chosen = max(0, min(self._chosen + steps, len(self.choices.found) - 1))
        self._changed.set()

    async def follow(self, changed: Callable[[], None]) -> None:
        """Update choices and preview after each change, until cancelled. Outdated queries are skipped.

        Args:
            changed: Called after each update.
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
