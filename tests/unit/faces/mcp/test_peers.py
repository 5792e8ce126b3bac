"""The client of a call where there is none, and what is said to a call that needs more of one."""

from __future__ import annotations

import pytest

from commonplace.domain.errors import InvalidInputError, KnowledgeError
from commonplace.faces.mcp.peers import LEVELS, NULL_CLIENT, InputNeeded, UnableError


def test_without_a_client_nobody_can_be_asked_and_telling_is_no_error() -> None:
    assert not NULL_CLIENT.can("elicitation")
    with pytest.raises(InvalidInputError, match="no client"):
        NULL_CLIENT.ask({})
    NULL_CLIENT.log("error", "x")
    NULL_CLIENT.progress(1, 2)


def test_a_capability_that_is_missing_is_named() -> None:
    error = UnableError("sampling")
    assert "can do sampling" in str(error)
    assert error.capability == "sampling"
    assert "can do what is asked for" in str(UnableError(""))


def test_a_call_that_waits_for_its_client_is_no_error_that_a_handler_could_take_for_one() -> None:
    needed = InputNeeded({"name": {"method": "roots/list"}}, {"old": {}})
    assert not isinstance(needed, Exception)
    assert not isinstance(needed, KnowledgeError)
    assert (list(needed.requests), list(needed.known)) == (["name"], ["old"])


def test_levels_are_those_of_syslog_least_serious_first() -> None:
    assert (LEVELS[0], LEVELS[-1], len(LEVELS)) == ("debug", "emergency", 8)
