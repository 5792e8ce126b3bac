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
        commonplace mv notes/idea notes/plan --dry-run

    A NEW that ends in a slash is a folder, into which the page goes under its name. Relative links in the page are
    rewritten as well. Several pages and folders move at once with the tool `move` of an MCP client.
    """
    name = session.relative(page).rstrip("/").rpartition("/")[2]
    new = f"{target}{name}" if target.endswith("/") else target
    write.command(session, page, how=EditOptions(rename=new), consent=consent)
