"""`commonplace diff`: what changed in a page.

As JSON: `{"collection", "path", "from", "to", "diff"}`; `to` is "" for the page as it is now, `diff` "" where nothing
changed.
"""

from __future__ import annotations

from typing import Annotated

import typer

from commonplace.domain.addresses import Address
from commonplace.faces.cli.options import PageArgument
from commonplace.faces.cli.output import show_diff
from commonplace.faces.cli.pages import addressed, located
from commonplace.faces.cli.session import Session
from commonplace.services import history
from commonplace.services.collections import Collection


def command(
    session: Session,
    page: PageArgument,
    from_: Annotated[
        str, typer.Option("--from", metavar="REV", help="The older side; default: the last commit.", show_default=False)
    ] = "",
    to: Annotated[
        str, typer.Option("--to", metavar="REV", help="The newer side; default: the page as it is now.")
    ] = "",
) -> None:
    """See what changed in a page: since the last commit, or between two commits.

    Examples:
        commonplace diff notes/idea
        commonplace diff notes/idea --from 1a2b3c4
        commonplace diff notes/idea --from 1a2b3c4 --to 5d6e7f8 | less

    REV is a commit, or a revision of the page, by 7 digits or more; `commonplace log PAGE` lists them. A page that was
    deleted is named by its path.
    """
    with session.opened() as collections:
        collection, address = addressed(collections, session.relative(page))
        old = from_ or collection.store.history.head()
        text = history.diff(collection, address, old, to)
        if not text and collection.store.stat(address) is None and not history.log(collection, address, limit=1):
            located(collections, session.relative(page))  # raises an error that names the nearest pages
        if session.out.as_json:
            session.out.json({"collection": collection.name, "path": address.path, "from": old, "to": to, "diff": text})
            return
        show_diff(session.out, text)
        if not text:
            session.out.message(_unchanged(collection, address, from_))


def _unchanged(collection: Collection, address: Address, given: str) -> str:
    if given:
        return "No difference."
    last = history.log(collection, address, limit=1)
    return f"Nothing since commit {last[0].id[:10]}; see what it changed: --from REV." if last else "No difference."
