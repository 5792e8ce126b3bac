"""`commonplace lsp`: serve folders to an editor."""

from __future__ import annotations

from typing import Annotated

import typer

from commonplace.faces.cli.session import Session, require_files
from commonplace.settings import Flags


def command(
    session: Session, paths: Annotated[list[str] | None, typer.Argument(metavar="PATH", hidden=True)] = None
) -> None:
    """Serve folders of Markdown to an editor: the Language Server Protocol on standard input and output.

    Examples:
        commonplace lsp
        commonplace lsp ~/notes

    PATHs are the folders to serve, by default those that the editor has open. docs/editors.md has the entries for
    VS Code, Neovim, Helix, Zed and Emacs. The server writes nothing: the editor makes every edit. Needs the
    libraries of the extra lsp; if they are missing, the command prints how to install them here.
    """
    given_values: Flags = {"kb": paths} if paths else {}
    if any("://" in path for path in paths or session.flags.get("kb") or ()):
        require_files(session, "An editor")
    session.dependencies.serve_editor(session.configured(given_values))
