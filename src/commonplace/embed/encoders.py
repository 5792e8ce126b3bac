"""What turns texts into vectors, whatever it is behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]
    """Float32 of shape (texts, dimension)."""


class Encoder(Protocol):
    """A model that can be asked from several threads."""

    @property
    def name(self) -> str:
        """For people."""
        ...

    @property
    def identity(self) -> str:
        """A key that no other model has; vectors of two identities are never compared."""
        ...

    def encode(self, texts: Sequence[str], *, question: bool = False) -> Vectors:
        """Vectors of length 1, or of zeros for a text that the model has none for; one for each text.

        Args:
            texts: At least one.
            question: Whether they are questions; some models want to be told.

        Raises:
            UnavailableError: kind "model": the model does not answer now.
            StorageError: kind "model": it cannot be used; the hint says what to do.
        """
        ...
