"""Normalization of vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

MAX_INTEGER = 127

if TYPE_CHECKING:
    from commonplace.embed.encoders import Vectors


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
