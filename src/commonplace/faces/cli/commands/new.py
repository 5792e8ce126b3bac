"""Commands that make a page and open one in an editor."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from commonplace.domain.addresses import Address, portable_name
from commonplace.domain.errors import ConfigError, UnavailableError
from commonplace.domain.findings import NewFindings
from commonplace.domain.private_files import user_umask
from commonplace.faces.cli.commands.write import commit_mark
from commonplace.faces.cli.options import OptionalPageArgument, PageArgument
from commonplace.faces.cli.output import BOLD, FAINT
from commonplace.faces.cli.pages import named_part
from commonplace.faces.cli.session import Session, require_files
from commonplace.faces.write_output import new_finding_json, new_finding_lines, redirect_lines
from commonplace.services import reads, writes
from commonplace.services.collections import Collection
from commonplace.services.findings import findings_of_writes
from commonplace.services.writes import WriteRequest
from commonplace.services.writes.links_after import RedirectedLink, redirected_by
from commonplace.services.writes.new_paths import daily_address, new_page_address, new_page_text, title_and_name
from commonplace.services.writes.recorded import recording_writes

_AFTER_COLON = frozenset({"hx", "helix", "zed", "subl", "sublime_text"})
"""Editors with the syntax `FILE:LINE`."""
_GOTO = frozenset({"code", "codium", "cursor", "windsurf"})
"""Editors with the syntax `--goto FILE:LINE`."""


def editor_command(file: Path, line: int, environment: Mapping[str, str]) -> list[str]:
    """The command that opens a file at a line, with the editor of `$VISUAL`, else `$EDITOR`, else `vi`.

    Args:
        file: The file.
        line: Line number, from 1.
        environment: Environment variables.

    Raises:
        ConfigError: the editor's command is not valid, or no editor is set and `vi` is not installed.
    """
    editor = environment.get("VISUAL") or environment.get("EDITOR") or shutil.which("vi") or ""
    try:
        words = shlex.split(editor)
    except ValueError:
        words = []
    if not words:
        raise ConfigError(
            f"The editor {editor!r} is no command." if editor else "No editor is named.",
            kind="editor",
            hint="Set EDITOR, for example: export EDITOR=nvim",
        )
    name = Path(words[0]).name
    if name in _GOTO:
        return [*words, "--goto", f"{file}:{line}"]
    if name in _AFTER_COLON:
        return [*words, f"{file}:{line}"]
    return [*words, f"+{line}", str(file)]


def open_in_editor(file: Path, line: int) -> None:
    """Open a file in the user's editor and wait until it ends.

    Raises:
        ConfigError: same as `editor_command`.
        UnavailableError: kind "editor": the editor cannot be started, or reported an error.
    """
    command = editor_command(file, line, os.environ)
    try:
        code = subprocess.run(command, check=False, umask=user_umask()).returncode  # noqa: S603 - the user's own editor, without a shell
    except OSError as error:
        raise UnavailableError(
            f"The editor {command[0]!r} cannot be started: {error.strerror}.",
            kind="editor",
            hint="Set EDITOR to another one.",
        ) from error
    if code:
        raise UnavailableError(f"The editor {command[0]!r} ended with code {code}.", kind="editor", hint="")


NEW_JSON = """As JSON: `{"collection", "path", "id", "revision", "commit", "action"}`; `action` is `created`, or
`exists` for the page of today. `findings` is there as in the answer of `write`."""


def new_command(
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


OPEN_JSON = """As JSON: `{"path", "line"}`, and nothing is opened; `path` is absolute."""


def open_command(session: Session, page: PageArgument) -> None:
    """Open a page in your editor ($VISUAL, else $EDITOR, else vi), at a heading if PAGE names one.

    Examples:
        commonplace open notes/idea
        commonplace open "notes/idea#Next steps"
    """
    require_files(session, "An editor")
    with session.opened() as collections:
        collection, address, heading = named_part(collections, session.relative(page))
        folder = next(
            folder
            for folder, member in zip(session.settings.kb, collections.members, strict=True)
            if member is collection
        )
        passage = reads.fragment(collection, address, heading) if heading else None
    file = folder.expanduser().absolute() / address.path
    line = passage.first_line if passage else 1
    if session.out.as_json:
        session.out.json({"path": str(file), "line": line})
        return
    open_in_editor(file, line)
