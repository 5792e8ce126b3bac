"""The port of encoders, which turn texts into vectors, and operations on unit vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]
    """Float32 array of shape (texts, dimension)."""


# The protocol of encoders, which turn texts into vectors.


class Encoder(Protocol):
    """A model. Thread-safe."""

    @property
    def name(self) -> str:
        """Displayed name of the model."""
        ...

    @property
    def identity(self) -> str:
        """A key unique to the model. Vectors of different identities are never compared."""
        ...

    def understood(self, text: str) -> float:
        """Share of a text's tokens that the model knows, 0 to 1; 1 if it is unknown."""
        ...

    def encode(self, texts: Sequence[str], *, question: bool = False) -> Vectors:
        """Vectors of length 1, one per text; zeros for a text without a vector.

        Args:
            texts: At least one.
            question: Whether the texts are queries; some models have a prompt for them.

        Raises:
            UnavailableError: kind "model": the model does not respond.
            StorageError: kind "model": the model is unusable; the hint gives the next step.
        """
        ...


# Normalization of vectors.


MAX_INTEGER = 127


def normalized(vectors: Vectors) -> Vectors:
    """Each row normalized to length 1; rows with NaN or infinity, or of length 0, become zeros."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)  # squares may exceed float32
    usable = np.isfinite(lengths) & (lengths > 0)
    return np.where(usable, vectors / np.where(usable, lengths, 1), 0).astype(np.float32)


def as_integers(vector: Vectors) -> tuple[int, ...] | None:
    """A vector of integers from -127 to 127 with nearly the same direction; None for a zero vector.

    Args:
        vector: Float32 array of shape (dimension,).
    """
    greatest = float(np.abs(vector).max(initial=0.0))
    if not greatest:
        return None
    return tuple(np.rint(vector * (MAX_INTEGER / greatest)).astype(np.int64).tolist())
