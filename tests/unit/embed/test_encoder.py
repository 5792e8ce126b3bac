"""The installed model makes vectors of texts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from commonplace.domain.errors import StorageError
from commonplace.embed.encoder import OnnxEncoder
from commonplace.embed.installer import MODEL, find_model, installed, open_folder
from support import MODELS


def test_the_runtime_tells_its_maker_nothing(tmp_path: Path) -> None:
    """Without the variable, the import alone leaves the identifier and the events to send in the folder of caches."""
    environment = {name: value for name, value in os.environ.items() if name not in {"CI", "ORT_DISABLE_TELEMETRY"}}
    places = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    subprocess.run(
        [sys.executable, "-c", "import commonplace.embed.encoder"], check=True, env={**environment, **places}
    )
    assert list(tmp_path.rglob("*")) == []


@pytest.fixture(scope="module")
def encoder() -> OnnxEncoder:
    folder = find_model(MODELS)
    assert folder, "make test installs the model: run `commonplace model install`"
    return OnnxEncoder(folder)


def test_the_installed_model_puts_questions_near_to_their_answers(encoder: OnnxEncoder) -> None:
    question = encoder.encode(["How do I get my data back after a crash?"], question=True)[0]
    texts = encoder.encode(["Restore the database from last night's backup.", "The kettle is in the kitchen."])
    assert texts.shape == (2, 384)
    assert np.allclose(np.linalg.norm(texts, axis=1), 1, atol=1e-5)
    assert question @ texts[0] > 0.3 > question @ texts[1]


def test_a_text_has_one_vector_whatever_stands_beside_it(encoder: OnnxEncoder) -> None:
    alone = encoder.encode(["The depth of the water."])[0]
    among = encoder.encode(["A much longer text about quite other things " * 20, "The depth of the water.", ""])[1]
    assert (alone == among).all()


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_damaged_model_file_is_named(tmp_path: Path, name: str) -> None:
    shutil.copytree(MODELS / MODEL, tmp_path / MODEL)
    file = tmp_path / MODEL / name
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    folder = find_model(tmp_path)
    assert folder
    with pytest.raises(StorageError, match=f"{name!r} is damaged") as refused:
        OnnxEncoder(folder)
    assert "commonplace model install" in refused.value.hint
    assert not installed(tmp_path)


def test_a_graph_that_is_none_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"no graph")
    shutil.copy(MODELS / MODEL / "tokenizer.json", folder)
    with pytest.raises(StorageError, match="'mine' cannot be loaded"):
        OnnxEncoder(open_folder(folder))
