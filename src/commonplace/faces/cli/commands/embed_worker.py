"""`commonplace embed-worker`: embed pages for the search cluster.

As JSON: `{"chunks"}`, the number of embedded chunks.
"""

from __future__ import annotations

from typing import Annotated

import typer

from commonplace.faces.cli.output import one_line
from commonplace.faces.cli.session import Session
from commonplace.settings import about


def command(
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
