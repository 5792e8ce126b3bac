"""The requested layers, from settings or a manifest."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.domain.errors import ConfigError
from commonplace.settings import is_remote, names_layers

if TYPE_CHECKING:
    from commonplace.settings import Settings
    from commonplace.toolsets.cascade.rules.manifest import LayerSpec, Manifest

log = logging.getLogger(__name__)


def layer_manifest(settings: Settings) -> Manifest | None:
    """The requested layers with absolute paths or URLs; None if folders are served.

    Raises:
        ConfigError: the manifest is unreadable or invalid, one of two folders is missing, or a profile is named
            without a manifest.
    """
    if not names_layers(settings):
        return None
    # Imported lazily: most servers have no layers.
    from commonplace.toolsets.cascade.rules.manifest import (  # noqa: PLC0415
        Manifest,
        ProfileChoice,
        parse_manifest,
        resolved_paths,
        two_layers,
    )

    if settings.manifest is not None:
        base = settings.manifest.absolute().parent
        choice = ProfileChoice(named=settings.profile, depth=partial(_depth, base))
        manifest = parse_manifest(_text_of(settings.manifest), settings.manifest.name, choice)
    elif settings.personal is not None and settings.shared is not None:
        manifest, base = Manifest(layers=two_layers(settings.personal, settings.shared)), Path.cwd()
    else:
        raise ConfigError("--personal and --shared need each other: give a folder or a URL with each.", kind="manifest")
    layers = tuple(resolved_paths(spec, partial(_absolute, base)) for spec in manifest.layers)
    return replace(manifest, layers=layers)


def layer_specs(settings: Settings) -> tuple[LayerSpec, ...] | None:
    """The layers of `layer_manifest`."""
    manifest = layer_manifest(settings)
    return None if manifest is None else manifest.layers


def _depth(base: Path, path: str) -> int:
    """Number of parts of a folder that contains the working folder, links resolved; 0 for any other path."""
    folder = Path(_absolute(base, path)).resolve()
    working = Path.cwd().resolve()
    return len(folder.parts) if folder == working or folder in working.parents else 0


def _text_of(manifest: Path) -> str:
    try:
        if not manifest.is_fifo():  # opening a FIFO would wait for a writer
            return manifest.read_text(encoding="utf-8-sig")
        reason = "it is not a regular file"
    except OSError as error:
        reason = error.strerror
    except UnicodeDecodeError:
        reason = "it is not UTF-8"
    raise ConfigError(f"The manifest {manifest.name!r} cannot be read: {reason}.", kind="manifest")


def _absolute(base: Path, path: str) -> str:
    if is_remote(path):
        return path
    try:
        return str(base / Path(path).expanduser())
    except RuntimeError:
        raise ConfigError(f"The path {path!r} names the home of an unknown user.", kind="manifest") from None


def layer_folders(specs: Sequence[LayerSpec]) -> list[Path]:
    """The folders of the layers that have one, each once; missing ones are logged."""
    folders: dict[Path, None] = {}
    for spec in specs:
        folder = Path(spec.path)
        if spec.command or spec.is_remote:
            continue
        if os.path.isdir(folder):
            folders[folder.resolve()] = None
        else:
            log.warning("layer %r is empty: there is no folder %r", spec.name, folder.name)
    return list(folders)


def layer_remotes(specs: Sequence[LayerSpec]) -> list[str]:
    """The remotes of the layers that follow one."""
    return [spec.path for spec in specs if spec.is_remote]
