"""Damaged, deleted, foreign and unwritable indexes: mended without a human, and said in the log."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.query import SearchQuery
from commonplace.index import open_index
from commonplace.index.index_version import INDEX_FOLDER
from commonplace.store import open_store
from indexed import Indexed, remove_folder

FILES = {f"n{number:02}.md": f"# N{number}\n\nthe text w{number}x shared [[n01]]\n" for number in range(30)}


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Indexed]:
    with Indexed(tmp_path, FILES) as made:
        yield made


def home(base: Indexed) -> Path:
    (path,) = base.cache.glob(f"*/{INDEX_FOLDER}")
    return path


def assert_answers(base: Indexed) -> None:
    assert base.index.search(SearchQuery(text="shared")).total == 30
    assert base.listed() == sorted(FILES)
    assert base.found("w7x ", prefix=False) == ["n07.md"]
    assert len(base.index.links_to(Address("n01.md"))) == 29


def catalogue_is_noise(folder: Path) -> None:
    (folder / "catalogue.sqlite3").write_bytes(b"noise" * 5000)


def catalogue_is_empty(folder: Path) -> None:
    (folder / "catalogue.sqlite3").write_bytes(b"")


def catalogue_is_gone(folder: Path) -> None:
    (folder / "catalogue.sqlite3").unlink()


def catalogue_lacks_a_table(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "catalogue.sqlite3")) as connection:
        connection.execute("DROP TABLE details")


def version_is_another(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "catalogue.sqlite3")) as connection, connection:
        connection.execute("UPDATE meta SET value = 999 WHERE key = 'version'")


def fulltext_is_gone(folder: Path) -> None:
    remove_folder(folder / "fulltext")


def one_file_of_the_fulltext_is_gone(folder: Path) -> None:
    next((folder / "fulltext" / "documents").glob("*.idx")).unlink()


def one_file_of_the_fulltext_is_cut(folder: Path) -> None:
    file = next((folder / "fulltext" / "documents").glob("*.term"))
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def list_of_the_fulltext_is_noise(folder: Path) -> None:
    (folder / "fulltext" / "sections" / "meta.json").write_text("{")


def everything_is_gone(folder: Path) -> None:
    remove_folder(folder)


DAMAGES: list[Callable[[Path], None]] = [
    catalogue_is_noise,
    catalogue_is_empty,
    catalogue_is_gone,
    catalogue_lacks_a_table,
    version_is_another,
    fulltext_is_gone,
    one_file_of_the_fulltext_is_gone,
    one_file_of_the_fulltext_is_cut,
    list_of_the_fulltext_is_noise,
    everything_is_gone,
]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_index_is_built_again_at_the_next_start(
    base: Indexed, caplog: pytest.LogCaptureFixture, damage: Callable[[Path], None]
) -> None:
    base.index.close()
    damage(home(base))
    base.index = base.another()
    base.index.sync()
    assert_answers(base)
    if damage not in {catalogue_is_gone, everything_is_gone, version_is_another}:
        assert any(record.levelno >= logging.WARNING for record in caplog.records)
    assert str(base.cache) not in caplog.text


@pytest.mark.parametrize(
    "damage", [*DAMAGES[2:4], fulltext_is_gone, everything_is_gone], ids=lambda damage: damage.__name__
)
def test_an_index_that_is_damaged_while_it_is_open_is_built_again(
    base: Indexed, damage: Callable[[Path], None]
) -> None:
    damage(home(base))
    base.update("n03.md", "# N3\n\nthe text w3x shared [[n01]] again\n")
    assert_answers(base)
    assert base.found("again") == ["n03.md"]


def test_what_was_deleted_under_two_processes_serves_both_again(base: Indexed) -> None:
    other = base.another()
    other.sync()
    remove_folder(home(base))
    assert_answers(base)
    assert other.search(SearchQuery(text="shared")).total == 30
    base.update("n02.md", "# N2\n\nkangaroo\n")
    assert other.search(SearchQuery(text="kangaroo")).total == 1
    other.close()


def test_an_unwritable_cache_is_told_once_and_the_index_works_elsewhere(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "a.md").write_text("# A\n\nword\n")
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the cache folder should be")
    store = open_store(tmp_path / "base", commit="manual", state_dir=tmp_path / "state")
    index = open_index(store, blocked)
    index.sync()
    assert index.search(SearchQuery(text="word")).total == 1
    index.close()
    warnings = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warnings) == 1
    assert "temporary" in warnings[0]
    assert str(tmp_path) not in warnings[0]


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_cache_folder_without_permission_is_replaced_by_a_temporary_one(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o500)
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "a.md").write_text("# A\n\nword\n")
    index = open_index(open_store(tmp_path / "base", commit="manual", state_dir=tmp_path / "state"), cache)
    index.sync()
    assert index.search(SearchQuery(text="word")).total == 1
    index.close()


def test_a_lock_file_left_by_a_dead_process_blocks_nobody(base: Indexed) -> None:
    (home(base) / "lock").write_text("99999")
    base.update("n02.md", "# N2\n\nkangaroo\n")
    assert base.found("kangaroo") == ["n02.md"]


def test_an_interrupted_sync_leaves_a_usable_index(tmp_path: Path) -> None:
    files = {f"n{number:03}.md": f"# N\n\nshared w{number}x\n" for number in range(200)}
    with Indexed(tmp_path, {}) as base:
        for path, content in files.items():
            base.write(path, content)

        def interrupt(done: int, _total: int) -> None:
            if done == 120:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            base.index.sync(interrupt)
        base.update("new.md", "# New\n\nshared\n")
        assert base.found("shared") == ["new.md"]
        assert base.index.sync().added == 200
        assert base.index.search(SearchQuery(text="shared")).total == 201
