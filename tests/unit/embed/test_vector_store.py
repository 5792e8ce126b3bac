"""Vectors of a collection: made once, shared, kept in step, and made again when they are lost."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import KnowledgeError, StorageError, UnavailableError
from commonplace.domain.query import Filter
from commonplace.embed import EmbeddingService, ModelChoice
from commonplace.embed.local import LocalSemanticIndex
from commonplace.embed.vector_file import UNUSED_SECONDS
from embeddings import EmbeddingServer
from indexed import Indexed

Make = Callable[..., tuple[Indexed, LocalSemanticIndex]]

PAGES = {
    "tides.md": "# Tides\n\nThe depth of the water at the berth.\n",
    "backups.md": "# Backups\n\nRestore the database from the copy of last night.\n",
    "cats/tea.md": "# Tea\n\nA kettle and five minutes.\n",
}


def nearest(meaning: LocalSemanticIndex, text: str, within: set[str] | None = None) -> list[str]:
    chosen = Filter() if within is None else Filter(among=tuple(map(Address, within)))
    return [near.path for near in meaning.nearest(text, chosen, 10).best]


def opened(base: Indexed, server: EmbeddingServer, model: str = "words") -> LocalSemanticIndex:
    """Open the semantic index as another process would."""
    choice = ModelChoice(models=base.cache, url=server.url, model=model)
    return EmbeddingService(choice).of(base.index, base.cache / "vectors")


def the_file(base: Indexed) -> Path:
    (file,) = (base.cache / "vectors").glob("vectors-*.sqlite3")
    return file


def test_the_page_that_shares_the_meaning_is_nearest(embedded_case: Make) -> None:
    _, meaning = embedded_case(PAGES)
    meaning.embed()
    assert nearest(meaning, "restore the database")[0] == "backups.md"
    state = meaning.status()
    assert (state.status, state.documents, state.chunks, state.pending) == ("ready", 3, 3, 0)


def test_progress_ends_with_all_that_there_are(embedded_case: Make) -> None:
    _, meaning = embedded_case(PAGES)
    totals: list[tuple[int, int]] = []
    meaning.embed(lambda done, total: totals.append((done, total)))
    assert totals[-1] == (3, 3)


def test_only_what_is_meant_by_a_filter_is_looked_at(embedded_case: Make) -> None:
    base, meaning = embedded_case(PAGES)
    meaning.embed()
    within = {address.path for address in base.index.revisions(Filter(prefix="cats/"))}
    assert nearest(meaning, "restore the database", within) == ["cats/tea.md"]
    assert nearest(meaning, "restore the database", set()) == []


def test_a_changed_page_is_embedded_again_and_no_other(embedded_case: Make, server: EmbeddingServer) -> None:
    base, meaning = embedded_case(PAGES)
    meaning.embed()
    server.texts.clear()
    base.write("tides.md", "# Tides\n\nHow high the flood comes.\n")
    base.index.sync()
    assert meaning.status().pending == 1
    meaning.embed()
    assert server.texts == ["Tides\nHow high the flood comes."]
    assert nearest(meaning, "how high the flood comes")[0] == "tides.md"


def test_pages_divided_by_an_earlier_version_are_found_and_divided_again(
    embedded_case: Make, server: EmbeddingServer
) -> None:
    base, meaning = embedded_case(PAGES)
    meaning.embed()
    with closing(sqlite3.connect(the_file(base))) as file, file:
        file.execute("UPDATE pages SET revision = substr(revision, instr(revision, ':') + 1)")  # as it was without one
    assert (meaning.status().status, meaning.status().pending) == ("waiting", 3)
    assert nearest(meaning, "restore the database")[0] == "backups.md"
    server.texts.clear()
    meaning.embed()
    assert (meaning.status().status, server.texts) == ("ready", []), "equal texts keep their vectors"


def test_a_moved_page_costs_nothing(embedded_case: Make, server: EmbeddingServer) -> None:
    base, meaning = embedded_case(PAGES)
    meaning.embed()
    server.texts.clear()
    (base.folder / "backups.md").rename(base.folder / "cats" / "copies.md")
    base.index.sync()
    meaning.embed()
    assert server.texts == []
    assert nearest(meaning, "restore the database") == ["cats/copies.md", "tides.md", "cats/tea.md"]


def test_a_removed_page_is_found_no_more(embedded_case: Make) -> None:
    base, meaning = embedded_case(PAGES)
    meaning.embed()
    (base.folder / "backups.md").unlink()
    base.index.sync()
    meaning.embed()
    assert "backups.md" not in nearest(meaning, "restore the database")


def test_two_processes_share_the_vectors(embedded_case: Make, server: EmbeddingServer) -> None:
    base, meaning = embedded_case(PAGES)
    other = opened(base, server)
    meaning.embed()
    server.texts.clear()
    assert nearest(other, "restore the database")[0] == "backups.md"
    base.write("new.md", "# Rope\n\nHemp and nylon.\n")
    base.index.sync()
    meaning.embed()
    assert nearest(other, "hemp and nylon")[0] == "new.md"
    other.close()


def test_a_model_that_changes_is_never_mixed_with_another(embedded_case: Make, server: EmbeddingServer) -> None:
    base, meaning = embedded_case(PAGES)
    meaning.embed()
    other = opened(base, server, "letters")
    assert other.status().documents == 0
    assert other.similar("restore the database", Filter(), 5) is None
    other.embed()
    assert other.status().documents == 3
    assert len(list((base.cache / "vectors").glob("*.sqlite3"))) == 2
    other.close()


def test_vectors_of_a_model_are_removed_only_when_nobody_has_used_them_for_long(
    embedded_case: Make, server: EmbeddingServer
) -> None:
    base, meaning = embedded_case(PAGES)
    meaning.embed()
    first = the_file(base)
    other = opened(base, server, "letters")
    other.embed()
    assert first.exists()
    long_ago = time.time() - UNUSED_SECONDS - 60
    os.utime(first, (long_ago, long_ago))
    base.write("new.md", "# Rope\n\nHemp and nylon.\n")
    base.index.sync()
    other.embed()
    assert not first.exists()
    assert nearest(other, "hemp and nylon")[0] == "new.md"
    meaning.embed()
    assert nearest(meaning, "hemp and nylon")[0] == "new.md"
    other.close()


def test_only_the_threads_that_embed_have_a_lower_priority(embedded_case: Make) -> None:
    before = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    _, meaning = embedded_case(PAGES)
    meaning.embed()
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == before


@pytest.mark.parametrize("damage", [b"", b"no database" * 500], ids=["empty", "foreign"])
def test_a_damaged_file_is_made_again(embedded_case: Make, server: EmbeddingServer, damage: bytes) -> None:
    base, meaning = embedded_case(PAGES)
    meaning.embed()
    meaning.close()
    the_file(base).write_bytes(damage)
    for suffix in ("-wal", "-shm"):
        the_file(base).with_name(the_file(base).name + suffix).unlink(missing_ok=True)
    again = opened(base, server)
    assert again.status().pending == 3
    again.embed()
    assert nearest(again, "restore the database")[0] == "backups.md"
    again.close()


def test_a_file_deleted_under_an_open_process_is_made_again(embedded_case: Make) -> None:
    base, meaning = embedded_case(PAGES)
    meaning.embed()
    the_file(base).unlink()
    assert meaning.status().pending == 3
    meaning.embed()
    assert nearest(meaning, "restore the database")[0] == "backups.md"


def test_vectors_of_no_numbers_are_near_to_nothing(embedded_case: Make, server: EmbeddingServer) -> None:
    server.nan = True
    base, meaning = embedded_case(PAGES)
    meaning.embed()
    server.nan = False
    base.write("new.md", "# Rope\n\nHemp and nylon.\n")
    base.index.sync()
    meaning.embed()
    assert nearest(meaning, "hemp and nylon")[0] == "new.md"
    assert {near.similarity for near in meaning.nearest("hemp", Filter(), 10).best if near.path != "new.md"} <= {0.0}


def test_an_answer_of_another_dimension_is_refused_and_said(embedded_case: Make, server: EmbeddingServer) -> None:
    base, meaning = embedded_case(PAGES)
    meaning.embed()
    server.dimension = 32
    base.write("new.md", "# Rope\n\nHemp and nylon.\n")
    base.index.sync()
    with pytest.raises(StorageError, match="32 dimensions, but the stored ones have 64"):
        meaning.embed()
    state = meaning.status()
    assert state.status == "failing"
    assert "32 dimensions" in state.reason
    assert meaning.similar("something new", Filter(), 5) is None


@pytest.mark.parametrize(("status", "reason"), [(500, "status 500"), (401, "refused with status 401")])
def test_a_server_that_fails_is_named_and_words_must_do(
    embedded_case: Make, server: EmbeddingServer, status: int, reason: str
) -> None:
    _, meaning = embedded_case(PAGES)
    meaning.embed()
    server.status = status
    assert meaning.similar("something else", Filter(), 5) is None
    assert reason in meaning.status().reason
    with pytest.raises(KnowledgeError, match=reason):
        meaning.nearest("yet something else", Filter(), 5)


def test_a_server_that_is_gone_is_named(embedded_case: Make, tmp_path: Path) -> None:
    base, _ = embedded_case(PAGES)
    gone = EmbeddingService(ModelChoice(models=tmp_path, url="http://127.0.0.1:9/v1", model="words")).of(
        base.index, base.cache
    )
    with pytest.raises(UnavailableError, match="cannot be reached"):
        gone.embed()
    assert gone.status().status == "failing"
    assert gone.status().pending == 3


def test_pages_without_a_word_have_no_vectors_and_wait_for_none(embedded_case: Make, server: EmbeddingServer) -> None:
    _, meaning = embedded_case({"empty.md": "", "smile.md": "😀 🎉\n", "blank.md": "---\ntitle: ''\n---\n\n\n"})
    meaning.embed()
    assert server.texts == []
    assert (meaning.status().status, meaning.status().chunks) == ("ready", 0)


def test_without_a_model_words_must_do_and_meaning_says_what_to_install(tmp_path: Path) -> None:
    with Indexed(tmp_path, PAGES) as base:
        meaning = EmbeddingService(ModelChoice(models=tmp_path / "none")).of(base.index, base.cache)
        assert meaning.similar("tea", Filter(), 5) is None
        state = meaning.status()
        assert (state.status, state.reason) == ("missing", "No model is installed. Run: commonplace model install")
        with pytest.raises(UnavailableError, match="No model is installed") as refused:
            meaning.nearest("tea", Filter(), 5)
        assert "commonplace model install" in refused.value.hint


def test_a_pass_that_is_told_to_end_keeps_whole_batches_and_the_next_goes_on(
    embedded_case: Make, server: EmbeddingServer
) -> None:
    _, meaning = embedded_case({f"{number}.md": f"# Page {number}\n\nWord{number}.\n" for number in range(100)})
    stop = threading.Event()
    meaning.embed(lambda done, _: stop.set() if done == 70 else None, stop)
    embedded = meaning.status().documents
    assert 0 < embedded <= 70
    server.texts.clear()
    meaning.embed()
    assert meaning.status().documents == 100
    assert len(server.texts) == 100 - embedded


def test_a_file_that_was_closed_meanwhile_is_not_taken_for_damaged(embedded_case: Make) -> None:
    base, meaning = embedded_case(PAGES)
    meaning.embed()
    inode = the_file(base).stat().st_ino
    closed = sqlite3.connect(":memory:")
    closed.close()
    with pytest.raises(StorageError):
        meaning._vectors.with_file(lambda _: closed.execute("SELECT 1"))
    assert the_file(base).stat().st_ino == inode
