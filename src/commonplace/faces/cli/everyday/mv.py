"""`commonplace mv`: move or rename a page.

As JSON: as `write --rename`.
"""

from __future__ import annotations

from typing import Annotated

import typer

from commonplace.faces.cli.commands import write
from commonplace.faces.cli.commands.write import CommitOptions, EditOptions
from commonplace.faces.cli.options import PageArgument
from commonplace.faces.cli.session import Session


def command(
    session: Session,
    page: PageArgument,
    target: Annotated[str, typer.Argument(metavar="NEW", hidden=True)],
    *,
    consent: CommitOptions,
) -> None:
    """Move or rename a page, and rewrite every link to it.

    Examples:
        commonplace mv idea notes/idea
        commonplace mv notes/idea archive/
        commonplace mv notes/idea plan --dry-run

    A NEW without a slash and without .md is a new name: the page stays in its folder (./plan is at the top). With a
    slash at its end it is a folder, into which the page goes under its name; otherwise it is a path. Relative links in
    the page are rewritten as well, and links to another page of that name. Several pages and folders move at once with
    the tool `move` of an MCP client.
    """
    write.command(session, page, how=EditOptions(rename=target), consent=consent)
