"""Commands on sessions: what they wrote, and taking writes back."""

from __future__ import annotations

from typing import Annotated

import typer

from commonplace.domain.activity import KEPT_DAYS
from commonplace.domain.errors import ConfigError, InvalidInputError
from commonplace.faces.activity_output import session_json, session_line, undo_json, undo_lines, write_json, write_lines
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
