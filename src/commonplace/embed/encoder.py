"""Runs a model from a folder on this machine."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np
import numpy.typing as npt
import onnxruntime  # pyright: ignore[reportMissingTypeStubs]
from tokenizers import Tokenizer

from commonplace.domain.errors import StorageError
from commonplace.embed.encoders import normalized
from commonplace.embed.installer import ModelFolder

if TYPE_CHECKING:
    from commonplace.embed.encoders import Vectors


# On Windows the variable of `embed/__init__.py` does not count.
onnxruntime.disable_telemetry_events()  # pyright: ignore[reportUnknownMemberType]

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
