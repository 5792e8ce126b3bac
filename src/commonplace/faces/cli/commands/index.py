"""`commonplace index`: bring what is derived from the pages up to date.

As JSON: `{"collections": [{"collection", "documents", "sections", "links", "tags", "types": {TYPE: N}, "added",
"updated", "removed", "unreadable": [{"path", "reason"}], "seconds"}]}`, without the last five under `--status`.
"""

from __future__ import annotations

import time
from typing import Annotated

import typer

from commonplace.domain.json import Json
from commonplace.domain.query import Counts, SyncReport
from commonplace.domain.words.amounts import amount
from commonplace.faces.cli.options import exclusive
from commonplace.faces.cli.output import BOLD, left_out_message, one_line, progress_bar
from commonplace.faces.cli.session import Session
from commonplace.services.collections import Collection
from commonplace.services.searches import semantic_search_off


def command(
    session: Session,
    *,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Build it anew from the files.")] = False,
    embed: Annotated[bool, typer.Option("--embed", help="And embed what is new, for searching by meaning.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Only show what it contains now.")] = False,
) -> None:
    """Bring the index up to date and show what it contains.

    Examples:
        commonplace index
        commonplace index --embed
        commonplace index --status
        commonplace index --rebuild -C ~/notes

    Every other command does this by itself; an index may be deleted at any moment. Ctrl-C leaves what was indexed so
    far, and the next command goes on from there.
    """
    exclusive(**{"--rebuild": rebuild, "--status": status})
    exclusive(**{"--embed": embed, "--status": status})
    rows: list[Json] = []
    with session.opened_as_is() as collections:
        for collection in collections:
            report, seconds = (None, 0.0) if status else _sync(session, collection, rebuild=rebuild)
            if embed:
                _embed(session, collection)
            counts = collection.index.counts()
            if session.out.as_json:
                rows.append(_json(collection, counts, report, seconds))
            else:
                _show(session, collection, counts, report, seconds)
    if session.out.as_json:
        session.out.json({"collections": rows})


def _sync(session: Session, collection: Collection, *, rebuild: bool) -> tuple[SyncReport, float]:
    began = time.monotonic()
    with progress_bar(f"Indexing {collection.name}", session.out.terminal) as progress:
        report = collection.index.sync(progress, afresh=rebuild)
    return report, time.monotonic() - began


def _embed(session: Session, collection: Collection) -> None:
    if collection.semantic_index is None:
        raise semantic_search_off()
    with progress_bar(f"Embedding {collection.name}", session.out.terminal) as progress:
        collection.semantic_index.embed(progress)


def _show(session: Session, collection: Collection, counts: Counts, report: SyncReport | None, seconds: float) -> None:
    out = session.out
    found_counts = {"page": counts.documents, "section": counts.sections, "link": counts.links, "tag": counts.tags}
    totals = ", ".join(amount(count, noun) for noun, count in found_counts.items())
    changed = ""
    if report:
        changed = f"; {report.added:,} added, {report.updated:,} updated, {report.removed:,} removed in {seconds:.1f} s"
    out.line(f"{out.styled(BOLD, one_line(collection.name))}: {totals}{changed}")
    for path, reason in report.unreadable if report else ():
        out.message(f"{path}: {reason}")
    left_out = collection.index.surroundings().left_out
    if report and left_out:
        out.message(left_out_message(left_out))


def _json(collection: Collection, counts: Counts, report: SyncReport | None, seconds: float) -> dict[str, Json]:
    totals: dict[str, Json] = {
        "collection": collection.name,
        "documents": counts.documents,
        "sections": counts.sections,
        "links": counts.links,
        "tags": counts.tags,
        "types": dict(counts.types),
    }
    if report is None:
        return totals
    unreadable: list[Json] = [{"path": path, "reason": reason} for path, reason in report.unreadable]
    return totals | {
        "added": report.added,
        "updated": report.updated,
        "removed": report.removed,
        "unreadable": unreadable,
        "seconds": round(seconds, 3),
    }
