"""`commonplace backup`: what is in no remote, in one file, and back: keys, audit, trash, settings and proposals.

As JSON: `{"backup", "files": [..]}`, or with `--restore` `{"restored", "files": [..]}`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from commonplace.faces.cli.session import Session


def command(
    session: Session,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The backup.")],
    *,
    restore: Annotated[bool, typer.Option("--restore", help="Put back what FILE has.")] = False,
) -> None:
    """Back up what is in no remote, while servers run; or restore it.

    Examples:
        commonplace backup /backups/commonplace.tar.gz
        commonplace backup /backups/commonplace.tar.gz --restore

    A backup has access keys (as digests) with their limits, the logs of writes and activity, the trash, the settings
    file, the file of --keys, and the proposals of the served folders. It has no pages: these are in Git. Its file is
    for its owner alone. Restore it into an empty state folder, before the server starts. Settings and keys that exist
    stay as they are.
    """
    back_up = session.dependencies.back_up
    names = back_up(session.settings, file, restore)
    if session.out.as_json:
        session.out.json({"restored" if restore else "backup": str(file), "files": [*names]})
        return
    done = "Restored" if restore else "Backed up"
    session.out.line(f"{done} {len(names)} files.")
