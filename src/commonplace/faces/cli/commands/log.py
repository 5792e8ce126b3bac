"""`commonplace log`: who changed what, and what exactly.

As JSON: `{"path": PATH or null, "commits": [{"collection", "commit", "author", "email", "with", "through", "date",
"message"}]}` with dates in ISO 8601 UTC; `with` are the programs and agents that the message credits, and `through`
the MCP clients, with their versions, through which it was written, if any. With `--diff`
`{"path", "from", "to", "diff"}`, `to` being "" for the page as it is now.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Commit, credited, people_of, through
from commonplace.domain.errors import ConfigError
from commonplace.domain.json import Json
from commonplace.domain.records import iso_timestamp
from commonplace.faces.cli.options import MAX_LIMIT, OptionalPageArgument
from commonplace.faces.cli.output import BOLD, FAINT, INDENT, Output, one_line, show_diff
from commonplace.faces.cli.pages import addressed, located
from commonplace.faces.cli.session import Session
from commonplace.services import history
from commonplace.services.collections import Collection
from commonplace.services.deletions import cut_off


def command(
    session: Session,
    page: OptionalPageArgument = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=MAX_LIMIT, metavar="N", help="Maximum number of commits.")
    ] = 20,
    offset: Annotated[
        int, typer.Option("--offset", min=0, metavar="N", help="Number of newest commits to skip.", show_default=False)
    ] = 0,
    diff: Annotated[
        str | None, typer.Option(metavar="A[..B]", help="What changed in PAGE from A to B, or to how it is now.")
    ] = None,
) -> None:
    """See who changed a page when, and what.

    Examples:
        commonplace log
        commonplace log notes/idea --limit 5
        commonplace log notes/idea --diff 1a2b3c4
        commonplace log notes/idea --diff 1a2b3c4..5d6e7f8 | less

    Without PAGE: the commits of the whole folder. A page that was deleted is named by its path. The commits before a
    page was renamed are shown with the path that it had.
    """
    if diff is not None and page is None:
        raise ConfigError("--diff is about one page.", kind="option", hint="Name it: log PAGE --diff A..B.")
    # The commits of a folder are known without its index, whose first update may take minutes.
    with session.opened() if page else session.opened_as_is() as collections:
        if not page:
            commits = _commits(collections.members, None, offset + limit)
            _show(session, None, commits[offset:], collections.members)
            return
        collection, address = addressed(collections, session.relative(page))
        if diff is not None:
            _show_diff(session, collection, address, diff)
            return
        commits = _commits([collection], address, offset + limit)
        if not commits and not collection.index.record(address):
            located(collections, page)  # no such page has existed: the error names the nearest pages
        _show(session, address, commits[offset:], [collection])


def _commits(collections: Sequence[Collection], address: Address | None, count: int) -> list[tuple[Collection, Commit]]:
    """The newest commits of these collections, or of a page."""
    commits = [
        (collection, commit) for collection in collections for commit in history.log(collection, address, limit=count)
    ]
    if len(collections) > 1:  # a single history is in the right order even if a clock was wrong
        commits.sort(key=lambda pair: -pair[1].when)
    return commits[:count]


def _show(
    session: Session,
    address: Address | None,
    found_commits: list[tuple[Collection, Commit]],
    collections: Sequence[Collection],
) -> None:
    out = session.out
    if out.as_json:
        commits: list[Json] = [_commit_json(*pair, of_page=address is not None) for pair in found_commits]
        out.json({"path": address.path if address else None, "commits": commits})
        return
    for _, commit in found_commits:
        out.line(_commit_line(out, commit, address), INDENT)
    if not found_commits:
        out.message("No commits.")
    out.message(cut_off([collection.store for collection in collections]))


def _commit_line(out: Output, commit: Commit, page: Address | None) -> str:
    subject = commit.message.strip().partition("\n")[0]
    day = iso_timestamp(commit.when)[:16].replace("T", " ")
    name = out.styled(FAINT, f"{day}  {one_line(people_of(commit))}")
    renamed = [address.path for address in commit.addresses if page and address != page]
    older = out.styled(FAINT, f"  (as {one_line(renamed[0])})") if renamed else ""
    return f"{out.styled(BOLD, commit.id[:10])}  {name}  {one_line(subject)}{older}"


def _show_diff(session: Session, collection: Collection, address: Address, revisions: str) -> None:
    out = session.out
    first, _, last = revisions.partition("..")
    old, new = history.revision_at(collection, first), history.revision_at(collection, last)
    text = history.diff(collection, address, old, new)
    if out.as_json:
        out.json({"path": address.path, "from": old, "to": new, "diff": text})
    else:
        show_diff(out, text)


def _commit_json(collection: Collection, commit: Commit, *, of_page: bool) -> dict[str, Json]:
    """A commit; in a page's history, with the path that the page had in it."""
    return {
        "collection": collection.name,
        "commit": commit.id,
        "author": commit.author.name,
        "email": commit.author.email,
        **({"with": [*programs]} if (programs := credited(commit.message)) else {}),
        **({"through": [*clients]} if (clients := through(commit.message)) else {}),
        "date": iso_timestamp(commit.when),
        "message": commit.message,
        **({"path": commit.addresses[0].path} if of_page else {}),
    }
