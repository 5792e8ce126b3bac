"""Work that fails at the start is retried until it succeeds or is no longer needed."""

from __future__ import annotations

import logging
import threading

import pytest

from commonplace import background_sync
from commonplace.background_sync import retry_until
from commonplace.domain.errors import ConfigError, StorageError

LOGGED = "commonplace.background_sync"


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts follow at once."""
    monkeypatch.setattr(background_sync, "RETRY_SECONDS", (0.001,))


def test_what_fails_is_tried_until_it_succeeds_and_each_reason_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    failures = [
        StorageError("The folder cannot be listed.", hint="Mount it."),
        StorageError("The folder cannot be listed.", hint="Mount it."),
        OSError(24, "Too many open files", "/somewhere/private"),
    ]
    done = threading.Event()

    def work() -> None:
        if failures:
            raise failures.pop(0)
        done.set()

    with caplog.at_level(logging.WARNING, LOGGED):
        retry_until(work, threading.Event(), "the start failed")
        assert done.wait(15)
    assert [record.getMessage() for record in caplog.records] == [
        "the start failed: The folder cannot be listed. Mount it.",
        "the start failed: Too many open files",
    ]


def test_nothing_is_tried_once_the_end_has_come() -> None:
    ending = threading.Event()
    tried: list[int] = []

    def work() -> None:
        tried.append(1)
        if len(tried) == 3:
            ending.set()
        raise StorageError("no")

    thread = retry_until(work, ending, "the start failed")
    assert thread is not None
    thread.join(15)
    assert len(tried) == 3


def test_a_mistake_in_the_settings_is_told_and_not_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    def work() -> None:
        raise ConfigError("An embedding_url is set, but no embedding_model.", kind="setting", hint="Set both.")

    with caplog.at_level(logging.WARNING, LOGGED):
        assert retry_until(work, threading.Event(), "the start failed") is None
    assert [record.getMessage() for record in caplog.records] == [
        "the start failed: An embedding_url is set, but no embedding_model. Set both."
    ]


def test_a_mistake_of_ours_is_not_tried_again() -> None:
    def work() -> None:
        raise TypeError("ours")

    with pytest.raises(TypeError, match="ours"):
        retry_until(work, threading.Event(), "the start failed")
