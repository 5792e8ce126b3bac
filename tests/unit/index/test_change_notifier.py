"""Each change is reported once, whoever made it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import StorageError, UnavailableError
from commonplace.index.change_notifier import MAX_KNOWN, ChangeNotifier

A, B = Address("a.md"), Address("b.md")


class State:
    """An index that says what it is told to."""

    def __init__(self) -> None:
        self.revisions: dict[Address, str] = {}
        self.version = 1
        self.failure: Exception | None = None
        self.notifier = ChangeNotifier(self.revision_at, self.membership)
        self.heard: list[tuple[list[Address], bool]] = []

    def revision_at(self, address: Address) -> str:
        if self.failure:
            raise self.failure
        return self.revisions.get(address, "")

    def membership(self) -> int:
        if self.failure:
            raise self.failure
        return self.version

    def hear(self, documents: Sequence[Address], listing: bool) -> None:
        self.heard.append((list(documents), listing))


def test_a_document_has_changed_once_for_each_revision() -> None:
    state = State()
    state.revisions = {A: "1", B: "1"}
    assert state.notifier.changed([A, B, A]) == [A, B]
    assert state.notifier.changed([A, B]) == []
    state.revisions[B] = "2"
    assert state.notifier.changed([A, B]) == [B]
    del state.revisions[B]
    assert state.notifier.changed([B]) == [B]


@pytest.mark.parametrize("failure", [StorageError("damaged"), UnavailableError("busy")])
def test_what_cannot_be_read_may_have_changed(failure: Exception) -> None:
    state = State()
    state.revisions = {A: "1"}
    state.notifier.changed([A])
    state.failure = failure
    assert [state.notifier.changed([A]) for _ in range(2)] == [[A], [A]]
    state.failure = None
    assert state.notifier.changed([A]) == [A]
    assert state.notifier.changed([A]) == []


def test_listeners_hear_of_documents_and_whether_any_came_or_went() -> None:
    state = State()
    state.notifier.start()
    state.notifier.listen(state.hear)
    state.notifier.notify([A])
    state.version = 2
    state.notifier.notify([A, B])
    state.notifier.notify([B])
    assert state.heard == [([A], False), ([A, B], True), ([B], False)]


def test_an_index_that_cannot_be_read_may_have_new_documents() -> None:
    state = State()
    state.notifier.start()
    state.notifier.listen(state.hear)
    state.failure = StorageError("damaged")
    state.notifier.notify([A])
    state.failure = None
    state.notifier.notify([A])
    state.notifier.notify([A])
    assert [listing for _, listing in state.heard] == [True, True, False]


def test_nothing_is_said_of_no_documents_and_all_listeners_hear_the_rest() -> None:
    state, other = State(), State()
    state.notifier.notify([A])
    state.notifier.listen(state.hear)
    state.notifier.listen(other.hear)
    state.notifier.notify([])
    state.notifier.notify([B])
    assert [documents for documents, _ in state.heard] == [documents for documents, _ in other.heard] == [[B]]


def test_of_very_many_documents_the_oldest_is_reported_again() -> None:
    state = State()
    many = [Address(f"{number}.md") for number in range(MAX_KNOWN + 1)]
    state.revisions = dict.fromkeys(many, "1")
    assert len(state.notifier.changed(many)) == MAX_KNOWN + 1
    assert state.notifier.changed(many[-5:]) == []
    assert state.notifier.changed(many[:1]) == many[:1]
