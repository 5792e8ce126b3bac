"""The thread that embeds while a server runs."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from commonplace.embed import Choice, Embedding
from commonplace.embed.local import LocalMeaning
from embeddings import EmbeddingServer
from indexed import Indexed, eventually


def embedded(meaning: LocalMeaning) -> bool:
    """Whether all documents come to be embedded."""
    return eventually(lambda: meaning.state().status == "ready" and meaning.state().documents == 1)


def test_a_folder_that_comes_while_others_are_embedded_is_embedded_like_them(
    tmp_path: Path, server: EmbeddingServer
) -> None:
    choice = Choice(models=tmp_path / "models", url=server.url, model="words")
    with (
        Indexed(tmp_path / "a", {"tides.md": "# Tides\n\nThe depth of the water.\n"}) as first,
        Indexed(tmp_path / "b", {"tea.md": "# Tea\n\nA kettle and five minutes.\n"}) as second,
        closing(Embedding(choice)) as embedding,
    ):
        early = embedding.of(first.index, first.cache / "vectors")
        embedding.serve()
        assert embedded(early)
        late = embedding.of(second.index, second.cache / "vectors")
        assert late.patience == early.patience
        assert embedded(late)
        first.update("tides.md", "# Tides\n\nHow high the flood comes.\n")
        assert embedded(early)
