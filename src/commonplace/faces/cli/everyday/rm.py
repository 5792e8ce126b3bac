"""`commonplace rm`: delete a page.

As JSON: as `write --delete`.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from commonplace.faces.cli.commands import write
from commonplace.faces.cli.commands.write import CommitOptions, EditOptions
from commonplace.faces.cli.options import PageArgument
from commonplace.faces.cli.session import Session


def command(session: Session, page: PageArgument, *, consent: CommitOptions) -> None:
    """Delete a page. On a terminal it says which links would break, and asks.

    Examples:
        commonplace rm notes/idea
        commonplace rm notes/idea --dry-run
        commonplace rm notes/idea --force

    A program needs --revision or --force. What no commit has goes to the trash for 30 days (see restore).
    """
    how = EditOptions(delete=True)
    asks = not (consent.revision or consent.force or consent.dry_run) and sys.stdin.isatty() and not session.out.as_json
    if asks:
        write.command(session, page, how=how, consent=replace(consent, dry_run=True))
        session.out.flush()
        sys.stderr.write("Delete it? [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().casefold() not in {"y", "yes"}:
            session.out.message("Nothing was deleted.")
            return
        consent = replace(consent, force=True)
    write.command(session, page, how=how, consent=consent)
