"""A folder with a model says how it is to be used."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from commonplace.domain.errors import StorageError
from commonplace.embed.encoder import OnnxEncoder
from commonplace.embed.installer import MODEL, open_folder
from support import MODELS


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"contains no model: expected model\.onnx and tokenizer\.json"):
        open_folder(tmp_path)


def test_a_folder_of_another_model_says_its_length_and_prompts(tmp_path: Path) -> None:
    for name in ("model.onnx", "tokenizer.json"):
        shutil.copy(MODELS / MODEL / name, tmp_path)
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 64}')
    (tmp_path / "config_sentence_transformers.json").write_text(
        '{"prompts": {"query": "query: ", "passage": "passage: "}}'
    )
    folder = open_folder(tmp_path)
    assert (folder.tokens, folder.prompts) == (64, ("query: ", "passage: "))
    other = OnnxEncoder(folder)
    assert not (other.encode(["tea"], question=True) == other.encode(["tea"])).all()
