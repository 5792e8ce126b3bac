"""`commonplace mv`: move or rename a page or a folder.

As JSON: as `write --rename`. For a folder, `path` is its new path with a slash at the end, `id` and `revision` are "",
and `moved` has the new path of each file by its old one; `ignored` has the files that stay because ignore files
exclude them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from commonplace.domain.addresses import Address
from commonplace.domain.errors import ConfigError
from commonplace.domain.json import Json
from commonplace.domain.words.amounts import amount
from commonplace.faces.cli.commands import write
from commonplace.faces.cli.commands.write import CommitOptions, EditOptions
from commonplace.faces.cli.options import PageArgument
from commonplace.faces.cli.output import BOLD
from commonplace.faces.cli.session import Session
from commonplace.faces.redirected_links import ignored_lines, moved_link_lines, named_pages, not_rewritten_lines
from commonplace.services import writes
from commonplace.services.collections import Collection
from commonplace.services.writes import WriteRequest
from commonplace.services.writes.renames import links_of
from commonplace.services.writes.requests import RewrittenLinks


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
    the end of PAGE, the folder gets the path NEW, with all files in it, new ones too; ignored and hidden ones and
    symbolic links stay. Relative links in what moves are rewritten as
    well, and links to another page of a new name. Moving back restores the links as they were written, from Git.
    """
    if page.strip().removeprefix("./").endswith("/"):
        _move_folder(session, page.strip(), target.strip(), consent)
        return
    write.command(session, page, how=EditOptions(rename=target), consent=consent)


def _move_folder(session: Session, page: str, new: str, consent: CommitOptions) -> None:
    if consent.revision:
        raise ConfigError("A folder has no revision.", kind="option", hint="Leave --revision out.")
    folder, target = (session.relative(one).removeprefix("./").strip("/") for one in (page, new))
    unseen = "keep" if consent.force else "refuse"
    intent = WriteRequest(message=consent.message, unseen=unseen)
    with session.opened_for_writing(commit=not consent.no_commit) as collections:
        collection = collections.members[0]
        if consent.dry_run:
            moves = writes.require_moves(collection, folder, target)
            plan = writes.preview_moves(collection, moves, {})
            _show(session, collection, (folder, target, ""), plan.moves, links_of(plan), would=True)
            return
        moves, receipt = writes.rename_folder(collection, folder, target, intent)
        moved = {old: new for old, new in moves.items() if old not in receipt.links.ignored}
        _show(session, collection, (folder, target, receipt.commit), moved, receipt.links)


def _show(
    session: Session,
    collection: Collection,
    what: tuple[str, str, str],
    moves: Mapping[Address, Address],
    links: RewrittenLinks,
    *,
    would: bool = False,
) -> None:
    """Show a move of a folder.

    Args:
        session: The session.
        collection: The collection.
        what: Old path, new path and commit.
        moves: New address by old address of the files.
        links: The effect on links.
        would: Whether nothing was changed.
    """
    out, (folder, target, commit) = session.out, what
    if out.as_json:
        out.json(_as_json(collection, what, moves, links, would=would))
        return
    inside = f", with links rewritten in {len(links.rewritten)} of them" if links.rewritten else ""
    mark = f"  commit {commit[:10]}" if commit else ""
    verb = "Would move" if would else "Moved"
    styled = (out.styled(BOLD, f"{one}/") for one in (folder, target))
    out.line(f"{verb} {' to '.join(styled)}: {amount(len(moves), 'file')}{inside}{mark}")
    others = [one.path for one in links.updated if one not in links.pinned]
    if others:
        out.line(f"{'Would rewrite' if would else 'Rewrote'} links in {named_pages(others)}")
    lines: Sequence[str] = moved_link_lines(*([one.path for one in some] for some in (links.pinned, links.gained)))
    lines = [*lines, *ignored_lines([one.path for one in links.ignored])]
    for line in (*lines, *not_rewritten_lines([one.path for one in links.not_rewritten], would=would)):
        out.line(line)


def _as_json(
    collection: Collection,
    what: tuple[str, str, str],
    moves: Mapping[Address, Address],
    links: RewrittenLinks,
    *,
    would: bool,
) -> dict[str, Json]:
    left: list[Json] = [one.path for one in links.ignored]
    lost: list[Json] = [one.path for one in links.not_rewritten]
    return {
        "collection": collection.name,
        "path": f"{what[1]}/",
        "id": "",
        "revision": "",
        "commit": what[2],
        "action": "planned" if would else "renamed",
        "updated": [one.path for one in links.updated],
        "moved": {old.path: new.path for old, new in moves.items()},
        **({"ignored": left} if left else {}),
        **({"not_rewritten": lost} if lost else {}),
    }
