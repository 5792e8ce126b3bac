"""Proposals as values: ids, proposers, and what is recorded of a call."""

from __future__ import annotations

import pytest

from commonplace.domain.changes import Author
from commonplace.domain.proposals import (
    ANONYMOUS,
    Proposal,
    Proposer,
    is_proposal_id,
    record_proposed,
    recording_proposed,
)


def proposal(proposer: Proposer, message: str = "Fix\n\nBody") -> Proposal:
    return Proposal(id="1", tip="", state="open", proposer=proposer, author=Author("A", "a@x"), message=message, when=0)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("20261128-1a2b3c", True),
        ("a", True),
        ("", False),
        ("-a", False),
        ("a/b", False),
        ("A", False),
        ("a" * 65, False),
    ],
)
def test_ids_are_short_and_plain(text: str, right: bool) -> None:
    assert is_proposal_id(text) is right


def test_a_proposer_owns_by_caller_and_gathers_by_session_and_purpose() -> None:
    own = proposal(Proposer("key:1", "s1", "Tidy"))
    assert Proposer("key:1", "s2").owns(own)
    assert not Proposer("key:2", "s1", "Tidy").owns(own)
    assert Proposer("key:1", "s1", "Tidy", "another program").gathers(own)
    assert not Proposer("key:1", "s1").gathers(own)
    assert own.title == "Tidy"
    assert proposal(Proposer()).title == "Fix"


def test_callers_without_a_key_own_by_session() -> None:
    assert Proposer(ANONYMOUS, "s1").owns(proposal(Proposer(ANONYMOUS, "s1")))
    assert not Proposer(ANONYMOUS, "s2").owns(proposal(Proposer(ANONYMOUS, "s1")))


def test_writes_of_a_block_are_recorded() -> None:
    record_proposed("base", "1")
    with recording_proposed() as proposed:
        record_proposed("base", "2")
    record_proposed("base", "3")
    assert proposed == {"base": "2"}
