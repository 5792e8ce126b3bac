"""Reads tensors from a `safetensors` file (format of github.com/huggingface/safetensors)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict, cast

import numpy as np
import numpy.typing as npt

from commonplace.domain.errors import StorageError

MAX_HEADER = 100_000_000
"""Maximum size of the header in bytes, as defined by the format."""

Floats = npt.NDArray[np.float32]


class _Tensor(TypedDict):
    dtype: str
    shape: list[int]
    data_offsets: list[int]


def read_weights(path: Path) -> Mapping[str, Floats]:
    """The 32-bit float tensors by name, as arrays of their shapes.

    Raises:
        StorageError: kind "model": the file is unreadable or damaged.
    """
    try:
        raw = path.read_bytes()
        size = int.from_bytes(raw[:8], "little")
        header = cast("dict[str, _Tensor]", json.loads(raw[8 : 8 + min(size, MAX_HEADER)]))
        return {
            name: _floats(raw, 8 + size, tensor)
            for name, tensor in header.items()
            if name != "__metadata__" and tensor["dtype"] == "F32"
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StorageError(f"The weights {path.name!r} cannot be read; the file is damaged.", kind="model") from error


def _floats(raw: bytes, base: int, tensor: _Tensor) -> Floats:
    start, end = tensor["data_offsets"]
    return np.frombuffer(raw, "<f4", (end - start) // 4, base + start).reshape(tensor["shape"])
