"""`commonplace status`: where the folders and their indexes stand.

As JSON: `{"collections": [{"collection", "commit", "message", "uncommitted": [PATH], "documents", "generation",
"read_only", "docs_trees": [{"generator", "config", "folder", "mounts": [{"url", "folder"}], …}], "left_out":
{SUFFIX: N}, "canvases": N}], "residents": [{"process", "sessions"}]}`; `commit` and `message` are "" without Git,
`read_only` says why nothing can be committed, "" when it can. An MCP server names `commit` and `generation` of each
collection in the `_meta` of its answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.domain.addresses import Address
from commonplace.domain.json import Json
from commonplace.domain.site_recognition import NOT_READ
from commonplace.domain.sites import SiteTree, Surroundings, as_json
from commonplace.domain.words.amounts import amount
from commonplace.faces.cli.output import BOLD, FAINT, INDENT, left_out_message, one_line
from commonplace.faces.cli.residents import running_residents
from commonplace.faces.cli.session import Session
from commonplace.services import history
from commonplace.services.collections import Collection
from commonplace.services.history import CollectionState

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


def command(session: Session) -> None:
    """See which commit and which state of the index answers come from.

    Examples:
        commonplace status
        commonplace status -C ~/notes --json

    What changed since the last command is taken in first, so the index is that of the files as they are now.
    """
    with session.opened() as collections:
        statuses = [_status(collection) for collection in collections]
    if session.out.as_json:
        residents: list[Json] = [{"process": row.process, "sessions": row.sessions} for row in running_residents()]
        session.out.json({"collections": [_json(status) for status in statuses], "residents": residents})
        return
    for status in statuses:
        _show(session, status)
    for resident in running_residents():
        session.out.line(resident.text)


def _status(collection: Collection) -> _FolderStatus:
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


def _json(status: _FolderStatus) -> dict[str, Json]:
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


def _show(session: Session, item: _FolderStatus) -> None:
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
