"""Each change is reported once, whoever made it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import StorageError, UnavailableError
from commonplace.index.watcher import MAX_KNOWN, ChangeNotifier, IndexState

A, B = Address("a.md"), Address("b.md")


class State:
    """An index that says what it is told to."""

    def __init__(self) -> None:
        self.revisions: dict[Address, str] = {}
        self.version = 1
        self.failure: Exception | None = None
        self.notifier = ChangeNotifier(self.state_of)
        self.heard: list[tuple[list[Address], bool]] = []

    def state_of(self, addresses: Sequence[Address]) -> IndexState:
        if self.failure:
            raise self.failure
        revisions = {address: self.revisions[address] for address in addresses if address in self.revisions}
        return IndexState(revisions, self.version)

    def changed(self, *addresses: Address) -> list[Address]:
        return list(self.notifier.changed(addresses).documents)

    def notify(self, *addresses: Address) -> None:
        """Report that these documents have changed."""
        self.notifier.notify(replace(self.notifier.changed([A, B]), documents=addresses))

    def hear(self, documents: Sequence[Address], listing: bool) -> None:
        self.heard.append((list(documents), listing))


def test_a_document_has_changed_once_for_each_revision() -> None:
    state = State()
    state.revisions = {A: "1", B: "1"}
    assert state.changed(A, B, A) == [A, B]
    assert state.changed(A, B) == []
    state.revisions[B] = "2"
    assert state.changed(A, B) == [B]
    del state.revisions[B]
    assert state.changed(B) == [B]


@pytest.mark.parametrize("failure", [StorageError("damaged"), UnavailableError("busy")])
def test_what_cannot_be_read_may_have_changed(failure: Exception) -> None:
    state = State()
    state.revisions = {A: "1"}
    state.changed(A)
    state.failure = failure
    assert [state.changed(A) for _ in range(2)] == [[A], [A]]
    state.failure = None
    assert state.changed(A) == [A]
    assert state.changed(A) == []


def test_listeners_hear_of_documents_and_whether_any_came_or_went() -> None:
    state = State()
    state.notifier.start()
    state.notifier.listen(state.hear)
    state.notify(A)
    state.version = 2
    state.notify(A, B)
    state.notify(B)
    assert state.heard == [([A], False), ([A, B], True), ([B], False)]


def test_an_index_that_cannot_be_read_may_have_new_documents() -> None:
    state = State()
    state.notifier.start()
    state.notifier.listen(state.hear)
    state.failure = StorageError("damaged")
    state.notify(A)
    state.failure = None
    state.notify(A)
    state.notify(A)
    assert [listing for _, listing in state.heard] == [True, True, False]


def test_nothing_is_said_of_no_documents_and_all_listeners_hear_the_rest() -> None:
    state, other = State(), State()
    state.notify(A)
    state.notifier.listen(state.hear)
    state.notifier.listen(other.hear)
    state.notify()
    state.notify(B)
    assert [documents for documents, _ in state.heard] == [documents for documents, _ in other.heard] == [[B]]


def test_of_very_many_documents_the_oldest_is_reported_again() -> None:
    state = State()
    many = [Address(f"{number}.md") for number in range(MAX_KNOWN + 1)]
    state.revisions = dict.fromkeys(many, "1")
    assert len(state.changed(*many)) == MAX_KNOWN + 1
    assert state.changed(*many[-5:]) == []
    assert state.changed(*many[:1]) == many[:1]
