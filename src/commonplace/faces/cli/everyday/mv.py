"""`commonplace mv`: move or rename a page or a folder.

As JSON: as `write --rename`. For a folder, `path` is its new path with a slash at the end, `id` and `revision` are "",
and `moved` has the new path of each file by its old one; `ignored` has the files that stay because ignore files
exclude them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import typer

from commonplace.domain.addresses import Address
from commonplace.domain.errors import ConfigError
from commonplace.domain.findings import NewFindings
from commonplace.domain.json import Json
from commonplace.domain.words.amounts import amount
from commonplace.faces.cli.commands import write
from commonplace.faces.cli.commands.write import CommitOptions, EditOptions, paths
from commonplace.faces.cli.options import PageArgument
from commonplace.faces.cli.output import BOLD
from commonplace.faces.cli.session import Session
from commonplace.faces.write_output import (
    ignored_lines,
    kept_title_lines,
    moved_link_lines,
    named_pages,
    new_finding_json,
    new_finding_lines,
    not_rewritten_lines,
    own_titles,
)
from commonplace.services import writes
from commonplace.services.collections import Collection
from commonplace.services.findings import findings_of_writes
from commonplace.services.writes import WriteRequest
from commonplace.services.writes.overwrites import RewrittenLinks
from commonplace.services.writes.recorded import recording_writes
from commonplace.services.writes.renames import links_of


def command(
    session: Session,
    page: PageArgument,
    target: Annotated[str, typer.Argument(metavar="NEW", hidden=True)],
    *,
    consent: CommitOptions,
) -> None:
    """Move or rename a page or a folder, and rewrite every link to it.

    Examples:
        commonplace mv idea notes/idea
        commonplace mv notes/idea archive/
        commonplace mv notes/idea plan --dry-run
        commonplace mv notes/ archive/2026/

    A NEW without a slash and without .md is a new name: the page stays in its folder (./plan is at the top). With a
    slash at its end it is a folder, into which the page goes under its name; otherwise it is a path. With a slash at
    the end of PAGE, the folder gets the path NEW, with all files in it, new ones too; ignored and hidden files and
    symbolic links stay. Relative links in what moves are rewritten as well, and links to another page of a new name.
    Moving back restores the links as they were written, from Git.
    """
    if page.strip().removeprefix("./").endswith("/"):
        _move_folder(session, page.strip(), target.strip(), consent)
        return
    write.command(session, page, how=EditOptions(rename=target), consent=consent)


@dataclass(frozen=True, slots=True)
class _FolderMove:
    """A move of a folder, made or planned."""

    folder: str
    """Old path, without a slash at its end."""
    target: str
    """New path."""
    moves: Mapping[Address, Address]
    """New address by old address of the files."""
    links: RewrittenLinks
    commit: str = ""
    """The commit's id; "" for none."""
    planned: bool = False
    """Whether nothing was changed."""


def _move_folder(session: Session, page: str, new: str, consent: CommitOptions) -> None:
    if consent.revision:
        raise ConfigError("A folder has no revision.", kind="option", hint="Leave --revision out.")
    folder, target = (session.relative(other_page).removeprefix("./").strip("/") for other_page in (page, new))
    with session.opened_for_writing(commit=not consent.no_commit) as collections, recording_writes() as done:
        collection = collections.members[0]
        if consent.dry_run:
            plan = writes.preview_moves(collection, writes.require_moves(collection, folder, target), {})
            move = _FolderMove(folder, target, plan.moves, links_of(plan), planned=True)
        else:
            moves, receipt = writes.rename_folder(collection, folder, target, WriteRequest(message=consent.message))
            move = _FolderMove(folder, target, moves, receipt.links, receipt.commit)
        _show(session, collection, move, findings_of_writes(collections, done))


def _show(session: Session, collection: Collection, move: _FolderMove, new: NewFindings) -> None:
    out, links = session.out, move.links
    if out.as_json:
        out.json(_as_json(collection, move) | new_finding_json(new))
        return
    inside = f", with links rewritten in {len(links.rewritten)} of them" if links.rewritten else ""
    mark = f"  commit {move.commit[:10]}" if move.commit else ""
    verb, rewrote = ("Would move", "Would rewrite") if move.planned else ("Moved", "Rewrote")
    folder, target = out.styled(BOLD, f"{move.folder}/"), out.styled(BOLD, f"{move.target}/")
    out.line(f"{verb} {folder} to {target}: {amount(len(move.moves), 'file')}{inside}{mark}")
    others = [address.path for address in links.updated if address not in links.pinned]
    if others:
        out.line(f"{rewrote} links in {named_pages(others)}")
    for line in (
        *moved_link_lines(paths(links.pinned), paths(links.gained)),
        *ignored_lines(paths(links.ignored)),
        *kept_title_lines({} if move.planned else own_titles(collection, move.moves.values())),
        *not_rewritten_lines(paths(links.not_rewritten), would=move.planned),
        *new_finding_lines(new),
    ):
        out.line(line)


def _as_json(collection: Collection, move: _FolderMove) -> dict[str, Json]:
    ignored, lost = list[Json](paths(move.links.ignored)), list[Json](paths(move.links.not_rewritten))
    return {
        "collection": collection.name,
        "path": f"{move.target}/",
        "id": "",
        "revision": "",
        "commit": move.commit,
        "action": "planned" if move.planned else "renamed",
        "updated": list[Json](paths(move.links.updated)),
        "moved": {old.path: new.path for old, new in move.moves.items()},
        **({"ignored": ignored} if ignored else {}),
        **({"not_rewritten": lost} if lost else {}),
    }
