"""Recall of the toolset `cascade`: documentation trees as layers, one at a time and all together."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.judged.queries import QUESTIONS, packaged
from benchmarks.judged.sets import lines_of
from commonplace.bootstrap import Application
from commonplace.settings import Settings
from commonplace.toolsets.cascade.service import CASCADE_KEY
from commonplace.toolsets.cascade.service.concept_search import search

TREES = ("npm", "undici", "docs")
"""The trees; `docs` is that of this project."""
MAX_RANK = 5


@dataclass(frozen=True, slots=True)
class LayerRecall:
    """The recall over the questions to some layers."""

    layers: str
    questions: int
    first: float
    """Share of the questions whose first concept answers."""
    among_five: float


def layer_recalls(path: Path, settings: Settings) -> Iterator[LayerRecall]:
    """The recall of each tree as the only layer, and of all trees as layers with the questions of all.

    Args:
        path: Folder of manifests and indexes.
        settings: The settings of the application.
    """
    trees = {tree: folder for tree in TREES if (folder := packaged(tree))}
    for layers in (*({tree: folder} for tree, folder in trees.items()), trees):
        root = path / "-".join(("layers", *layers))
        root.mkdir(parents=True, exist_ok=True)
        entries = [
            {"name": tree, "level": level, "path": str(path)} for level, (tree, path) in enumerate(layers.items())
        ]
        manifest = root / "layers.json"
        manifest.write_text(json.dumps({"layers": entries}))
        yield _recall(layers, replace(settings, manifest=manifest, cache_dir=root / "cache", state_dir=root / "state"))


def _recall(layers: Mapping[str, Path], settings: Settings) -> LayerRecall:
    application = Application((), settings)
    try:
        application.sync()
        cascade = application.services.of(CASCADE_KEY)
        assert cascade is not None  # noqa: S101 - the settings name a manifest
        questions = [line for tree in layers for line in lines_of(QUESTIONS / f"first-{tree}.jsonl")]
        right = [{page.removesuffix(".md") for page in line["pages"]} for line in questions]
        answers = [[hit.row.id for hit in search(cascade, line["question"], MAX_RANK)] for line in questions]
    finally:
        application.close()
    pairs = list(zip(answers, right, strict=True))
    first = sum(bool(pages.intersection(ids[:1])) for ids, pages in pairs)
    among_five = sum(bool(pages.intersection(ids)) for ids, pages in pairs)
    return LayerRecall(", ".join(layers), len(questions), first / len(questions), among_five / len(questions))
