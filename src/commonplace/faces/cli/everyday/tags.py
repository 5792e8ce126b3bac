"""`commonplace tags`: the tags of all pages, with how many pages have each.

As JSON: `{"total", "tags": [{"tag", "documents"}]}`.
"""

from __future__ import annotations

from typing import Annotated

import typer

from commonplace.faces.cli.output import BOLD, FAINT
from commonplace.faces.cli.session import Session
from commonplace.services.listing import list_tags


def command(
    session: Session,
    prefix: Annotated[str, typer.Argument(metavar="PREFIX", hidden=True)] = "",
) -> None:
    """List tags, the commonest first.

    Examples:
        commonplace tags
        commonplace tags project/
        commonplace tags --json
    """
    out = session.out
    with session.opened() as collections:
        tags = list_tags(collections.members, prefix=prefix.lstrip("#"))
    if out.as_json:
        out.json({"total": len(tags), "tags": [{"tag": tag, "documents": count} for tag, count in tags]})
        return
    width = max((len(f"{count:,}") for _, count in tags), default=0)
    for tag, count in tags:
        if out.terminal.interactive:
            out.line(f"{out.styled(FAINT, f'{count:>{width},}')}  {out.styled(BOLD, f'#{tag}')}")
        else:
            out.line(f"{count}\t{out.styled('', tag)}")
    if not tags:
        out.message("No such tags." if prefix else "No tags.")
