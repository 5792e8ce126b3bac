"""The token cost of working sessions for an agent: with `notes`, with `kb`, and by reading files with grep.

Each session is run by a scripted client on a copy of the same base, and ends when its outcome is reached, which is
checked in the files. Tokens are those of all requests and answers, as compact JSON.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from benchmarks.measuring import Row, Work
from benchmarks.sessions.base import write_base
from benchmarks.sessions.files import FilesPlayer
from benchmarks.sessions.kb import KbPlayer
from benchmarks.sessions.notes import NotesPlayer
from benchmarks.sessions.outcomes import SESSIONS, Player

PART = "sessions"
PLAYERS: dict[str, type[Player]] = {"notes": NotesPlayer, "kb": KbPlayer, "files": FilesPlayer}


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part."""
    os.environ["XDG_CACHE_HOME"] = str(work.folder / "cache")
    os.environ["XDG_STATE_HOME"] = str(work.folder / "state")
    for name, checked in SESSIONS.items():
        tokens: dict[str, float] = {}
        calls: dict[str, int] = {}
        for toolset, player in PLAYERS.items():
            folder = work.folder / f"{name}-{toolset}".replace(" ", "-")
            write_base(folder)
            with player(folder) as playing:
                checked(playing, folder)
                tokens[toolset], calls[toolset] = playing.meter.tokens, playing.meter.calls
        yield _row(name, tokens, calls)


def _row(name: str, tokens: dict[str, float], calls: dict[str, int]) -> Row:
    others = "; ".join(
        f"{player} {tokens[player]:,.0f} in {calls[player]} calls" for player in PLAYERS if player != "notes"
    )
    detail = f"{calls['notes']} calls; {others}; {tokens['notes'] / tokens['kb']:.0%} of kb"
    return Row(PART, f"session with notes: {name}", tokens["notes"], "tokens", f"<= {tokens['kb'] / 2:,.0f}", detail)
