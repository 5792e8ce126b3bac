"""`commonplace audit`: the log of writes."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from commonplace.domain.activity import Access
from commonplace.domain.json import JsonObject
from commonplace.faces.call_log import moment
from commonplace.faces.cli.output import shown
from commonplace.faces.cli.session import Session

MAX_SHOWN_FILES = 3
"""Maximum number of files on a line."""


AUDIT_JSON = """As JSON: `{"writes": [..]}`, oldest first, each with `when` (ISO 8601 UTC), `caller`, `key`,
`address`, `face`, `tool`, `client`, `base`, `commit`, `proposal` and `files`."""


def audit_command(
    session: Session,
    days: Annotated[int, typer.Option(metavar="N", min=1, help="Number of days, up to now.")] = 30,
    caller: Annotated[str, typer.Option(metavar="NAME", help="Only writes of this key or person, by name or id.")] = "",
) -> None:
    """Read the log of writes: who wrote, when, what, from where.

    Examples:
        commonplace audit
        commonplace audit --days 1 --caller laptop
        commonplace audit --json

    The log is in the folder `audit` of the state folder, one file a day. It is only appended to, and no file of it is
    removed. It has names, times, addresses, paths and commits, and never contents.
    """
    log = session.dependencies.activity(session.settings)
    writes = [
        access
        for access in log.writes(time.time() - days * 86_400)
        if not caller or caller in {access.actor.name, access.actor.caller}
    ]
    if session.out.as_json:
        session.out.json({"writes": [_row(access) for access in writes]})
        return
    for access in writes:
        session.out.line(shown(_line(access)))
    if not writes:
        session.out.message("Nothing was written.")


def _row(access: Access) -> JsonObject:
    actor = access.actor
    return {
        "when": moment(access.when),
        "caller": actor.name,
        "key": actor.caller,
        "address": actor.address,
        "face": actor.face,
        "tool": actor.tool,
        "client": actor.client,
        "base": access.name,
        "commit": access.commit,
        "proposal": access.proposal,
        "files": list(access.paths),
    }


def _line(access: Access) -> str:
    actor = access.actor
    who = actor.name or actor.caller or "without a key"
    files = ", ".join(access.paths[:MAX_SHOWN_FILES])
    more = f" and {len(access.paths) - MAX_SHOWN_FILES} more" if len(access.paths) > MAX_SHOWN_FILES else ""
    at = f" from {actor.address}" if actor.address else ""
    commit = access.commit[:8] or (f"proposal {access.proposal}" if access.proposal else "no commit")
    return f"{moment(access.when)[:19]}Z  {who}{at}  {actor.face} {actor.tool}  {access.name}  {commit}  {files}{more}"
