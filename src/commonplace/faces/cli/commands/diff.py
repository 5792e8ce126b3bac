"""`commonplace diff`: what changed in a page, or everything that is not committed.

As JSON: `{"collection", "path", "from", "to", "diff"}`; `to` is "" for the page as it is now, `diff` "" where nothing
changed. Without a page: `{"uncommitted": [{"collection", "path", "change", "from", "to", "diff"}]}`; `change` is
`modified`, `new` or `deleted`.
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer

from commonplace.domain.addresses import Address
from commonplace.domain.errors import ConfigError
from commonplace.domain.json import Json
from commonplace.faces.cli.options import OptionalPageArgument
from commonplace.faces.cli.output import show_diff
from commonplace.faces.cli.pages import addressed, located
from commonplace.faces.cli.session import Session
from commonplace.services import history
from commonplace.services.collections import Collection
from commonplace.services.history import UncommittedDocument


def command(
    session: Session,
    page: OptionalPageArgument = None,
    *,
    from_: Annotated[
        str, typer.Option("--from", metavar="REV", help="The older side; default: the last commit.", show_default=False)
    ] = "",
    to: Annotated[
        str, typer.Option("--to", metavar="REV", help="The newer side; default: the page as it is now.")
    ] = "",
) -> None:
    """See what changed in a page: since the last commit, or between two commits. Without PAGE: all that is uncommitted.

    Examples:
        commonplace diff
        commonplace diff notes/idea
        commonplace diff notes/idea --from 1a2b3c4
        commonplace diff notes/idea --from 1a2b3c4 --to 5d6e7f8 | less

    REV is a commit, or a revision of the page, by 7 digits or more (`commonplace log PAGE` lists them), or a moment
    such as yesterday, HEAD~1 or a tag. A page that was deleted is named by its path.
    """
    if page is None:
        if from_ or to:
            raise ConfigError("Which page? --from and --to go with PAGE.", kind="option", hint="Name the page first.")
        _show_uncommitted(session)
        return
    with session.opened() as collections:
        collection, address = addressed(collections, session.relative(page))
        old = history.revision_at(collection, from_) or collection.store.history.head()
        to = history.revision_at(collection, to)
        text = history.diff(collection, address, old, to)
        if not text and collection.store.stat(address) is None and not history.log(collection, address, limit=1):
            located(collections, session.relative(page))  # raises an error that names the nearest pages
        if session.out.as_json:
            session.out.json({"collection": collection.name, "path": address.path, "from": old, "to": to, "diff": text})
            return
        show_diff(session.out, text)
        if not text:
            session.out.message(_unchanged(collection, address, from_))


def _show_uncommitted(session: Session) -> None:
    with session.opened() as collections:
        found_rows = [(collection, head, row) for collection in collections for head, row in _uncommitted(collection)]
    if session.out.as_json:
        rows: list[Json] = [
            {
                "collection": collection.name,
                "path": row.address.path,
                "change": row.change,
                "from": head,
                "to": "",
                "diff": row.diff,
            }
            for collection, head, row in found_rows
        ]
        session.out.json({"uncommitted": rows})
        return
    for _, _, row in found_rows:
        show_diff(session.out, row.diff)
    counts = Counter(row.change for _, _, row in found_rows)
    report = ", ".join(f"{counts[change]:,} {change}" for change in ("modified", "new", "deleted") if counts[change])
    session.out.message(f"Not committed: {report}." if report else "Everything is committed.")


def _uncommitted(collection: Collection) -> list[tuple[str, UncommittedDocument]]:
    head = collection.store.history.head()
    return [(head, document) for document in history.uncommitted(collection)]


def _unchanged(collection: Collection, address: Address, given_text: str) -> str:
    if given_text:
        return "No difference."
    last = history.log(collection, address, limit=1)
    return f"Nothing since commit {last[0].id[:10]}; see what it changed: --from REV." if last else "No difference."
