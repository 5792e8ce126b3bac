"""Model folders: finding installed models, and their metadata.

A folder contains `model.onnx` (or `onnx/model.onnx` or `model_quantized.onnx`, as models are published),
`tokenizer.json`, and, if created by `commonplace model install`, `model.json` with the digests of both.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from commonplace.domain.errors import StorageError
from commonplace.domain.json import Json

MODEL = "all-MiniLM-L6-v2"
"""The default model."""
PACKAGE = "commonplace_model_minilm"
"""A package with the model in its folder `model`; built by `make model-wheel`."""
GRAPH = "model.onnx"
TOKENIZER = "tokenizer.json"
MANIFEST = "model.json"
MAX_TOKENS = 256
"""Maximum number of tokens of a text if the model does not state one."""
_GRAPHS = (GRAPH, "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFolder:
    """A model on this machine."""

    name: str
    graph: Path
    tokenizer: Path
    tokens: int = MAX_TOKENS
    """Maximum number of tokens of a text; longer texts are truncated."""
    prompts: tuple[str, str] = ("", "")
    """Prompts before a query, and before a text."""
    digests: Mapping[str, str] = field(default_factory=dict[str, str])
    """Expected SHA-256 by file name; empty if unknown."""

    def checked(self) -> str:
        """The SHA-256 of the graph.

        Raises:
            StorageError: kind "model": a file differs from the installed one, or is unreadable.
        """
        found = {path.name: _digest(path) for path in (self.graph, self.tokenizer)}
        damaged = [name for name, digest in found.items() if self.digests.get(name, digest) != digest]
        if damaged:
            raise StorageError(
                f"The model file {damaged[0]!r} is damaged.", kind="model", hint="Run: commonplace model install"
            )
        return found[self.graph.name]


def find_model(models: Path) -> ModelFolder | None:
    """The installed model: that of the package, otherwise the one in `models`; None if there is neither."""
    found = find_spec(PACKAGE)
    packaged = [Path(place) / "model" for place in (found.submodule_search_locations or ())] if found else []
    for folder in (*packaged, models / MODEL):
        if os.path.isfile(folder / MANIFEST):
            return open_folder(folder)
    return None


def installed(models: Path) -> bool:
    """Whether the model is installed and undamaged."""
    try:
        found = find_model(models)
        return bool(found and found.checked())
    except StorageError:
        return False


def open_folder(folder: Path) -> ModelFolder:
    """The metadata of the model in a folder.

    Raises:
        StorageError: kind "model": a file is missing, or the metadata is unreadable.
    """
    graph = next((folder / name for name in _GRAPHS if os.path.isfile(folder / name)), None)
    if graph is None or not os.path.isfile(folder / TOKENIZER):
        raise StorageError(
            f"The folder {folder.name!r} contains no model: expected {GRAPH} and {TOKENIZER}.",
            kind="model",
            hint="Name the folder of a sentence model in ONNX form, or run: commonplace model install",
        )
    manifest = _object(folder / MANIFEST)
    limits = _object(folder / "sentence_bert_config.json")
    prompts = _object(folder / "config_sentence_transformers.json").get("prompts")
    tokens = manifest.get("tokens") or limits.get("max_seq_length")
    digests = manifest.get("files")
    return ModelFolder(
        name=str(manifest.get("name") or folder.name),
        graph=graph,
        tokenizer=folder / TOKENIZER,
        tokens=tokens if isinstance(tokens, int) and tokens > 0 else MAX_TOKENS,
        prompts=_prompts(prompts if isinstance(prompts, Mapping) else {}),
        digests={name: str(digest) for name, digest in digests.items()} if isinstance(digests, Mapping) else {},
    )


def manifest_text(name: str, tokens: int, files: Mapping[str, bytes]) -> str:
    """The content of `model.json`."""
    digests = {file: sha256(content).hexdigest() for file, content in files.items()}
    return json.dumps({"name": name, "tokens": tokens, "files": digests}, indent=1) + "\n"


def _prompts(given: Mapping[str, Json]) -> tuple[str, str]:
    return str(given.get("query") or ""), str(given.get("document") or given.get("passage") or "")


def _object(path: Path) -> Mapping[str, Json]:
    if not os.path.isfile(path):
        return {}
    try:
        value = cast("Json", json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise StorageError(f"The file {path.name!r} of the model cannot be read.", kind="model") from error
    return value if isinstance(value, Mapping) else {}


def _digest(path: Path) -> str:
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise StorageError(f"The model file {path.name!r} cannot be read.", kind="model") from error
