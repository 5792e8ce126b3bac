"""Converts a BERT encoder to an ONNX graph of integers, which is four times smaller and faster than float weights.

Matrices are 8-bit integers with a scale per column; activations are quantized dynamically. Only 7 of the 8 bits of a
weight are used, because processors without special instructions add pairs of products in 16 bits, which would overflow.

Inputs are `input_ids` and `attention_mask`, int64 of shape (texts, tokens). The output `embedding` is the mean over
each text's tokens, normalized to length 1, float32 of shape (texts, dimension).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, cast

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from commonplace.domain.errors import StorageError

MAX_QUANTISED = 63
"""Maximum absolute value of a quantized weight."""
OPSET = 20
IR = 10
RUNTIME_DOMAIN = "com.microsoft"
"""Domain of the runtime's fused operations."""


@dataclass(frozen=True, slots=True)
class EncoderShape:
    """Properties of the model that the weights do not contain."""

    layers: int
    heads: int
    epsilon: float
    """Epsilon of the layer norms."""


def encoder_graph(weights: Mapping[str, Floats], shape: EncoderShape) -> bytes:
    """The ONNX file of an encoder.

    Args:
        weights: Weights by the names in published BERT models.
        shape: Shape of the model.

    Raises:
        KeyError: the weights are of another kind of model.
    """
    graph = _Graph(weights, shape)
    state = graph.embedded()
    for layer in range(shape.layers):
        state = graph.encoded(state, f"encoder.layer.{layer}.")
    graph.pooled(state)
    return graph.serialized()


class _Graph:
    """The nodes and constants of a graph under construction."""

    def __init__(self, weights: Mapping[str, Floats], shape: EncoderShape) -> None:
        self._weights = weights
        self._shape = shape
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._count = 0
        self._own_tokens = ""
        self._dimension = int(weights["embeddings.LayerNorm.weight"].shape[0])

    def embedded(self) -> str:
        """The sum of token, position and token type embeddings, normalized."""
        table, scales = _by_row(self._weights["embeddings.word_embeddings.weight"])
        words = self._node("Gather", [self._constant(table), "input_ids"])
        sizes = self._node("Gather", [self._constant(scales), "input_ids"])
        words = self._node("Mul", [self._node("Cast", [words], to=TensorProto.FLOAT), sizes])
        places = self._weights["embeddings.position_embeddings.weight"]
        places = places + self._weights["embeddings.token_type_embeddings.weight"][0]
        length = self._node("Shape", ["input_ids"], start=1, end=2)
        zero = self._constant(np.zeros(1, np.int64))
        near = self._node("Slice", [self._constant(places.astype(np.float16)), zero, length, zero])
        added = self._node("Add", [words, self._node("Cast", [near], to=TensorProto.FLOAT)])
        norm = [self._plain("embeddings.LayerNorm.weight"), self._plain("embeddings.LayerNorm.bias")]
        return self._node("LayerNormalization", [added, *norm], axis=-1, epsilon=self._shape.epsilon)

    def encoded(self, state: str, prefix: str) -> str:
        """A transformer layer: attention, then two matrices per token."""
        attended = self._attended(state, prefix)
        state = self._normed(
            self._linear(attended, f"{prefix}attention.output.dense"), state, f"{prefix}attention.output"
        )
        inner = self._node("Gelu", [self._linear(state, f"{prefix}intermediate.dense")])
        return self._normed(self._linear(inner, f"{prefix}output.dense"), state, f"{prefix}output")

    def pooled(self, state: str) -> None:
        """The mean over a text's own tokens, without padding, normalized to length 1."""
        axis = self._constant(np.array([2], np.int64))
        mask = self._node("Cast", ["attention_mask"], to=TensorProto.FLOAT)
        own = self._node("Mul", [state, self._node("Unsqueeze", [mask, axis])])
        total = self._node("ReduceSum", [own, self._constant(np.array([1], np.int64))], keepdims=0)
        # The sum replaces the mean, because normalization removes the divisor.
        self._nodes.append(helper.make_node("LpNormalization", [total], ["embedding"], axis=-1, p=2))

    def serialized(self) -> bytes:
        """The serialized model."""
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"])
            for name in ("input_ids", "attention_mask")
        ]
        output = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["texts", self._dimension])
        graph = helper.make_graph(self._nodes, "encoder", inputs, [output], self._constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(RUNTIME_DOMAIN, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR).SerializeToString()

    def _attended(self, state: str, prefix: str) -> str:
        names = [f"{prefix}attention.self.{part}" for part in ("query", "key", "value")]
        matrix = np.concatenate([self._weights[f"{name}.weight"] for name in names]).T
        bias = np.concatenate([self._weights[f"{name}.bias"] for name in names])
        integers, scale = _by_column(matrix)
        state, state_scale, state_zero = self._nodes_of("DynamicQuantizeLinear", [state], 3)
        own = [state, self._constant(integers), self._constant(bias), state_scale, self._constant(scale)]
        zeros = self._constant(np.zeros(len(scale), np.int8))
        inputs = [*own, self._mask(), state_zero, zeros]
        return self._node("QAttention", inputs, domain=RUNTIME_DOMAIN, num_heads=self._shape.heads)

    def _linear(self, state: str, name: str) -> str:
        integers, scale = _by_column(self._weights[f"{name}.weight"].T)
        inputs = [state, self._constant(integers), self._constant(scale), "", self._plain(f"{name}.bias")]
        return self._node("DynamicQuantizeMatMul", inputs, domain=RUNTIME_DOMAIN)

    def _normed(self, state: str, before: str, name: str) -> str:
        norm = [self._plain(f"{name}.LayerNorm.weight"), self._plain(f"{name}.LayerNorm.bias")]
        added = self._node("Add", [state, before])
        return self._node("LayerNormalization", [added, *norm], axis=-1, epsilon=self._shape.epsilon)

    def _mask(self) -> str:
        """The attention mask as the operation requires it; created once."""
        if not self._own_tokens:
            self._own_tokens = self._node("Cast", ["attention_mask"], to=TensorProto.INT32)
        return self._own_tokens

    def _nodes_of(self, kind: str, inputs: Sequence[str], outputs: int) -> list[str]:
        names = [self._name() for _ in range(outputs)]
        self._nodes.append(helper.make_node(kind, inputs, names))
        return names

    def _node(self, kind: str, inputs: Sequence[str], *, domain: str = "", **attributes: float) -> str:
        name = self._name()
        node = helper.make_node(kind, inputs, [name], domain=domain)
        node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
        self._nodes.append(node)
        return name

    def _plain(self, name: str) -> str:
        return self._constant(self._weights[name])

    def _constant(self, values: np.ndarray) -> str:
        name = self._name()
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def _name(self) -> str:
        self._count += 1
        return f"v{self._count}"


def _by_column(matrix: Floats) -> tuple[np.ndarray, np.ndarray]:
    """A matrix as 8-bit integers, with a scale per column."""
    scale = np.maximum(np.abs(matrix).max(axis=0), 1e-9) / MAX_QUANTISED
    return np.rint(matrix / scale).astype(np.int8), scale.astype(np.float32)


def _by_row(table: Floats) -> tuple[np.ndarray, np.ndarray]:
    """A table as 8-bit integers, with a scale per row in a column vector."""
    scales = np.maximum(np.abs(table).max(axis=1, keepdims=True), 1e-9) / 127
    return np.rint(table / scales).astype(np.int8), scales.astype(np.float32)


# Reads tensors from a `safetensors` file (format of github.com/huggingface/safetensors).


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
