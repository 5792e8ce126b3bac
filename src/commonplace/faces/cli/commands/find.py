"""`commonplace find`: a page as you type, opened in your editor."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from commonplace.domain.errors import ConfigError
from commonplace.domain.query import SEARCH_MODES, SearchMode
from commonplace.faces.cli.commands.finder import Finder
from commonplace.faces.cli.commands.search import caught_up
from commonplace.faces.cli.failures import INTERRUPTED
from commonplace.faces.cli.pages import FilterOptions, file_of
from commonplace.faces.cli.session import Session

FIND_JSON = """As JSON: `{"path", "line"}` of the page that was chosen, and nothing is opened; `path` is absolute.
The screen is shown all the same."""


def find_command(
    session: Session,
    query: Annotated[list[str] | None, typer.Argument(metavar="QUERY", hidden=True)] = None,
    *,
    filters: FilterOptions,
    mode: Annotated[
        SearchMode, typer.Option(metavar="|".join(SEARCH_MODES), help="By words, by meaning, or by both.")
    ] = "hybrid",
) -> int:
    """Find a page as you type, and open it in your editor at the line.

    Examples:
        commonplace find
        commonplace find green tea
        commonplace find --type decision
        commonplace find --prefix notes/ --mode keyword

    Before you type, the pages that changed last are listed. Each page is shown with the section that answers best;
    Enter opens it there ($VISUAL, else $EDITOR, else vi), at the line with most of the words. Esc leaves.
    """
    if os.environ.get("TERM") == "dumb" or not (sys.stdout.isatty() or sys.stderr.isatty()):
        raise ConfigError(
            "A page can be found by typing on a terminal only.",
            kind="terminal",
            hint="Without one: commonplace search QUERY.",
        )
    from commonplace.faces.cli.commands.finder_screen import find
    from commonplace.faces.cli.commands.new import open_in_editor

    with session.opened() as collections, caught_up(session, collections, mode):
        finder = Finder(collections, filters.filter(), mode)
        chosen = find(finder, " ".join(query or []), styles=session.out.terminal.styles)
        if chosen is None:
            return INTERRUPTED
        choice, line = chosen
        file = file_of(session, collections, choice.collection, choice.address)
    if file is None:
        raise ConfigError(
            f"The page {choice.path!r} is not a file of an open folder.", kind="kb", hint="Name its folder: -C PATH."
        )
    if session.out.as_json:
        session.out.json({"path": str(file), "line": line})
    else:
        open_in_editor(file, line)
    return 0
