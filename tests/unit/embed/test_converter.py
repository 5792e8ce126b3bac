"""The converted model is close to what the published weights say in floats."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import onnxruntime
import pytest

from commonplace.embed.converter import EncoderShape, encoder_graph

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
    """The published model's result, computed in plain arithmetic."""

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
