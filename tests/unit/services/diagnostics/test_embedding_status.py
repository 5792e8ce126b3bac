"""The status of search by meaning, with a model and without."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from commonplace.embed import EmbeddingService, ModelChoice
from commonplace.services.diagnostics import embedding_status
from indexed import Indexed


def test_a_collection_without_vectors_is_switched_off_and_says_how(tmp_path: Path) -> None:
    with Indexed(tmp_path) as base:
        status = embedding_status(base.collection)
    assert (status.status, status.model) == ("off", "")
    assert "--no-embed" in status.reason


def test_a_collection_with_vectors_tells_their_status(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"a.md": "# A\n"}) as base:
        embedding = EmbeddingService(ModelChoice(models=tmp_path / "none"))
        semantic = embedding.of(base.index, base.cache / "vectors")
        try:
            status = embedding_status(replace(base.collection, semantic_index=semantic))
        finally:
            embedding.close()
    assert status == semantic.status()
    assert status.status == "missing"
    assert status.reason
