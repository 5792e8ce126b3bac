"""A model is installed from the expected weights alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.errors import ConfigError, StorageError
from commonplace.embed.installer import install_model, installed


def test_weights_that_are_not_the_expected_ones_are_never_converted(tmp_path: Path) -> None:
    source = tmp_path / "other"
    source.mkdir()
    (source / "model.safetensors").write_bytes(b"other weights")
    (source / "tokenizer.json").write_text("{}")
    with pytest.raises(StorageError, match="not the expected one"):
        install_model(tmp_path / "models", source)
    assert not installed(tmp_path / "models")
    assert list((tmp_path / "models").iterdir()) == []


def test_a_file_that_is_no_package_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(ConfigError, match=r"'notes\.txt' is neither the package"):
        install_model(tmp_path / "models", tmp_path / "notes.txt")
