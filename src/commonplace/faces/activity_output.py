"""Activity and undo as JSON and as lines of text, the same in every face."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from commonplace.domain.json import Json
from commonplace.domain.records import iso_timestamp
from commonplace.domain.words.amounts import amount
from commonplace.faces.proposal_output import one_line

if TYPE_CHECKING:
    from commonplace.services.activity import SessionActivity, WriteActivity
    from commonplace.services.undo import UndoReceipt

MAX_PATHS = 10
"""Maximum number of paths in a line."""


def session_json(session: SessionActivity) -> dict[str, Json]:
    """A session in a list."""
    actor = session.actor
    return {
        "session": actor.session,
        "face": actor.face,
        "client": actor.client,
        "caller": actor.caller,
        "name": actor.name,
        "collections": list(session.collections),
        "first": iso_timestamp(session.first),
        "last": iso_timestamp(session.last),
        "writes": session.writes,
        "proposed": session.proposed,
        "files": session.files,
        "reads": session.reads,
        "tools": dict(session.tools),
    }


def write_json(write: WriteActivity, diff: str | None = None) -> dict[str, Json]:
    """A write of a session, with its diff if that is given."""
    access = write.access
    return {
        "collection": write.collection,
        "when": iso_timestamp(access.when),
        "tool": access.actor.tool,
        "commit": access.commit,
        "proposal": access.proposal,
        "subject": write.subject,
        "files": list(write.paths),
        "read_before": list(write.read),
        **({} if diff is None else {"diff": diff}),
    }


def undo_json(results: Mapping[str, UndoReceipt]) -> dict[str, Json]:
    """The result of an undo."""
    return {
        "undone": [
            {
                "collection": name,
                "commit": receipt.commit,
                "commits": list(receipt.undone),
                "written": [address.path for address in receipt.written],
                "removed": [address.path for address in receipt.removed],
                "uncommitted": receipt.uncommitted,
            }
            for name, receipt in results.items()
        ]
    }


def session_line(session: SessionActivity) -> str:
    """A session in a list."""
    actor = session.actor
    who = " ".join(filter(None, [actor.program or actor.face, f"({actor.name})" if actor.name else ""]))
    proposed = f", {session.proposed:,} of them proposed" if session.proposed else ""
    tools = ", ".join(f"{name} {count}" for name, count in session.tools.items() if name)
    return one_line(
        f"{actor.session}  {_moment(session.last)}  {who}  {session.writes:,} writes{proposed} ({tools}) "
        f"of {session.files:,} files, {session.reads:,} pages read"
    )


def write_lines(write: WriteActivity) -> list[str]:
    """A write of a session."""
    access = write.access
    place = f"proposal {access.proposal}" if access.proposal else access.commit[:10] or "not committed"
    lines = [one_line(f"{_moment(access.when)}  {place}  {access.actor.tool}  {write.subject or _paths(write.paths)}")]
    return [*lines, one_line(f"    after reading {_paths(write.read)}")] if write.read else lines


def undo_lines(results: Mapping[str, UndoReceipt]) -> list[str]:
    """The result of an undo."""
    lines: list[str] = []
    for receipt in results.values():
        paths = _paths([address.path for address in (*receipt.written, *receipt.removed)])
        commit = f"  commit {receipt.commit[:12]}" if receipt.commit else ""
        count = len(receipt.undone) + receipt.uncommitted
        what = receipt.undone[0][:12] if count == len(receipt.undone) == 1 else amount(count, "write")
        lines.append(one_line(f"Undone {what}: {paths}{commit}" if paths else "Nothing of it is left to undo."))
    return lines


def _paths(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - MAX_PATHS:,} more" if len(paths) > MAX_PATHS else ""
    return f"{', '.join(paths[:MAX_PATHS])}{more}"


def _moment(when: float) -> str:
    return iso_timestamp(when)[:16].replace("T", " ")
