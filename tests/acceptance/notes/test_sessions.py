"""Sessions reach the same outcome with `notes` as with `kb`, in at most half of the tokens."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.sessions.base import write_base
from benchmarks.sessions.kb import KbPlayer
from benchmarks.sessions.notes import NotesPlayer
from benchmarks.sessions.outcomes import SESSIONS, Player


def tokens(player: type[Player], session: str, folder: Path) -> float:
    """Token cost of a session; raises RuntimeError if the session does not reach its outcome."""
    write_base(folder)
    with player(folder) as playing:
        SESSIONS[session](playing, folder)
    return playing.meter.tokens


@pytest.mark.parametrize("session", SESSIONS)
def test_a_session_costs_at_most_half_of_what_it_costs_with_kb(session: str, tmp_path: Path) -> None:
    assert tokens(NotesPlayer, session, tmp_path / "notes") <= tokens(KbPlayer, session, tmp_path / "kb") / 2
