"""The manifest: layers with their levels and sources. A manifest is a trust boundary."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast, get_args

from commonplace.domain.errors import ConfigError
from commonplace.domain.json import Json

Source: TypeAlias = Literal["okf-local", "mcp"]
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
    """Folder of an `okf-local` layer, as written."""
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
    entries = cast("Mapping[str, object]", loaded).get("layers") if isinstance(loaded, dict) else None
    if not isinstance(entries, list):
        raise _refused(file, 'it has no list "layers"')
    layers: list[LayerSpec] = []
    for number, entry in enumerate(cast("list[object]", entries), 1):
        layer = _layer(entry, number, file)
        if any(layer.name == other.name for other in layers):
            raise _refused(file, f"the name {layer.name!r} is given to two layers")
        layers.append(layer)
    return tuple(layers)


def two_layers(personal: str, shared: str) -> tuple[LayerSpec, ...]:
    """The layers of a start with two folders."""
    return (
        LayerSpec(name="personal", level=3, path=personal),
        LayerSpec(name="shared", level=0, path=shared),
    )


def resolved_paths(layer: LayerSpec, absolute: Callable[[str], str]) -> LayerSpec:
    """The layer with absolute paths.

    Args:
        layer: The layer of the manifest.
        absolute: Returns the absolute path of a path as written; called for the folder, and for the parts of the
            command that begin with `./`, `../` or `~`.
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
    return ConfigError(f"The manifest {file!r} is not valid: {reason}.", kind="manifest")
