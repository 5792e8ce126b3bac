"""The model of this process: chosen by the settings and loaded on first use. Its last error is recorded.

A model is a folder on this machine, or behind an HTTP endpoint.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np
import numpy.typing as npt
import onnxruntime  # pyright: ignore[reportMissingTypeStubs]
from tokenizers import Tokenizer

from commonplace.domain.errors import (
    ENDPOINT_LIBRARIES,
    SEARCH_LIBRARIES,
    KnowledgeError,
    StorageError,
    UnavailableError,
    missing_libraries,
)
from commonplace.embed.encoders import normalized
from commonplace.embed.installer import ModelFolder

if TYPE_CHECKING:
    from commonplace.domain.semantic import Reranker
    from commonplace.embed.encoders import Encoder, Vectors

MAX_ENCODED_CHARS = 8000
"""Maximum number of characters passed to the tokenizer; later tokens exceed the model's limit."""
INSTALL = "Run: commonplace model install"
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
"""Inputs of sentence models; many do not have the last."""
UNKNOWN_TOKENS = ("[UNK]", "<unk>")
"""Tokens with which tokenizers replace text that the model does not know."""
MIN_SPELLED = 3
"""Minimum number of tokens of a word for the word to count as spelled, if each is one letter."""
RANK_OF_TOKENS = 3
"""Rank of an output with a vector per token instead of per text."""


class _Input(Protocol):
    name: str


class _Options(Protocol):
    intra_op_num_threads: int
    inter_op_num_threads: int
    log_severity_level: int


class _Session(Protocol):
    """The used part of the library's class, which has no type annotations."""

    def get_inputs(self) -> Sequence[_Input]: ...
    def run(self, output_names: None, input_feed: Mapping[str, npt.NDArray[np.int64]]) -> Sequence[Vectors]: ...


class OnnxEncoder:
    """A sentence model in ONNX form.

    Args:
        folder: The model's folder.

    Raises:
        StorageError: kind "model": the model is damaged, or not a sentence model.
    """

    def __init__(self, folder: ModelFolder) -> None:
        self.name = folder.name
        self.identity = f"{folder.name} {folder.checked()} {folder.tokens} {folder.prompts}"
        self._prompts = folder.prompts
        with _library(f"The model {folder.name!r} cannot be loaded; a file is damaged or of another kind.", INSTALL):
            self._tokenizer = Tokenizer.from_file(str(folder.tokenizer))
            self._session = _session(str(folder.graph))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(folder.tokens)  # pyright: ignore[reportUnknownMemberType]
        self._unknown = {self._tokenizer.token_to_id(token) for token in UNKNOWN_TOKENS} - {None}
        self._inputs = [other_input.name for other_input in self._session.get_inputs()]
        if unknown := sorted(set(self._inputs) - set(INPUTS)):
            raise StorageError(
                f"The model {folder.name!r} requires the input {unknown[0]!r}; it is not a sentence model.",
                kind="model",
                hint="Use another model.",
            )

    def understood(self, text: str) -> float:
        """Share of a text's tokens that the model knows, 0 to 1.

        A word spelled letter by letter is unknown: models have the letters of scripts that they have not learned.
        """
        encoded = self._tokenizer.encode(text[:MAX_ENCODED_CHARS], add_special_tokens=False)
        lengths: dict[int | None, list[int]] = {}
        for word, (start, end) in zip(encoded.word_ids, encoded.offsets, strict=True):
            lengths.setdefault(word, []).append(end - start)
        spelled = {word for word, sizes in lengths.items() if len(sizes) >= MIN_SPELLED and max(sizes) == 1}
        pairs = zip(encoded.ids, encoded.word_ids, strict=True)
        known_number = sum(token not in self._unknown and word not in spelled for token, word in pairs)
        return known_number / len(encoded.ids) if encoded.ids else 1.0

    def encode(self, texts: Sequence[str], *, question: bool = False) -> Vectors:
        """Vectors of length 1."""
        prompt = self._prompts[0 if question else 1]
        encoded = self._tokenizer.encode_batch([prompt + text[:MAX_ENCODED_CHARS] for text in texts])
        # Texts are run one by one. This is as fast as a batch, needs no padding, and a text's vector does not depend on
        # the other texts through a common quantization scale.
        return normalized(np.stack([self._run(encoding.ids) for encoding in encoded]))

    def _run(self, tokens: Sequence[int]) -> Vectors:
        """The vector of one text."""
        ids = np.array([tokens], np.int64)
        values = (ids, np.ones_like(ids), np.zeros_like(ids))
        arrays: dict[str, npt.NDArray[np.int64]] = dict(zip(INPUTS, values, strict=True))
        wanted_arrays = {name: arrays[name] for name in self._inputs}
        with _library(f"The model {self.name!r} fails on its input.", "Use another model."):
            output = self._session.run(None, wanted_arrays)
        vectors = min(output, key=lambda other_vectors: other_vectors.ndim)
        return vectors.mean(axis=1)[0] if vectors.ndim == RANK_OF_TOKENS else vectors[0]


@contextmanager
def _library(message: str, hint: str) -> Generator[None]:
    """Convert the libraries' errors to StorageError.

    Both libraries raise plain `Exception`, or classes without any other base. The block contains only calls of these
    libraries, so that no error of this code is converted.
    """
    try:
        yield
    except Exception as error:
        raise StorageError(message, kind="model", hint=hint) from error


def _session(graph: str) -> _Session:
    options = cast("_Options", onnxruntime.SessionOptions())  # pyright: ignore[reportUnknownMemberType]
    # Each call runs on its caller's thread, at that thread's priority.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # errors are reported by this module
    made = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])  # pyright: ignore[reportArgumentType]
    return cast("_Session", made)


log = logging.getLogger(__name__)

RETRY_SECONDS = 30.0
"""Seconds before a failed model is retried."""
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
        if self._choice.url or self._choice.folder:
            return ""
        from commonplace.embed.installer import find_model

        try:
            folder = find_model(self._choice.models)
        except StorageError as error:
            return error.advice
        return "" if folder else "No model is installed. Run: commonplace model install"

    @property
    def failure(self) -> str:
        """The last error, and what to do; "" if the last use succeeded."""
        return self._failure.advice if self._failure else ""

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
        from commonplace.embed.installer import find_model, open_folder
        from commonplace.embed.models import OnnxEncoder

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
