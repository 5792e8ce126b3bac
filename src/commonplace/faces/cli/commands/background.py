"""Commands on processes in the background: residents, and workers that embed for a search cluster."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import Annotated, Literal, TypeAlias

import typer

from commonplace.domain.words.amounts import amount
from commonplace.faces.cli.output import one_line
from commonplace.faces.cli.residents import running_residents
from commonplace.faces.cli.session import Session
from commonplace.settings import about

ResidentAction: TypeAlias = Literal["status", "stop"]

RESIDENT_JSON = """As JSON: `status` `{"wanted", "residents": [{"process", "sessions"}]}`; `stop` `{"stopped":
[process, …]}`."""


def resident_command(
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


EMBED_WORKER_JSON = """As JSON: `{"chunks"}`, the number of embedded chunks."""


def embed_worker_command(
    session: Session,
    names: Annotated[list[str] | None, typer.Argument(metavar="[COLLECTION…]", hidden=True)] = None,
    *,
    engine_url: Annotated[
        list[str] | None, typer.Option("--engine-url", metavar="URL", help=about("engine_url"), show_default=False)
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="End when no page lacks a vector.")] = False,
) -> None:
    """Embed the pages of collections in the search cluster, beside other workers.

    Examples:
        commonplace embed-worker --engine-url https://search-1:9200
        commonplace embed-worker --once notes

    Collections are named in engine_vectors of the servers that follow them. Any number of workers on any machines share
    the work, and one that is killed loses its current batch of 32 chunks. The model is that of the servers.
    """
    settings = session.configured({"engine_url": engine_url or None})
    chunks = session.dependencies.run_embed_worker(
        settings, names or [], once, lambda line: session.out.message(one_line(line))
    )
    if session.out.as_json:
        session.out.json({"chunks": chunks})
    else:
        session.out.line(f"{chunks:,} chunks embedded.")
