"""`commonplace restore`: a page as it was, as a new commit.

As JSON: `{"collection", "path", "revision", "commit", "from", "action"}`; `action` is `created`, `updated` or
`unchanged`.
"""

from __future__ import annotations

from typing import Annotated

import typer

from commonplace.faces.cli.options import Page
from commonplace.faces.cli.output import BOLD, FAINT
from commonplace.faces.cli.pages import addressed
from commonplace.faces.cli.session import Session
from commonplace.services import history
from commonplace.services.writing import Intent


def command(
    session: Session,
    page: Page,
    at: Annotated[str, typer.Option(metavar="REV", help="A commit or revision, 7 digits or more; see log PAGE.")],
    *,
    message: Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="The commit's message.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Also where the page holds text that no commit has.")] = False,
) -> None:
    """Bring a page back as it was at a commit, as a new commit; nothing of the history goes.

    Examples:
        commonplace restore notes/idea --at 1a2b3c4
        commonplace restore notes/deleted.md --at 9f8e7d6
        commonplace restore notes/idea --at 5d6e7f8 -m "Take back the rewrite"

    A page that was deleted is named by its path. Text that was never committed would be lost for good: then the
    command refuses, and --force says that it may go.
    """
    with session.opened_for_writing(commit=True) as collections:
        collection, address = addressed(collections, page.removeprefix("./"))
        restored = history.restore(collection, address, at, Intent(message=message), force=force)
        written, out = restored.written, session.out
        if out.as_json:
            out.json(
                {
                    "collection": collection.name,
                    "path": address.path,
                    "revision": written.revision,
                    "commit": written.commit,
                    "from": at,
                    "action": restored.action,
                }
            )
            return
        marks = "  ".join(
            [f"revision {written.revision[:10]}", *([f"commit {written.commit[:10]}"] if written.commit else [])]
        )
        verb = "Unchanged" if restored.action == "unchanged" else "Restored"
        out.line(f"{verb} {out.styled(BOLD, address.path)}  {out.styled(FAINT, marks)}")
