"""Search by meaning in one collection on this machine; `domain.meaning.ports` says what each method promises."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.domain.addresses import Address
from commonplace.domain.errors import KnowledgeError, UnavailableError
from commonplace.domain.nearness import MeaningState, Near, Passage
from commonplace.domain.ports import Index, Progress
from commonplace.embed.keeping import Kept
from commonplace.embed.models import Model, missing_model

if TYPE_CHECKING:
    from commonplace.embed.vectors.space import Question

SERVING_SECONDS = 0.25
"""How long a server's search by words and meaning waits for the model to be loaded; then words must do."""
LOADING_SECONDS = 30.0
"""How long a search by meaning alone does, and a single command."""


class LocalMeaning:
    """The documents of one collection by what they mean.

    Args:
        model: Of this process.
        index: Knows which documents there are.
        folder: Where the vectors lie.
    """

    def __init__(self, model: Model, index: Index, folder: Path) -> None:
        self.index = index
        self.patience = LOADING_SECONDS
        """Seconds that a search waits for the model where words would do."""
        self.pending = 0
        """Documents that wait for vectors, as far as this process knows."""
        self._model = model
        self._kept = Kept(model, folder)
        self._warming = threading.Lock()
        self._warm = threading.Event()

    def near(self, text: str, within: AbstractSet[str] | None, limit: int) -> Nearest | None:
        """How near documents are; None where words must do."""
        if self._model.missing or self._model.resting or not self._kept.begun:
            return None
        try:
            question = self._asked(text, within, self.patience)
            return None if question is None else Nearest(question, limit)
        except KnowledgeError:
            return None  # noted where it happened, and shown in the state

    def nearest(self, text: str, within: AbstractSet[str] | None, limit: int) -> Nearest:
        """How near documents are."""
        return Nearest(self._must_ask(text, within), limit)

    def passages(self, text: str, count: int, each: int) -> Sequence[Passage]:
        """The nearest chunks."""
        return self._must_ask(text, None).passages(count, each)

    def state(self) -> MeaningState:
        """What there is of it now."""
        if reason := self._model.missing:
            return MeaningState(status="missing", reason=reason)
        known: dict[str, str] = {}
        chunks = 0
        reason = self._model.failure or self._kept.failure
        if not reason:
            try:
                known, chunks = self._kept.with_file(lambda file: file.census())
            except KnowledgeError as error:
                reason = error.advice
        pending = sum(known.get(address.path) != revision for address, revision in self.index.revisions().items())
        return MeaningState(
            status="failing" if reason else "working" if pending else "ready",
            model=self._model.name,
            documents=len(known),
            chunks=chunks,
            pending=pending,
            reason=reason,
        )

    def embed(
        self,
        progress: Progress | None = None,
        stop: threading.Event | None = None,
        among: Collection[Address] | None = None,
    ) -> None:
        """Bring the vectors up to date.

        Args:
            progress: Told how many of the documents are done.
            stop: Ends it after the texts that are in the model.
            among: Of these documents only; None: of all.
        """
        from commonplace.embed.refreshing import Refresh

        refresh = Refresh(self._model, self.index, self._kept, stop or threading.Event())
        try:
            refresh.run(progress, among)
        finally:
            self.pending = refresh.pending

    def warm(self) -> None:
        """Load the model and the vectors, so that the first question need not.

        Raises:
            KnowledgeError: kind "model": there is none, or it fails.
        """
        with self._warming:
            if not self._warm.is_set():
                self._kept.follow()
                self._model.encoder()
                self._warm.set()

    def close(self) -> None:
        """Release the file."""
        self._kept.close()

    def _must_ask(self, text: str, within: AbstractSet[str] | None) -> Question:
        if reason := self._model.missing:
            raise missing_model(reason)
        question = self._asked(text, within, LOADING_SECONDS)
        if question is None:
            raise UnavailableError(
                "No page has been embedded yet.",
                kind="model",
                hint="Try again in a minute, or search with mode=keyword.",
            )
        return question

    def _asked(self, text: str, within: AbstractSet[str] | None, patience: float) -> Question | None:
        """The question; None while the model is being loaded, and where there are no vectors."""
        if not self._warm.is_set():
            loading = threading.Thread(target=self._warm_quietly, name="model", daemon=True)
            loading.start()
            loading.join(patience)
            if not self._warm.is_set() and not self._model.failure:
                return None
        self._kept.follow()
        space = self._kept.space
        if not space.dimension:
            return None
        vector = self._model.question(text)
        self._kept.check_dimension(len(vector), space.dimension)
        return space.asked(vector, within)

    def _warm_quietly(self) -> None:
        with suppress(KnowledgeError):  # noted where it happened, and shown in the state
            self.warm()


class Nearest:
    """The documents that are nearest to one question; `domain.meaning.Nearness` says what it promises.

    Args:
        question: With what it is compared.
        limit: How many documents at the most.
    """

    def __init__(self, question: Question, limit: int) -> None:
        self._question = question
        self.best: Sequence[Near] = question.nearest(limit)

    def of(self, paths: Sequence[str]) -> dict[str, Near]:
        """These documents."""
        return self._question.of(paths)
