"""The manifest: layers with their levels and sources. Manifests are untrusted input."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, TypeAlias, cast, get_args

from commonplace.domain.errors import ConfigError
from commonplace.domain.json import Json

Source: TypeAlias = Literal["okf-local", "mcp"]
MANIFEST_KEYS = ("layers",)
LAYER_KEYS = ("name", "level", "source", "path", "command", "args")
NEAR = 0.5
"""Minimum similarity, by `difflib`, of a misspelt key to the key that an error suggests."""
SOURCES: tuple[Source, ...] = get_args(Source)


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerSpec:
    """One layer of a manifest."""

    name: str
    """One line, unique in the manifest."""
    level: int
    """A higher level takes precedence."""
    source: Source = "okf-local"
    path: str = ""
    """Folder or remote URL of an `okf-local` layer, as written."""
    command: tuple[str, ...] = ()
    """Program and arguments of an `mcp` layer, as written."""


def parse_manifest(text: str, file: str) -> tuple[LayerSpec, ...]:
    """The layers of a manifest, in its order.

    Args:
        text: The manifest's text.
        file: The manifest's file name, for messages.

    Raises:
        ConfigError: the text is not a manifest, or a value is invalid.
    """
    try:
        loaded: object = json.loads(text)
    except (ValueError, RecursionError):
        raise _refused(file, "it is not valid JSON") from None
    given = cast("Mapping[str, object]", loaded if isinstance(loaded, dict) else {})
    entries = given.get("layers")
    if "layers" in given or not given:
        _require_known(given, MANIFEST_KEYS, "it", file)
    if not isinstance(entries, list):
        nearest = next(iter(get_close_matches("layers", given, 1, NEAR)), "")
        raise _refused(file, 'it has no list "layers"' + (f", but a key {nearest!r}" if nearest else ""))
    layers: list[LayerSpec] = []
    for number, entry in enumerate(cast("list[object]", entries), 1):
        layer = _layer(entry, number, file)
        if any(layer.name == other.name for other in layers):
            raise _refused(file, f"the name {layer.name!r} is given to two layers")
        layers.append(layer)
    return tuple(layers)


def two_layers(personal: str, shared: str) -> tuple[LayerSpec, ...]:
    """The layers if two folders are configured instead of a manifest."""
    return (
        LayerSpec(name="personal", level=3, path=personal),
        LayerSpec(name="shared", level=0, path=shared),
    )


def resolved_paths(layer: LayerSpec, absolute: Callable[[str], str]) -> LayerSpec:
    """The layer with absolute paths.

    Args:
        layer: The layer of the manifest.
        absolute: Returns the absolute path of a path as written; called for the folder or remote, and for the parts of
            the command that begin with `./`, `../` or `~`.
    """
    command = tuple(absolute(part) if part.startswith(("./", "../", "~")) else part for part in layer.command)
    path = absolute(layer.path) if layer.path else ""
    return LayerSpec(name=layer.name, level=layer.level, source=layer.source, path=path, command=command)


def _layer(entry: object, number: int, file: str) -> LayerSpec:
    if not isinstance(entry, dict):
        raise _refused(file, f"layer {number} is not an object")
    given = cast("Mapping[str, Json]", entry)
    name = _text(given.get("name"))
    if not name or not name.isprintable():
        raise _refused(file, f'layer {number} has no "name", a text of one line')
    _require_known(given, LAYER_KEYS, f"layer {name!r}", file)
    level = given.get("level")
    if not isinstance(level, int) or isinstance(level, bool):
        raise _refused(file, f'the "level" of layer {name!r} is not an integer')
    source = given.get("source", "okf-local")
    if source == "okf-local":
        return LayerSpec(name=name, level=level, path=_required(given, "path", name, file))
    if source == "mcp":
        command = (_required(given, "command", name, file), *_arguments(given.get("args"), name, file))
        return LayerSpec(name=name, level=level, source="mcp", command=command)
    raise _refused(file, f'the "source" of layer {name!r} is not one of {", ".join(SOURCES)}')


def _require_known(given: Mapping[str, object], known: tuple[str, ...], whose: str, file: str) -> None:
    """Raise an error for an unknown key: it is probably misspelt, and its value would be ignored."""
    for key in given:
        if key not in known:
            nearest = get_close_matches(key.lower(), known, 1, NEAR)
            meant = f"; did you mean {nearest[0]!r}?" if nearest else f"; known are {', '.join(known)}"
            raise _refused(file, f"{whose} has an unknown key {key[:80]!r}{meant}")


def _required(given: Mapping[str, Json], key: str, name: str, file: str) -> str:
    value = _text(given.get(key))
    if not value or "\0" in value:
        raise _refused(file, f'layer {name!r} has no "{key}", a text')
    return value


def _arguments(value: Json, name: str, file: str) -> tuple[str, ...]:
    if value is None:
        return ()
    items = value if isinstance(value, list) else [None]
    texts = tuple(item for item in items if isinstance(item, str) and "\0" not in item)
    if len(texts) != len(items):
        raise _refused(file, f'the "args" of layer {name!r} are not a list of texts')
    return texts


def _text(value: Json) -> str:
    return value.strip() if isinstance(value, str) else ""


def _refused(file: str, reason: str) -> ConfigError:
    end = "" if reason.endswith("?") else "."
    return ConfigError(f"The manifest {file!r} is not valid: {reason}{end}", kind="manifest")
