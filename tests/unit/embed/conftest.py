"""Fixtures of the tests on embedding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from commonplace.embed import EmbeddingService, ModelChoice
from commonplace.embed.local import LocalSemanticIndex
from embeddings import EmbeddingServer, embedding_server
from indexed import Indexed

SemanticCase = tuple[Indexed, LocalSemanticIndex]


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    """A server that embeds."""
    with embedding_server() as running:
        yield running


@pytest.fixture
def embedded_case(tmp_path: Path, server: EmbeddingServer) -> Iterator[Callable[..., SemanticCase]]:
    """`meant({"a.md": "# A"})`: a folder with these files and their meaning by that server; `model` names it."""
    with ExitStack() as stack:

        def make(files: dict[str, str], model: str = "words") -> SemanticCase:
            base = stack.enter_context(Indexed(tmp_path, files))
            embedding = EmbeddingService(ModelChoice(models=tmp_path / "models", url=server.url, model=model))
            stack.callback(embedding.close)
            return base, embedding.of(base.index, base.cache / "vectors")

        yield make
