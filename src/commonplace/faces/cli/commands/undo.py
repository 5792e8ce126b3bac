"""`commonplace undo`: takes writes back as one new commit.

As JSON: `{"undone": [{"collection", "commit", "commits", "written", "removed", "uncommitted"}]}`; `commit` is ""
if nothing was left to take back, or writes are not committed; `uncommitted` counts the writes that were no commits.
"""

from __future__ import annotations

from typing import Annotated

import typer

from commonplace.domain.errors import InvalidInputError
from commonplace.faces.activity_output import undo_json, undo_lines
from commonplace.faces.cli.output import shown
from commonplace.faces.cli.session import Session
from commonplace.services import activity


def command(
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
