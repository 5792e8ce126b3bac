"""Commands on the history of pages: who changed what, and bringing back what was."""

from __future__ import annotations

from collections import Counter
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
from commonplace.services.history import UncommittedDocument

LOG_JSON = """As JSON: `{"path": PATH or null, "commits": [{"collection", "commit", "author", "email", "with",
"through", "date", "message"}]}` with dates in ISO 8601 UTC; `with` are the programs and agents that the message
credits, and `through` the MCP clients, with their versions, through which it was written, if any. With `--diff`
`{"path", "from", "to", "diff"}`, `to` being "" for the page as it is now."""


def log_command(
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


DIFF_JSON = """As JSON: `{"collection", "path", "from", "to", "diff"}`; `to` is "" for the page as it is now, `diff`
"" where nothing changed. Without a page: `{"uncommitted": [{"collection", "path", "change", "from", "to",
"diff"}]}`; `change` is `modified`, `new` or `deleted`."""


def diff_command(
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
