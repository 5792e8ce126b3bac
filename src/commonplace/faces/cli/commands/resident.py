"""`commonplace resident`: the processes that serve the sessions of `mcp`.

As JSON: `status` `{"wanted", "residents": [{"process", "sessions"}]}`; `stop` `{"stopped": [process, …]}`.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import Annotated, Literal, TypeAlias

import typer

from commonplace.domain.words.amounts import amount
from commonplace.faces.cli.residents import running_residents
from commonplace.faces.cli.session import Session

ResidentAction: TypeAlias = Literal["status", "stop"]


def command(
    session: Session,
    action: Annotated[ResidentAction, typer.Argument(metavar="status|stop", hidden=True)] = "status",
) -> None:
    """Show or stop the processes that have everything loaded for sessions of mcp.

    Examples:
        commonplace resident
        commonplace resident stop

    With the setting `resident`, mcp runs in a process that the resident forks. A resident ends by itself some time
    after its last session. Sessions that run are not ended by stop; each ends with its client.
    """
    running = list(running_residents())
    if action == "stop":
        for resident in running:
            with suppress(ProcessLookupError):
                os.kill(resident.process, signal.SIGTERM)
        if session.out.as_json:
            session.out.json({"stopped": [resident.process for resident in running]})
        else:
            session.out.line(f"Stopped: {amount(len(running), 'resident')}.")
        return
    if session.out.as_json:
        rows = [{"process": resident.process, "sessions": resident.sessions} for resident in running]
        session.out.json({"wanted": session.settings.resident, "residents": [*rows]})
        return
    for resident in running:
        session.out.line(resident.text)
    if not running:
        session.out.line("No resident runs." if session.settings.resident else "No resident runs, and none is wanted.")
