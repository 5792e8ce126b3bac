"""The model of a process: missing, failing, or there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from commonplace.domain.errors import KnowledgeError, UnavailableError
from commonplace.embed.models import Model, ModelChoice, missing_model
from embeddings import DIMENSION, EmbeddingServer, embedding_server


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as made:
        yield made


def remote(server: EmbeddingServer, tmp_path: Path) -> Model:
    return Model(ModelChoice(models=tmp_path, url=server.url, model="words"))


def test_without_a_model_it_is_told_how_to_get_one_and_nothing_is_loaded(tmp_path: Path) -> None:
    model = Model(ModelChoice(models=tmp_path / "none"))
    assert "commonplace model install" in model.missing
    assert not model.is_remote
    with pytest.raises(UnavailableError) as refused:
        model.texts(["a"])
    assert refused.value.context["retryable"] == 0
    assert "mode=keyword" in refused.value.hint


def test_a_folder_that_holds_no_model_fails_with_the_next_step(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    model = Model(ModelChoice(models=tmp_path, folder=tmp_path / "mine"))
    assert (model.missing, model.name) == ("", "mine")
    with pytest.raises(KnowledgeError) as refused:
        model.encoder()
    assert refused.value.kind == "model"
    assert refused.value.hint
    assert model.failure
    assert model.is_backing_off


def test_texts_and_queries_become_vectors(server: EmbeddingServer, tmp_path: Path) -> None:
    model = remote(server, tmp_path)
    assert (model.missing, model.name, model.is_remote) == ("", "words", True)
    vectors = model.texts(["green tea", "black tea", "engine"])
    assert vectors.shape == (3, DIMENSION)
    query = model.question("tea")
    assert query.shape == (DIMENSION,)
    near = vectors @ query
    assert near[0] > near[2]
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_the_same_query_is_asked_once(server: EmbeddingServer, tmp_path: Path) -> None:
    model = remote(server, tmp_path)
    for _ in range(3):
        model.question("tea")
    assert len([text for text in server.texts if "tea" in text]) == 1


def test_a_failure_is_remembered_until_a_use_succeeds(
    server: EmbeddingServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = remote(server, tmp_path)
    model.texts(["a"])
    server.status = 401
    for _ in range(2):
        with pytest.raises(KnowledgeError):
            model.texts(["b"])
    assert model.failure
    assert model.is_backing_off
    assert len([record for record in caplog.records if record.name.endswith("embed.models")]) == 1, (
        "the same failure once"
    )
    server.status = 200
    model.texts(["c"])
    assert (model.failure, model.is_backing_off) == ("", False)


@pytest.mark.parametrize("reason", ["No model is installed. Run: commonplace model install", "No model"])
def test_the_error_without_a_model_names_a_search_that_needs_none(reason: str) -> None:
    error = missing_model(reason)
    assert str(error).endswith("No model is installed." if "installed" in reason else "No model.")
    assert error.hint.endswith("earch with mode=keyword.")


def test_missing_libraries_are_told_without_a_path_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)  # as where it is not installed
    missing = Model(ModelChoice(models=tmp_path)).missing
    assert "onnxruntime" in missing
    assert missing.endswith("Run: commonplace model install")
    assert str(Path(sys.executable).parent) not in missing


def test_trying_a_model_out_tells_what_is_wrong_with_it_now(tmp_path: Path) -> None:
    with embedding_server() as server:
        model = remote(server, tmp_path)
        model.try_out()
        assert model.failure == ""
    model.try_out()
    assert "cannot be reached" in model.failure
