"""The model of this process: chosen by the settings and loaded on first use. Its last error is recorded."""

from __future__ import annotations

import logging
import resource
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.domain.errors import (
    ENDPOINT_LIBRARIES,
    SEARCH_LIBRARIES,
    KnowledgeError,
    StorageError,
    UnavailableError,
    missing_libraries,
)

if TYPE_CHECKING:
    from commonplace.domain.semantic import Reranker
    from commonplace.embed.encoders import Encoder, Vectors

log = logging.getLogger(__name__)

RETRY_SECONDS = 30.0
"""Seconds before a failed model is retried."""
MIN_ADDRESS_SPACE = 1536 << 20
"""Bytes of address space (`ulimit -v`) below which no model is loaded.

Loading one takes 1,000 MiB of it, most of it never used: the process itself stays at some 100 MB of memory.
"""
MAX_CACHED_QUESTIONS = 200
"""Maximum number of cached query vectors, which are used for further pages of a result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """The choice of the model."""

    models: Path
    """Folder in which `commonplace model install` puts a model."""
    folder: Path | None = None
    """Folder of another model on this machine; None for the installed model."""
    url: str = ""
    """URL of a server, which takes precedence over folders; "" for none."""
    model: str = ""
    """The server's name of the model."""
    key: str = ""


class Model:
    """A model that may be missing, is loaded lazily, and can fail and recover.

    Args:
        choice: The choice of the model.
    """

    def __init__(self, choice: ModelChoice) -> None:
        self._choice = choice
        self.is_remote = bool(choice.url)
        """Whether the model is on a server."""
        self._loading = threading.Lock()
        self._encoder: Encoder | None = None
        self._failure: KnowledgeError | None = None
        self._again = 0.0
        self._there = False
        self._cached = lru_cache(maxsize=MAX_CACHED_QUESTIONS)(self._question)

    @property
    def missing(self) -> str:
        """The reason why there is no model, and what to do; "" if there is a model. Loads nothing."""
        if self._there:
            return ""
        reason = self._reason()
        self._there = not reason
        return reason

    def _reason(self) -> str:
        needed = ENDPOINT_LIBRARIES if self._choice.url else SEARCH_LIBRARIES
        if absent := missing_libraries(needed):
            return f"Libraries are not installed: {', '.join(absent)}. Run: commonplace model install"
        if not (self._choice.url or self._choice.folder):
            from commonplace.embed.installer import find_model

            try:
                folder = find_model(self._choice.models)
            except StorageError as error:
                return error.advice
            if not folder:
                return "No model is installed. Run: commonplace model install"
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY and limit < MIN_ADDRESS_SPACE:
            # The libraries are native code: with too little they end the process instead of raising an error.
            amounts = (
                f"needs {MIN_ADDRESS_SPACE >> 20:,} MiB of address space, and this process may have {limit >> 20:,}"
            )
            return f"It {amounts}. Raise ulimit -v"
        return ""

    @property
    def failure(self) -> str:
        """The last error, and what to do; "" if the last use succeeded."""
        return self._failure.advice if self._failure else ""

    def try_out(self) -> None:
        """Use the model once, so that `failure` is of now."""
        with suppress(KnowledgeError):
            self._question("a")

    @property
    def name(self) -> str:
        """Displayed name of the model."""
        if self._choice.url:
            return self._choice.model
        if self._choice.folder:
            return self._choice.folder.name
        from commonplace.embed.installer import MODEL

        return MODEL

    @property
    def is_backing_off(self) -> bool:
        """Whether the model failed recently, so that it is not retried yet."""
        return self._failure is not None and time.monotonic() < self._again

    def encoder(self) -> Encoder:
        """The model, loaded.

        Raises:
            KnowledgeError: kind "model": the model is missing or fails.
        """
        with self._loading:
            if self._encoder is None:
                with self._noting():
                    self._encoder = self._loaded()
            return self._encoder

    def texts(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts. Raises the same errors as `encoder`."""
        with self._noting():
            return self.encoder().encode(texts)

    def question(self, text: str) -> Vectors:
        """The vector of a query, of shape (dimension,). Raises the same errors as `encoder`."""
        return self._cached(text)

    def understood(self, text: str) -> float:
        """Share of a query's tokens that the model knows, 0 to 1. Raises the same errors as `encoder`."""
        return self.encoder().understood(text)

    def _question(self, text: str) -> Vectors:
        with self._noting():
            return self.encoder().encode([text], question=True)[0]

    def _loaded(self) -> Encoder:
        if reason := self.missing:
            raise missing_model(reason)
        choice = self._choice
        if choice.url:
            from commonplace.embed.endpoint import EndpointEncoder

            return EndpointEncoder(choice.url, choice.model, choice.key)
        from commonplace.embed.encoder import OnnxEncoder
        from commonplace.embed.installer import find_model, open_folder

        folder = open_folder(choice.folder) if choice.folder else find_model(choice.models)
        if folder is None:
            raise missing_model("No model is installed. Run: commonplace model install")
        return OnnxEncoder(folder)

    @contextmanager
    def _noting(self) -> Generator[None]:
        """Record whether a use of the model succeeds or fails."""
        try:
            yield
        except KnowledgeError as error:
            if str(error) != str(self._failure):
                log.warning("%s", error.advice)
            self._failure = error
            self._again = time.monotonic() + RETRY_SECONDS
            raise
        self._failure = None


def missing_model(reason: str) -> UnavailableError:
    """The error for a semantic search without a model."""
    sentence, _, hint = reason.partition(". ")
    return UnavailableError(
        f"There is no model for searching by meaning: {sentence.rstrip('.')}.",
        kind="model",
        hint=f"{hint or reason}; or search with mode=keyword." if hint else "Search with mode=keyword.",
        retryable=0,
    )


def open_reranker(url: str | None, model: str, key: str) -> Reranker | None:
    """The cross-encoder of a server; None without a URL. Opens no connection."""
    if not url:
        return None
    from commonplace.embed.endpoint import EndpointReranker

    return EndpointReranker(url, model, key)
