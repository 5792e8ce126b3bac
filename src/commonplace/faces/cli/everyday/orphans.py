"""`commonplace orphans`: pages that no other page links to.

As JSON: as `links --orphans`.
"""

from __future__ import annotations

from commonplace.faces.cli.commands import links
from commonplace.faces.cli.session import Session


def command(session: Session) -> None:
    """List the pages that no other page links to.

    Examples:
        commonplace orphans
        commonplace orphans --json
    """
    links.command(session, ends=links.EndOptions(), orphans=True)
