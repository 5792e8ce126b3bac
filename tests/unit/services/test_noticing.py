"""What changes together is told once."""

from __future__ import annotations

import threading

from commonplace.domain.addresses import Address
from commonplace.services.noticing import Notice, Notices
from support import eventually

A, B, C = (Address(f"{name}.md") for name in "abc")


class Heard:
    """A listener that keeps what it was told."""

    def __init__(self) -> None:
        self.notices: list[Notice] = []

    def __call__(self, notice: Notice) -> None:
        self.notices.append(notice)


def test_changes_close_together_are_one_notice_for_each_collection() -> None:
    notices, heard = Notices(quiet=0.2), Heard()
    notices.listen(heard)
    notices.tell("notes", [A], listing=False)
    notices.tell("notes", [B, A], listing=True)
    notices.tell("other", [C], listing=False)
    eventually(lambda: len(heard.notices) == 2)
    assert heard.notices == [Notice("notes", frozenset({A, B}), True), Notice("other", frozenset({C}), False)]


def test_changes_without_an_end_are_told_in_between() -> None:
    notices, heard, ended = Notices(quiet=30, longest=0.1), Heard(), threading.Event()
    notices.listen(heard)

    def change() -> None:
        while not ended.is_set():
            notices.tell("notes", [A], listing=False)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        eventually(lambda: len(heard.notices) > 1)
    finally:
        ended.set()
        thread.join()


def test_who_no_longer_listens_hears_nothing_and_nothing_is_kept_for_nobody() -> None:
    notices, gone, stays = Notices(quiet=0.01), Heard(), Heard()
    notices.tell("notes", [A], listing=False)
    stop = notices.listen(gone)
    notices.listen(stays)
    stop()
    notices.tell("notes", [B], listing=False)
    eventually(lambda: len(stays.notices) > 0)
    assert [notice.addresses for notice in stays.notices] == [frozenset({B})]
    assert gone.notices == []
