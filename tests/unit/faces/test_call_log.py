"""Log lines of a call, and the error that its face receives for an exception."""

from __future__ import annotations

import logging

import pytest

from commonplace.domain.errors import Code, KnowledgeError, NotFoundError
from commonplace.faces.call_log import traced_call


def test_an_unexpected_exception_becomes_an_internal_error_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    with (
        caplog.at_level(logging.INFO, "commonplace.calls"),
        pytest.raises(KnowledgeError, match="Internal error") as raised,
        traced_call("read"),
    ):
        raise ValueError("a private path")
    assert raised.value.code is Code.INTERNAL
    assert "private" not in raised.value.advice
    failed, ended = caplog.records
    assert failed.levelno == logging.ERROR
    assert failed.exc_info is not None
    assert "private" not in failed.getMessage()
    assert ended.getMessage().startswith("read ValueError ")


def test_an_expected_error_is_passed_on_and_logged_with_its_code_alone(caplog: pytest.LogCaptureFixture) -> None:
    error = NotFoundError("There is no page tea.md.")
    with (
        caplog.at_level(logging.INFO, "commonplace.calls"),
        pytest.raises(NotFoundError) as raised,
        traced_call("read"),
    ):
        raise error
    assert raised.value is error
    (ended,) = caplog.records
    assert ended.getMessage().startswith("read not_found ")
    assert ended.exc_info is None


def test_an_interrupt_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    with (
        caplog.at_level(logging.INFO, "commonplace.calls"),
        pytest.raises(KeyboardInterrupt),
        traced_call("read"),
    ):
        raise KeyboardInterrupt
    (ended,) = caplog.records
    assert ended.getMessage().startswith("read KeyboardInterrupt ")
