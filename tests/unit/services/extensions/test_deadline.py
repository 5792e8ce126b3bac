"""Steps after a durable write neither fail its acknowledgement nor delay it for long."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.domain.json import JsonObject
from commonplace.services import typed_entries
from commonplace.services.collections import Collection
from commonplace.services.extensions import Deadline, Extensions, after_write
from commonplace.services.typed_entries import NewEntry, SavedEntry
from indexed import WAIT_SECONDS, Indexed


@pytest.fixture
def base(tmp_path: Path) -> Generator[Indexed]:
    with Indexed(tmp_path, {"a.md": "# A\n\nalpha\n"}) as made:
        yield made


@contextmanager
def locked(base: Indexed) -> Generator[None]:
    """Let another process write to the catalogue for the duration of the block."""
    (file,) = base.cache.rglob("catalogue.sqlite3")
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def create(collection: Collection, title: str) -> SavedEntry:
    entry = NewEntry(entry_type="note", title=title, body="A kangaroo.", fields={}, metadata={})
    return typed_entries.create_entry(collection, entry)


def test_a_write_is_acknowledged_while_another_process_holds_the_index_and_the_next_search_finds_it(
    base: Indexed,
) -> None:
    collection = Collection(name="base", store=base.store, index=base.index)
    with locked(base):
        saved = create(collection, "Held up")
        assert (base.folder / saved.written.address.path).exists()
        answers: list[list[str]] = []
        searching = threading.Thread(target=lambda: answers.append(base.found("kangaroo")))
        searching.start()
        assert answers == [], "a search that would miss the write waits for it"
    searching.join(WAIT_SECONDS)
    assert answers == [["notes/held-up.md"]]


def test_a_hook_before_indexing_that_lasts_does_not_keep_the_acknowledgement_back(base: Indexed) -> None:
    go_on = threading.Event()

    def hook(entry: JsonObject, answer_by: Deadline | None) -> None:
        del entry, answer_by
        assert go_on.wait(WAIT_SECONDS)

    extensions = Extensions(hooks={"before_index": (hook,)})
    collection = replace(Collection(name="base", store=base.store, index=base.index), extensions=extensions)
    create(collection, "Held up")
    assert base.found("kangaroo") == ["notes/held-up.md"]
    go_on.set()


def test_work_beside_an_answer_gives_its_result_or_none() -> None:
    def failing() -> int:
        raise RuntimeError("no room")

    go_on = threading.Event()
    long = Deadline(after_write().at + WAIT_SECONDS)
    assert long.within(lambda: 7, "counting") == 7
    assert long.within(failing, "counting") is None
    assert after_write().within(lambda: go_on.wait(WAIT_SECONDS), "waiting") is None
    go_on.set()
