"""Sessions reach the same outcome with `notes` as with `kb`, in fewer tokens."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.sessions.base import write_base
from benchmarks.sessions.kb import KbPlayer
from benchmarks.sessions.notes import NotesPlayer
from benchmarks.sessions.outcomes import SESSIONS, Player

from support import Amount

SHARES = {"answer from two pages": 0.75, "answer with citations": 0.75}
"""The most of the tokens with `kb`, if not half: both toolsets fill their budgets with text."""


def tokens(player: type[Player], session: str, folder: Path) -> float:
    """Token cost of a session; raises RuntimeError if the session does not reach its outcome."""
    write_base(folder)
    with player(folder) as playing:
        SESSIONS[session](playing, folder)
    return playing.meter.tokens


@pytest.mark.soak
def test_a_session_costs_less_than_with_kb(tmp_path: Path, amount: Amount) -> None:
    for session in list(SESSIONS)[: amount(2, len(SESSIONS))]:  # `make bench` measures all
        most = SHARES.get(session, 0.5) * tokens(KbPlayer, session, tmp_path / session / "kb")
        assert tokens(NotesPlayer, session, tmp_path / session / "notes") <= most
