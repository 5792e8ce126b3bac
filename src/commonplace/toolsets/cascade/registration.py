"""Registration of the toolset `cascade`."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.domain.errors import ConfigError, GitError, StorageError
from commonplace.domain.markdown.link_sides import page_side
from commonplace.registration import OpenContext, ToolsetRegistration
from commonplace.services.services import ServiceProvider, Services
from commonplace.settings import is_remote, names_layers
from commonplace.toolsets.cascade.service import CASCADE_KEY

if TYPE_CHECKING:
    from commonplace.services.collections import Collection, Collections
    from commonplace.settings import Settings
    from commonplace.toolsets.cascade.rules.concepts import ForeignGraph
    from commonplace.toolsets.cascade.rules.manifest import LayerSpec, Manifest
    from commonplace.toolsets.cascade.service.captures import LiveLayer
    from commonplace.toolsets.cascade.service.cascade import Cascade
    from commonplace.toolsets.cascade.service.layers import Layer


log = logging.getLogger(__name__)


def _folders(settings: Settings) -> Sequence[Path] | None:
    specs = layer_specs(settings)
    return None if specs is None else layer_folders(specs)


def _remotes(settings: Settings) -> Sequence[str]:
    return layer_remotes(layer_specs(settings) or ())


def _open_service(context: OpenContext) -> ServiceProvider[Cascade | None]:
    manifest = layer_manifest(context.settings)
    layers = None if manifest is None else _ServedLayers(context, manifest)
    return ServiceProvider(CASCADE_KEY, partial(_unless_restricted, layers))


def _unless_restricted(layers: _ServedLayers | None, services: Services) -> Cascade | None:
    """The cascade of a caller who may use every layer, or proposes to them; None for others."""
    if layers is None or not (services.unrestricted or services.proposes):
        return None
    return layers.current() if services.unrestricted else layers.current().proposed(services.collections)


class _ServedLayers:
    """The cascade of the configured layers. After a change of the manifest, the next call reloads it.

    Args:
        context: The context in which layers are opened.
        manifest: The layers at the start.
    """

    def __init__(self, context: OpenContext, manifest: Manifest) -> None:
        self._context = context
        self._manifest = context.settings.manifest
        self._lock = threading.Lock()
        self._stat = _file_stat(self._manifest)
        self._late: dict[Path, _LazyLayer] = {}
        if manifest.warning:
            log.warning(manifest.warning)
        self._specs = manifest.layers
        self._layers = [self._layer(spec, order) for order, spec in enumerate(manifest.layers)]
        self._live = self._live_layer()
        self._side = page_side(context.settings.wikilink_style)
        self._cascade: Cascade | None = None
        context.closing.callback(self._close)

    def current(self) -> Cascade:
        """The cascade of the manifest's current layers; of its last valid layers if the manifest cannot be read."""
        from commonplace.toolsets.cascade.service.cascade import Cascade

        with self._lock:
            stat = _file_stat(self._manifest)
            if stat != self._stat:
                self._stat = stat
                self._reload()
            if self._cascade is None:
                self._cascade = Cascade(self._layers, page_side=self._side, live=self._live)
            return self._cascade

    def _reload(self) -> None:
        from commonplace.domain.records import iso_timestamp
        from commonplace.toolsets.cascade.service.cascade import Cascade, ManifestFault

        try:
            specs = layer_specs(self._context.settings) or ()
            if specs != self._specs:
                self._replace(specs)
                log.info("the manifest has changed: layers %s", ", ".join(spec.name for spec in specs) or "none")
        except (ConfigError, GitError, StorageError) as error:  # GitError: the clone of a remote cannot be created
            log.warning("the layers stay as they are: %s", error)
            reason = f"its manifest has changed and is not used: {str(error).removesuffix('.')}"
            fault = ManifestFault(reason, iso_timestamp(time.time()))
            self._cascade = Cascade(self._layers, fault, self._side, self._live)
            return
        self._cascade = Cascade(self._layers, page_side=self._side, live=self._live)

    def _replace(self, specs: tuple[LayerSpec, ...]) -> None:
        """Replace the layers. A layer with the same specification and position stays open."""
        before = dict(zip(enumerate(self._specs), self._layers, strict=True))
        layers = [before.pop((order, spec), None) or self._layer(spec, order) for order, spec in enumerate(specs)]
        self._specs, self._layers = specs, layers
        self._live = self._live_layer()
        _close(before.values())

    def _layer(self, spec: LayerSpec, order: int) -> Layer:
        from commonplace.toolsets.cascade.rules.values import LayerRank
        from commonplace.toolsets.cascade.service.layers import FolderLayer, ForeignLayer

        rank = LayerRank(spec.name, spec.level, order)
        if spec.command:
            return ForeignLayer(rank, _graph(spec))
        context = self._context
        folder = None if spec.is_remote else Path(spec.path)
        real = context.follow(spec.path) if folder is None else folder.resolve()
        if real in context.folders:
            at = partial(_collection_at, real, context.folders.index(real), context.collections)
            return FolderLayer(rank, folder, at, spec.paths, spec.retention_days)
        late = self._late.setdefault(real, _LazyLayer(real, context.open_collection))
        return FolderLayer(rank, folder, late, spec.paths, spec.retention_days)

    def _live_layer(self) -> LiveLayer | None:
        """The layer into which captures are written, by the manifest."""
        from commonplace.toolsets.cascade.service.captures import LiveLayer
        from commonplace.toolsets.cascade.service.layers import FolderLayer

        for spec, layer in zip(self._specs, self._layers, strict=True):
            if spec.live and isinstance(layer, FolderLayer):
                return LiveLayer(layer, spec.author)
        return None

    def _close(self) -> None:
        _close(self._layers)


def _close(layers: Iterable[Layer]) -> None:
    """Terminate the servers of these layers. Collections are closed by the application."""
    from commonplace.toolsets.cascade.service.layers import ForeignLayer

    for layer in layers:
        if isinstance(layer, ForeignLayer):
            layer.close()


def _file_stat(path: Path | None) -> tuple[int, int, int] | None:
    """Modification time, size and inode of a file; None if there is no file."""
    try:
        status = path.stat() if path is not None else None
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_size, status.st_ino) if status else None


def _graph(spec: LayerSpec) -> ForeignGraph:
    from commonplace.toolsets.cascade.foreign import StdioGraph

    return StdioGraph(spec.command)


def _collection_at(folder: Path, place: int, collections: Collections) -> Collection | None:
    """The collection of a layer's folder, which several layers can share; None while the folder does not exist."""
    return collections.members[place] if os.path.isdir(folder) else None


class _LazyLayer:
    """Opens the collection of a folder that did not exist at the start; returns None while it does not exist."""

    def __init__(self, folder: Path, opened: Callable[[Path], Collection]) -> None:
        self._folder = folder
        self._open = opened
        self._opening = threading.Lock()
        self._collection: Collection | None = None

    def __call__(self) -> Collection | None:
        if not os.path.isdir(self._folder):
            return None
        with self._opening:
            if self._collection is None:
                log.info("the folder %r of a layer is there now", self._folder.name)
                self._collection = self._open(self._folder)
            return self._collection


CASCADE = ToolsetRegistration(
    name="cascade",
    mcp="commonplace.toolsets.cascade.mcp:CASCADE",
    web="commonplace.toolsets.cascade.web:CASCADE_PAGES",
    has_web=names_layers,
    rest="commonplace.toolsets.cascade.rest:CASCADE_REST",
    rest_alone=True,
    commands={
        "resolve": "commonplace.toolsets.cascade.cli",
        "conflicts": "commonplace.toolsets.cascade.cli",
    },
    check_bundle="commonplace.toolsets.cascade.service.captures:check_bundle",
    confined=False,
    detects=names_layers,
    takes_stdio=names_layers,
    excludes_others=names_layers,
    folders=_folders,
    remotes=_remotes,
    opens=_open_service,
)


# The requested layers, from settings or a manifest.


def layer_manifest(settings: Settings) -> Manifest | None:
    """The requested layers with absolute paths or URLs; None if folders are served.

    Raises:
        ConfigError: the manifest is unreadable or invalid, one of two folders is missing, or a profile is named
            without a manifest.
    """
    if not names_layers(settings):
        return None
    # Imported lazily: most servers have no layers.
    from commonplace.toolsets.cascade.rules.manifest import (
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
