"""What the services need for searching by meaning, as a protocol; `embed` fulfils it."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from commonplace.domain.nearness import MeaningState, Nearness, Passage
from commonplace.domain.ports import Progress


class Meaning(Protocol):
    """The documents of one collection by what they mean."""

    def near(self, text: str, within: AbstractSet[str] | None, limit: int) -> Nearness | None:
        """How near documents are to a question; None at once where there is no model yet, or none that answers.

        Args:
            text: The question.
            within: Paths of the documents that are meant; None for all.
            limit: How many documents are best at the most.
        """
        ...

    def nearest(self, text: str, within: AbstractSet[str] | None, limit: int) -> Nearness:
        """The same for who asks by meaning alone.

        Raises:
            UnavailableError: kind "model": there is none, or it does not answer; the hint says what to do.
            StorageError: kind "model": it is damaged.
        """
        ...

    def passages(self, text: str, count: int, each: int) -> Sequence[Passage]:
        """The nearest chunks, at most `each` of a document; raises as `nearest` does."""
        ...

    def state(self) -> MeaningState:
        """What there is of it now."""
        ...

    def embed(self, progress: Progress | None = None) -> None:
        """Embed what has changed and return when it is done, or at once where another process is at it.

        Raises:
            KnowledgeError: kind "model": there is none, or it fails.
        """
        ...

    def close(self) -> None:
        """Release everything."""
        ...
