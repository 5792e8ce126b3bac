"""The toolset `cascade` as the program knows it."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.registration import OpenContext, ToolsetRegistration
from commonplace.services.services import ServiceProvider, Services
from commonplace.toolsets.cascade.layer_settings import layer_folders, layer_specs, names_layers
from commonplace.toolsets.cascade.service import CASCADE_KEY

if TYPE_CHECKING:
    from commonplace.services.collections import Collection, Collections
    from commonplace.settings import Settings
    from commonplace.toolsets.cascade.rules.foreign import ForeignGraph
    from commonplace.toolsets.cascade.rules.manifest import LayerSpec
    from commonplace.toolsets.cascade.service.cascade import Cascade
    from commonplace.toolsets.cascade.service.layers import Layer

log = logging.getLogger(__name__)


def _folders(settings: Settings) -> Sequence[Path] | None:
    specs = layer_specs(settings)
    return None if specs is None else layer_folders(specs)


def _opened(context: OpenContext) -> ServiceProvider[Cascade | None]:
    specs = layer_specs(context.settings)
    cascade = None if specs is None else _cascade(specs, context)
    return ServiceProvider(CASCADE_KEY, partial(_unless_restricted, cascade))


def _unless_restricted(cascade: Cascade | None, services: Services) -> Cascade | None:
    return cascade if services.unrestricted else None


def _cascade(specs: Sequence[LayerSpec], context: OpenContext) -> Cascade:
    from commonplace.toolsets.cascade.rules.values import LayerRank
    from commonplace.toolsets.cascade.service.cascade import Cascade
    from commonplace.toolsets.cascade.service.foreign_layer import ForeignLayer
    from commonplace.toolsets.cascade.service.layers import FolderLayer

    layers: list[Layer] = []
    late: dict[Path, _LazyLayer] = {}
    for order, spec in enumerate(specs):
        rank = LayerRank(spec.name, spec.level, order)
        if spec.source == "mcp":
            layers.append(ForeignLayer(rank, _graph(spec, context)))
            continue
        real = Path(spec.path).resolve()
        if real in context.folders:
            at = partial(_collection_at, real, context.folders.index(real), context.collections)
            layers.append(FolderLayer(rank, at))
        else:
            layers.append(FolderLayer(rank, late.setdefault(real, _LazyLayer(real, context.open_collection))))
    return Cascade(layers)


def _graph(spec: LayerSpec, context: OpenContext) -> ForeignGraph:
    from commonplace.toolsets.cascade.foreign.graph import StdioGraph

    graph = StdioGraph(spec.command)
    context.closing.callback(graph.close)
    return graph


def _collection_at(folder: Path, place: int, collections: Collections) -> Collection | None:
    """The collection of a layer's folder, which several layers can share; None while the folder is not there."""
    return collections.members[place] if os.path.isdir(folder) else None


class _LazyLayer:
    """The collection of a layer's folder that was not there at the start; None while it is not."""

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
    commands={
        "resolve": "commonplace.toolsets.cascade.cli.resolve",
        "conflicts": "commonplace.toolsets.cascade.cli.conflicts",
    },
    check_bundle="commonplace.toolsets.cascade.service.bundles:check_bundle",
    confined=False,
    takes_stdio=names_layers,
    folders=_folders,
    opens=_opened,
)
