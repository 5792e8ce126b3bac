"""The thread that embeds while a server runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.ports import Progress
from commonplace.embed import EmbeddingService, ModelChoice, local
from commonplace.embed.local import BackgroundEmbedder, LocalSemanticIndex
from embeddings import EmbeddingServer
from indexed import Indexed, eventually

SemanticCase = tuple[Indexed, LocalSemanticIndex]


def embedded(meaning: LocalSemanticIndex) -> bool:
    """Whether all documents come to be embedded."""
    return eventually(lambda: meaning.status().status == "ready" and meaning.status().documents == 1)


def test_a_folder_that_comes_while_others_are_embedded_is_embedded_like_them(
    tmp_path: Path, server: EmbeddingServer
) -> None:
    choice = ModelChoice(models=tmp_path / "models", url=server.url, model="words")
    with (
        Indexed(tmp_path / "a", {"tides.md": "# Tides\n\nThe depth of the water.\n"}) as first,
        Indexed(tmp_path / "b", {"tea.md": "# Tea\n\nA kettle and five minutes.\n"}) as second,
        closing(EmbeddingService(choice)) as embedding,
    ):
        early = embedding.of(first.index, first.cache / "vectors")
        embedding.serve()
        assert embedded(early)
        late = embedding.of(second.index, second.cache / "vectors")
        assert late.patience == early.patience
        assert embedded(late)
        first.update("tides.md", "# Tides\n\nHow high the flood comes.\n")
        assert embedded(early)


def test_nothing_is_embedded_before_the_server_is_idle(tmp_path: Path, server: EmbeddingServer) -> None:
    choice = ModelChoice(models=tmp_path / "models", url=server.url, model="words")
    idle, waiting = threading.Event(), threading.Event()

    def wait() -> None:
        waiting.set()
        assert idle.wait(20)

    with (
        Indexed(tmp_path / "a", {"tides.md": "# Tides\n\nThe depth of the water.\n"}) as base,
        closing(EmbeddingService(choice)) as embedding,
    ):
        meaning = embedding.of(base.index, base.cache / "vectors")
        embedding.serve(wait)
        assert waiting.wait(20)
        assert (meaning.in_background, meaning.status().documents) == (True, 0)
        idle.set()
        assert embedded(meaning)


@contextmanager
def followed(embedded_case: SemanticCase) -> Iterator[LocalSemanticIndex]:
    """A meaning that is kept up to date in the background, up to date already."""
    _, meaning = embedded_case
    thread = BackgroundEmbedder([meaning])
    thread.start()
    try:
        assert embedded(meaning)
        yield meaning
    finally:
        thread.close()


def test_of_a_change_that_is_told_nothing_but_the_changed_documents_are_compared(
    embedded_case: Callable[..., SemanticCase], monkeypatch: pytest.MonkeyPatch
) -> None:
    base, meaning = embedded_case({"tides.md": "# Tides\n\nThe depth of the water.\n"})
    with followed((base, meaning)):
        addresses: list[Collection[Address] | None] = []
        embed = LocalSemanticIndex.embed

        def noted(
            self: LocalSemanticIndex,
            progress: Progress | None = None,
            stop: threading.Event | None = None,
            among: Collection[Address] | None = None,
        ) -> None:
            addresses.append(among)
            embed(self, progress, stop, among)

        monkeypatch.setattr(LocalSemanticIndex, "embed", noted)
        base.update("tea.md", "# Tea\n\nA kettle and five minutes.\n")
        assert eventually(lambda: meaning.status().documents == 2)
        (base.folder / "tides.md").unlink()
        base.index.update([Address("tides.md")])
        assert eventually(lambda: meaning.status().documents == 1)
    assert [set(among or ()) for among in addresses] == [{Address("tea.md")}, {Address("tides.md")}]


def test_a_change_that_nobody_tells_of_is_found_by_comparing_all_now_and_then(
    embedded_case: Callable[..., SemanticCase], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "FULL_COMPARISON_SECONDS", 0.0)
    base, meaning = embedded_case({"tides.md": "# Tides\n\nThe depth of the water.\n"})
    with followed((base, meaning)), closing(base.another()) as another:
        another.sync()
        another.update([base.write("tea.md", "# Tea\n\nA kettle and five minutes.\n")])
        assert eventually(lambda: meaning.status().documents == 2)


def test_after_a_failure_all_is_compared(
    embedded_case: Callable[..., SemanticCase], server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "RETRY_SECONDS", 0.1)
    base, meaning = embedded_case({"tides.md": "# Tides\n\nThe depth of the water.\n"})
    with followed((base, meaning)):
        server.status = 500
        base.update("tea.md", "# Tea\n\nA kettle and five minutes.\n")
        assert eventually(lambda: meaning.status().status == "failing")
        server.status = 200
        assert eventually(lambda: (meaning.status().status, meaning.status().documents) == ("ready", 2))
