"""The writing suite of `notes` at `propose`: nothing that is served moves, and accepting leaves what writing leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from acceptance.notes import test_notes_writing as suite
from at_propose import proposing_agent

LEFT_OUT = frozenset(
    {
        "test_a_page_that_no_commit_has_is_read_in_the_trash_and_written_again",
        "test_a_transaction_deletes_what_its_earlier_steps_make_or_move",
        "test_text_that_was_not_seen_is_kept_when_an_edit_takes_it_away",
        "test_a_move_keeps_lines_that_were_not_seen_and_whose_links_it_rewrites",
    }
)
"""Tests of the trash, which a proposal does not need: its branch has what it replaces."""

repo = suite.repo
globals().update({name: var for name, var in vars(suite).items() if name.startswith("test_") and name not in LEFT_OUT})


@pytest.fixture(autouse=True)
def at_propose(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each agent of the suite proposes, and its proposals are accepted when it leaves."""
    monkeypatch.setattr(suite, "agent", proposing_agent(suite.agent, tmp_path))
