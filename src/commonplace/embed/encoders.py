"""The protocol of encoders, which turn texts into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]
    """Float32 array of shape (texts, dimension)."""


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
