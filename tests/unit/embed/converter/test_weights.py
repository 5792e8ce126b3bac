"""Weights are read as they were written, and named when they are none."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from commonplace.domain.errors import StorageError
from commonplace.embed.converter import read_weights


def test_tensors_are_read_as_they_were_written(tmp_path: Path) -> None:
    values = np.arange(6, dtype="<f4")
    header = {
        "__metadata__": {"format": "pt"},
        "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
        "ids": {"dtype": "I64", "shape": [1], "data_offsets": [24, 32]},
    }
    text = json.dumps(header).encode()
    (tmp_path / "x.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + values.tobytes() + b"\0" * 8)
    read = read_weights(tmp_path / "x.safetensors")
    assert list(read) == ["a"]
    assert read["a"].tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("content", [b"", b"\xff" * 40, struct.pack("<Q", 12) + b'{"a": nothi}'])
def test_weights_that_are_none_are_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "broken.safetensors").write_bytes(content)
    with pytest.raises(StorageError, match=r"'broken\.safetensors'"):
        read_weights(tmp_path / "broken.safetensors")
