"""`commonplace restore`: a page as it was at a commit, or what the trash keeps; without a page, the list of that."""

from __future__ import annotations

from typing import Annotated

import typer

from commonplace.domain.addresses import Address, parse_address, parse_document_address
from commonplace.domain.changes import RetainedCopy, TrashItem, recording_retained
from commonplace.domain.errors import ConfigError
from commonplace.domain.json import Json
from commonplace.domain.records import iso_timestamp
from commonplace.faces.cli.options import OptionalPageArgument
from commonplace.faces.cli.output import BOLD, FAINT, one_line
from commonplace.faces.cli.pages import addressed, path_of
from commonplace.faces.cli.session import Session
from commonplace.faces.write_output import (
    day,
    in_no_commit,
    new_finding_json,
    new_finding_lines,
    retained_line,
    retained_list,
)
from commonplace.services import history
from commonplace.services.collections import Collection, Collections
from commonplace.services.findings import findings_of_writes
from commonplace.services.history import RestoreReport
from commonplace.services.writes import WriteRequest
from commonplace.services.writes.recorded import RecordedWrites, recording_writes

RESTORE_JSON = """As JSON: `{"collection", "path", "revision", "commit", "from", "action", "kept": [..]}`; `action`
is `created`, `updated` or `unchanged`, `from` the commit or the item of the trash, and `kept`, where `--force` has
replaced uncommitted text, says where that is. The list: `{"items": [{"collection", "path", "revision", "size",
"loss", "when", "until"}]}`, newest first, with the size in bytes, `loss` `deleted` or `replaced`, and dates in ISO
8601 UTC."""


def restore_command(
    session: Session,
    page: OptionalPageArgument = None,
    at: Annotated[
        str, typer.Option(metavar="WHEN", help="A date, 'yesterday', HEAD~1, a commit, tag or revision.")
    ] = "",
    *,
    to: Annotated[
        str, typer.Option("--to", metavar="PATH", help="Bring what the trash has back to this path instead.")
    ] = "",
    message: Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="The commit's message.")] = "",
    force: Annotated[
        bool, typer.Option("--force", help="Replace the page's text, also where no commit has it.")
    ] = False,
) -> None:
    """Bring a page back from a commit or from the trash; without PAGE: list the trash.

    Examples:
        commonplace restore
        commonplace restore notes/deleted.md
        commonplace restore notes/deleted.md --to notes/again.md
        commonplace restore notes/idea --at 1a2b3c4
        commonplace restore notes/idea --at yesterday -m "Take back the rewrite"

    The trash keeps for 30 days what was deleted or replaced and is in no commit. PAGE is a path, an id, a revision that
    the list shows, or a file's name. Without --at, a page that is gone comes back as it last was. What comes from the
    trash overwrites a file only with --force. With --at WHEN the page is written as it was, as a new commit; where it
    holds text that was never committed the command refuses, and --force sends that text to the trash.
    """
    if page is None:
        if at or to:
            raise ConfigError("Which page? --at and --to go with PAGE.", kind="option", hint="Name the page first.")
        with session.opened_as_is() as collections:
            _list(session, collections)
        return
    _bring_back(session, page, (at, to, message), force=force)


def _bring_back(session: Session, page: str, how: tuple[str, str, str], *, force: bool) -> None:
    """Restore a page or file; `how` has the options --at, --to and --message."""
    at, to, message = how
    with (
        session.opened_for_writing(commit=True) as collections,
        recording_retained() as copies,
        recording_writes() as done,
    ):
        collection, reference = collections.members[0], session.relative(page).removeprefix("./")
        item = history.trashed(collection, reference, at)
        restored, source = history.restore_last(
            collection,
            (reference, at),
            lambda: addressed(collections, reference)[1],
            to=_target(item, session.relative(to)) if to else None,
            intent=WriteRequest(message=message),
            force=force,
        )
        _show_restored(session, collections, (restored, done), source, in_no_commit(copies))


def _target(item: TrashItem | None, to: str) -> Address:
    return parse_document_address(to) if item is None or item.address.is_document else parse_address(to)


def _list(session: Session, collections: Collections) -> None:
    out = session.out
    items = [
        (collection, item)
        for collection in collections
        for item in (collection.store.trash.items() if collection.store.trash else ())
    ]
    items.sort(key=lambda pair: -pair[1].when)
    if out.as_json:
        rows: list[Json] = [_item_json(collection, item) for collection, item in items]
        out.json({"items": rows})
        return
    for collection, item in items:
        path = path_of(collections, collection, item.address)
        when = iso_timestamp(int(item.when))[:16].replace("T", " ")
        said = f"{item.revision[:10]}  {item.loss} {when}  {item.size:,} bytes  kept until {day(item.until)}"
        out.line(f"{out.styled(BOLD, path)}  {out.styled(FAINT, said)}")
    if not items:
        out.message("The trash is empty.")


def _item_json(collection: Collection, item: TrashItem) -> dict[str, Json]:
    return {
        "collection": collection.name,
        "path": item.address.path,
        "revision": item.revision,
        "size": item.size,
        "loss": item.loss,
        "when": iso_timestamp(int(item.when)),
        "until": iso_timestamp(item.until),
    }


def _show_restored(
    session: Session,
    collections: Collections,
    done: tuple[RestoreReport, RecordedWrites],
    source: str,
    copies: list[RetainedCopy],
) -> None:
    restored, recorded = done
    written, out = restored.written, session.out
    new = findings_of_writes(collections, recorded)
    if out.as_json:
        out.json(
            {
                "collection": collections.members[0].name,
                "path": written.address.path,
                "revision": written.revision,
                "commit": written.commit,
                "from": source,
                "action": restored.action,
                **({"kept": retained_list(copies)} if copies else {}),
                **new_finding_json(new),
            }
        )
        return
    marks = "  ".join(
        [f"revision {written.revision[:10]}", *([f"commit {written.commit[:10]}"] if written.commit else [])]
    )
    verb = "Unchanged" if restored.action == "unchanged" else "Restored"
    out.line(f"{verb} {out.styled(BOLD, written.address.path)}  {out.styled(FAINT, marks)}")
    for copy in copies:
        out.line(out.styled("", retained_line(copy)))
    for line in new_finding_lines(new):
        out.line(one_line(line))
