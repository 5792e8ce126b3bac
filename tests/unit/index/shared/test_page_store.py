"""Pages in memory are served as files are."""

from __future__ import annotations

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import NotFoundError, ReadOnlyError
from commonplace.index.shared.page_store import PageStore
from opensearch_cluster.engines import page

A, B = Address("a.md"), Address("in/deep/b.md")


@pytest.fixture
def store() -> PageStore:
    made = PageStore("notes", "key")
    for one in (page("a.md", "# A\n", "2024-05-01T10:00:00Z"), page("in/deep/b.md", "# B\n"), page("in/c.md", "")):
        made.pages[one.record.address] = one
    return made


def test_pages_are_listed_read_and_found_in_their_folders(store: PageStore) -> None:
    assert {address.path for address, _ in store.scan()} == {"a.md", "in/deep/b.md", "in/c.md"}
    assert store.read(A) == b"# A\n"
    with store.reading() as read:
        assert read(B) == b"# B\n"
    assert [address.path for address, _ in store.files("")] == ["a.md"]
    assert [address.path for address, _ in store.files("in")] == ["in/c.md"]
    assert (store.folders(""), store.folders("in"), store.folders("in/deep"), store.folders("i")) == (
        ["in"],
        ["in/deep"],
        [],
        [],
    )


def test_a_page_that_is_not_there_is_not_found(store: PageStore) -> None:
    assert store.stat(Address("in")) is None
    with pytest.raises(NotFoundError):
        store.read(Address("none.md"))


def test_the_metadata_of_a_page_changes_with_its_bytes(store: PageStore) -> None:
    before = store.stat(A)
    store.pages[A] = page("a.md", "# B\n", "2024-05-01T10:00:00Z")
    after = store.stat(A)
    assert before is not None
    assert after is not None
    assert before != after
    assert (after.size, after.mtime_ns) == (4, 1_714_557_600_000_000_000)


def test_a_page_is_dated_by_its_record(store: PageStore) -> None:
    dates = store.history.touched()
    assert set(dates) == set(store.pages)
    first, last = dates[A]
    assert (first.when, last.when) == (1_714_557_600, 1_714_557_600)
    assert set(store.history.touched([A, Address("none.md")])) == {A}
    head = store.history.head()
    store.changes += 1
    assert store.history.head() != head
    assert (store.history.touched_since(head), store.history.uncommitted({})) == (None, set())
    assert (store.history.log(A, limit=5), list(store.history.versions(A))) == ([], [])
    for ask in (store.history.read, store.history.diff):
        with pytest.raises(NotFoundError):
            ask(A, "abcdef0")


def test_nobody_writes_through_it(store: PageStore) -> None:
    with pytest.raises(ReadOnlyError):
        store.transaction("Write")
    assert store.committing() is store
    assert (store.recover(), store.skipped()) == ([], [])
