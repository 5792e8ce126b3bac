"""Layers that tests write: folders of concepts, and the manifest that names them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOREIGN_SERVER = ROOT / "examples" / "foreign_graph" / "server.py"

Files = Mapping[str, str | bytes]


def write_layer(folder: Path, files: Files) -> Path:
    """A folder with these files."""
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def write_cascade(folder: Path, layers: Mapping[str, tuple[int, Files]], *further: Mapping[str, Any]) -> Path:
    """A manifest beside a folder for each layer, named as the layer.

    Args:
        folder: Where.
        layers: Level and files by name.
        further: More entries of the manifest, as they are.
    """
    for name, (_, files) in layers.items():
        write_layer(folder / name, files)
    entries = [{"name": name, "level": level, "path": name} for name, (level, _) in layers.items()]
    manifest = folder / "layers.json"
    manifest.write_text(json.dumps({"layers": [*entries, *further]}))
    return manifest


def foreign(name: str, level: int, *arguments: str | Path) -> dict[str, Any]:
    """The entry of a layer behind a server that is run by this Python."""
    return {
        "name": name,
        "level": level,
        "source": "mcp",
        "command": sys.executable,
        "args": [str(argument) for argument in arguments],
    }
