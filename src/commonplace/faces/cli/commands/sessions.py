"""Commands on sessions: what they wrote, who wrote when and from where, and taking writes back."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from commonplace.domain.activity import KEPT_DAYS, Access
from commonplace.domain.errors import ConfigError, InvalidInputError
from commonplace.domain.json import JsonObject
from commonplace.faces.activity_output import session_json, session_line, undo_json, undo_lines, write_json, write_lines
from commonplace.faces.call_log import moment
from commonplace.faces.cli.output import shown
from commonplace.faces.cli.session import Session
from commonplace.services import activity
from commonplace.services.services import Services

ACTIVITY_JSON = """As JSON: `{"sessions": [..]}`, each with `session`, `face`, `client`, `caller`, `name`,
`collections`, `first`, `last`, `writes`, `proposed`, `files`, `reads` and `tools` (writes by tool). With
`--session`: `{"session", "writes": [..]}`, oldest first, each with `collection`, `when`, `tool`, `commit`,
`proposal`, `subject`, `files`, `read_before`, and with `--diff` `diff`. Dates are in ISO 8601 UTC."""


def activity_command(
    session: Session,
    days: Annotated[
        int, typer.Option(metavar="N", min=1, max=KEPT_DAYS, help="Number of days, up to now.")
    ] = KEPT_DAYS,
    name: Annotated[str, typer.Option("--session", metavar="ID", help="The writes of this session.")] = "",
    *,
    diff: Annotated[bool, typer.Option("--diff", help="With --session: what each write changed.")] = False,
) -> None:
    """See what agents and people wrote, session by session.

    Examples:
        commonplace activity
        commonplace activity --days 1
        commonplace activity --session 0f3a5c7e9b1d2f40
        commonplace activity --session 0f3a5c7e9b1d2f40 --diff

    A session is a connection of an agent, a key without sessions, or a terminal. Names, times and commits are kept for
    30 days on this machine, and contents never. `commonplace undo` takes writes back.
    """
    if diff and not name:
        raise ConfigError("--diff is about one session.", kind="option", hint="Name it: --session ID.")
    with session.services_as_is() as services:
        if name:
            _show(session, services, name, diff=diff)
        else:
            _list(session, services, days)


def _list(session: Session, services: Services, days: int) -> None:
    activities = activity.sessions(services, days)
    if session.out.as_json:
        session.out.json({"sessions": [session_json(session_activity) for session_activity in activities]})
        return
    for session_activity in activities:
        session.out.line(shown(session_line(session_activity)))
    if not activities:
        session.out.message("Nothing was written.")


def _show(session: Session, services: Services, name: str, *, diff: bool) -> None:
    activities = activity.writes_of(services, name)
    diffs = [activity.diff_of(services, write_activity) if diff else None for write_activity in activities]
    if session.out.as_json:
        rows = [write_json(*pair) for pair in zip(activities, diffs, strict=True)]
        session.out.json({"session": name, "writes": [*rows]})
        return
    for write_activity, text in zip(activities, diffs, strict=True):
        for line in (*write_lines(write_activity), *(text.removesuffix("\n").split("\n") if text else ())):
            session.out.line(shown(line))


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


UNDO_JSON = """As JSON: `{"undone": [{"collection", "commit", "commits", "written", "removed", "uncommitted"}]}`;
`commit` is "" if nothing was left to take back, or writes are not committed; `uncommitted` counts the writes that
were no commits."""


def undo_command(
    session: Session,
    commits: Annotated[list[str] | None, typer.Argument(metavar="[COMMIT]...", hidden=True)] = None,
    name: Annotated[str, typer.Option("--session", metavar="ID", help="All writes of this session.")] = "",
    *,
    pages: Annotated[
        list[str] | None, typer.Option("--page", metavar="PATH", help="Only this file; repeated: several.")
    ] = None,
    message: Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="The commit's message.")] = "",
) -> None:
    """Take writes back, as one new commit; later writes stay.

    Examples:
        commonplace undo 1a2b3c4
        commonplace undo --session 0f3a5c7e9b1d2f40
        commonplace undo --session 0f3a5c7e9b1d2f40 --page notes/idea.md

    COMMIT is one of `commonplace activity --session ID` or `commonplace log`. Each file is merged: what the writes
    changed is taken back, and what others wrote since stays. Where both changed the same lines nothing is written, and
    the lines are shown. An undo is a commit, and can be undone itself.
    """
    if bool(commits) == bool(name):
        raise InvalidInputError(
            "What is to be undone? Give commits, or one session.", kind="argument", hint="Run: commonplace activity"
        )
    paths = [session.relative(page) for page in pages or ()]
    with session.services_for_writing(commit=True) as services:
        if name:
            results = activity.undo_session(services, name, paths, message)
        else:
            results = activity.undo_commits(services, commits or (), paths, message)
        if session.out.as_json:
            session.out.json(undo_json(results))
            return
        for line in undo_lines(results):
            session.out.line(shown(line))
