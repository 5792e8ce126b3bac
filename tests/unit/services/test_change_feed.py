"""Changes that occur together are notified once."""

from __future__ import annotations

import threading

from commonplace.domain.addresses import Address
from commonplace.services.change_feed import ChangeFeed, ChangeNotice
from support import eventually

A, B, C = (Address(f"{name}.md") for name in "abc")


class Heard:
    """A listener that keeps what it was told."""

    def __init__(self) -> None:
        self.notices: list[ChangeNotice] = []

    def __call__(self, notice: ChangeNotice) -> None:
        self.notices.append(notice)


def test_changes_close_together_are_one_notice_for_each_collection() -> None:
    notices, heard = ChangeFeed(quiet=0.2), Heard()
    notices.subscribe(heard)
    notices.publish("notes", [A], listing=False)
    notices.publish("notes", [B, A], listing=True)
    notices.publish("other", [C], listing=False)
    eventually(lambda: len(heard.notices) == 2)
    assert heard.notices == [
        ChangeNotice("notes", frozenset({A, B}), True),
        ChangeNotice("other", frozenset({C}), False),
    ]


def test_changes_without_an_end_are_told_in_between() -> None:
    notices, heard, ended = ChangeFeed(quiet=30, longest=0.1), Heard(), threading.Event()
    notices.subscribe(heard)

    def change() -> None:
        while not ended.is_set():
            notices.publish("notes", [A], listing=False)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        eventually(lambda: len(heard.notices) > 1)
    finally:
        ended.set()
        thread.join()


def test_who_no_longer_listens_hears_nothing_and_nothing_is_kept_for_nobody() -> None:
    notices, gone, stays = ChangeFeed(quiet=0.01), Heard(), Heard()
    notices.publish("notes", [A], listing=False)
    stop = notices.subscribe(gone)
    notices.subscribe(stays)
    stop()
    notices.publish("notes", [B], listing=False)
    eventually(lambda: len(stays.notices) > 0)
    assert [notice.addresses for notice in stays.notices] == [frozenset({B})]
    assert gone.notices == []
