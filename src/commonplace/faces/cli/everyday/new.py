"""`commonplace new`: a new page, from a template if there is one.

As JSON: `{"collection", "path", "id", "revision", "commit", "action"}`; `action` is `created`, or `exists` for the page
of today. `findings` is there as in the answer of `write`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import typer

from commonplace.domain.addresses import Address, portable_name
from commonplace.domain.errors import ConfigError
from commonplace.domain.findings import NewFindings
from commonplace.faces.cli.commands.write import commit_mark
from commonplace.faces.cli.everyday.editor import open_in_editor
from commonplace.faces.cli.options import OptionalPageArgument
from commonplace.faces.cli.output import BOLD, FAINT
from commonplace.faces.cli.session import Session, require_files
from commonplace.faces.write_output import new_finding_json, new_finding_lines, redirect_lines
from commonplace.services import writes
from commonplace.services.collections import Collection
from commonplace.services.findings import findings_of_writes
from commonplace.services.writes import WriteRequest
from commonplace.services.writes.links_after import RedirectedLink, redirected_by
from commonplace.services.writes.new_paths import daily_address, new_page_address, new_page_text, title_and_name
from commonplace.services.writes.recorded import recording_writes


def command(
    session: Session,
    page: OptionalPageArgument = None,
    *,
    template: Annotated[str, typer.Option("--template", "-t", metavar="NAME", help="A page of templates/.")] = "",
    daily: Annotated[bool, typer.Option("--daily", help="The page of today; made if it is not there.")] = False,
    edit: Annotated[bool, typer.Option("--edit", "-e", help="Open it in your editor.")] = False,
    no_commit: Annotated[bool, typer.Option("--no-commit", help="Write the file and leave committing to you.")] = False,
) -> None:
    """Make a page: a heading, or what a template says.

    Examples:
        commonplace new notes/idea
        commonplace new meetings/kickoff -t meeting -e
        commonplace new --daily -e

    In a Git repository the page is one commit, unless --no-commit is given. Its file name leaves out characters that
    not every system allows (`: ? " * < > |`); its heading has them. Templates are pages in templates/ (or Templates/,
    _templates/), with {{title}}, {{date}} and {{time}}. The page of today goes where settings of Foam, Obsidian or
    TiddlyWiki say, else where pages named by a date lie, else into daily/; its template is theirs, or is called daily.
    """
    if daily == bool(page):
        raise ConfigError(
            "--daily and PAGE cannot be combined." if daily else "Missing PAGE.",
            kind="option",
            hint="Name a page, or ask for the page of today: --daily.",
        )
    if edit:
        require_files(session, "An editor")
    now = datetime.now().astimezone()
    with session.opened_for_writing(commit=not no_commit) as collections, recording_writes() as done:
        collection = collections.members[0]
        title, name = title_and_name(collection, session.relative(page or ""))
        address = daily_address(collection, now) if daily else new_page_address(collection, name)
        redirected: Sequence[RedirectedLink] = ()
        record = collection.index.record(address) if daily else None
        if record is None:
            text = new_page_text(collection, title or address.stem, now, template, daily=daily)
            redirected = redirected_by(collection, address, None, text.encode())
            written = writes.create(collection, address, text.encode(), WriteRequest())
            revision, commit, action = written.revision, written.commit, "created"
        else:
            revision, commit, action = record.revision, "", "exists"
        new = findings_of_writes(collections, done)
    _show(session, collection, address, (revision, commit, action, title), redirected, new)
    if edit:
        session.out.flush()
        open_in_editor(session.settings.kb[0].expanduser().absolute() / address.path, _first_line(action))


def _show(
    session: Session,
    collection: Collection,
    address: Address,
    done: tuple[str, str, str, str],
    redirected: Sequence[RedirectedLink],
    new: NewFindings,
) -> None:
    """Print the page, its revision, its commit ("" for none), the action, and the title if its file cannot have it.

    Links to other pages that lead to it now, and findings, follow.
    """
    revision, commit, action, title = done
    out = session.out
    if out.as_json:
        out.json(
            {
                "collection": collection.name,
                "path": address.path,
                "id": address.id,
                "revision": revision,
                "commit": commit,
                "action": action,
                **new_finding_json(new),
            }
        )
    else:
        verb = "Created" if action == "created" else "There is"
        mark = out.styled(FAINT, commit_mark(revision, commit))
        out.line(f"{verb} {out.styled(BOLD, address.path)}  {mark}")
        if title != address.stem == portable_name(title):
            out.line(f"The file name leaves out what not every system allows in names; the title is {title!r}.")
        for line in (*redirect_lines(redirected, address), *new_finding_lines(new)):
            out.line(line)


def _first_line(action: str) -> int:
    """The line at which the editor opens a page: below the heading of a new page, else the first."""
    return 3 if action == "created" else 1
