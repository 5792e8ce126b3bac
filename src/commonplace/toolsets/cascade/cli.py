"""Commands on layers: a concept as all of them have it, and what they differ on."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from commonplace.domain.errors import ConfigError
from commonplace.faces.cli.options import LayerOptions
from commonplace.faces.cli.session import Session, fetch
from commonplace.toolsets.cascade.service import CASCADE_KEY

if TYPE_CHECKING:
    from commonplace.toolsets.cascade.service.cascade import Cascade
import json
from typing import Annotated

import typer

from commonplace.domain.errors import NotFoundError
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.words.amounts import amount
from commonplace.faces.cli.failures import report
from commonplace.faces.cli.output import BOLD, FAINT, one_line
from commonplace.toolsets.cascade.rules.concepts import concept_id
from commonplace.toolsets.cascade.rules.output import resolved_json
from commonplace.toolsets.cascade.rules.values import ValueDissent, health_json, not_asked
from commonplace.toolsets.cascade.service.cascade import Disagreement, conflicts


@contextmanager
def open_layers(session: Session, layers: LayerOptions, *, sync: bool) -> Generator[Cascade]:
    """Open the layers that the settings and these options name.

    Args:
        session: The run of the command.
        layers: The layer options of the command line.
        sync: Whether to sync the indexes first. Single concepts are read from their files and need no sync.

    Raises:
        ConfigError: no layers are named, or the manifest is invalid.
    """
    with session.opened_application(session.configured(layers.flags())) as application:
        cascade = application.services.of(CASCADE_KEY)
        if cascade is None:
            raise ConfigError("No layers are named: give --manifest FILE, or --personal DIR and --shared DIR.")
        if sync:
            session.sync(application)
        else:
            fetch(session, application)
        yield cascade


ABSENT = 1
"""Exit code if no layer contains the concept, so that a shell can test for it."""


RESOLVE_JSON = """It is one JSON document, with or without --json: `{"id", "contributors": [{"layer", "level",
"updated"}], "frontmatter", "frontmatterProvenance", "sections": [{"key", "heading", "content", "sourceLayer",
"sourceUpdated"}], "markdown"}`."""


def resolve_command(
    session: Session,
    *,
    concept: Annotated[str, typer.Option("--concept", metavar="ID", help="Its path without .md.")],
    layers: LayerOptions,
) -> int:
    """Resolve one concept over its layers.

    Examples:
        commonplace resolve --manifest layers.json --concept systems/auth-service
        commonplace resolve --personal ~/notes --shared ~/team --concept owner

    What is printed is JSON: each section with the layer that it comes from and what other layers say otherwise. The
    exit code is 1 when no layer holds the concept.
    """
    concept_id(concept)
    try:
        session.out.json(_resolved(session, layers, concept, sync=False))
    except NotFoundError:
        try:  # retry after a sync: the error names the nearest ids from the indexes
            session.out.json(_resolved(session, layers, concept, sync=True))
        except NotFoundError as error:
            report(session.out, error)
            return ABSENT
    return 0


def _resolved(session: Session, layers: LayerOptions, concept: str, *, sync: bool) -> JsonObject:
    with open_layers(session, layers, sync=sync) as cascade:
        shown = resolved_json(cascade.resolve(cascade.identify(concept)))
        states = health_json(cascade.health())
    return {**shown, "layers": states} if states else shown


MAX_SHOWN_CONFLICTS = 100
"""Maximum number of characters of a value that are printed on a line."""


CONFLICTS_JSON = """As JSON: `{"count", "conflicts": [{"id", "kind", "key", "winner": {"layer", "updated", "value"},
"dissents": [..]}]}`; `kind` is `section` or `frontmatter`, and a dissent has the keys of the winner."""


def conflicts_command(session: Session, *, layers: LayerOptions) -> None:
    """List every section and key on which layers differ, the newest dissent first.

    Examples:
        commonplace conflicts --manifest layers.json
        commonplace conflicts --manifest layers.json --json | jq .count

    Under each stands first what counts, then what other layers say, with its layer and date.
    """
    out = session.out
    with open_layers(session, layers, sync=True) as cascade:
        disagreements = conflicts(cascade)
        states = cascade.health()
    if out.as_json:
        shown: dict[str, Json] = {
            "count": len(disagreements),
            "conflicts": [_json(disagreement) for disagreement in disagreements],
        }
        health = health_json(states)
        out.json({**shown, "layers": health} if health else shown)
        return
    for disagreement in disagreements:
        what = f"section {disagreement.key!r}" if disagreement.kind == "section" else f"key {disagreement.key!r}"
        out.line(f"{out.styled(BOLD, disagreement.id)}  {one_line(what)}")
        for said in (disagreement.winner, *disagreement.dissents):
            where = out.styled(FAINT, f"{said.layer} ({said.updated or '?'}):")
            out.line(f"    {where} {_brief(said.value)}")
    out.message(f"{amount(len(disagreements), 'conflict')}.")
    for state in not_asked(states):
        out.message(f"Not asked: layer {state.sentence()}.")


def _json(disagreement: Disagreement) -> dict[str, Json]:
    dissents: list[Json] = [_said(dissent) for dissent in disagreement.dissents]
    return {
        "id": disagreement.id,
        "kind": disagreement.kind,
        "key": disagreement.key,
        "winner": _said(disagreement.winner),
        "dissents": dissents,
    }


def _said(said: ValueDissent) -> dict[str, Json]:
    return {"layer": said.layer, "updated": said.updated, "value": said.value}


def _brief(value: Json) -> str:
    text = one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return text if len(text) <= MAX_SHOWN_CONFLICTS else f"{text[: MAX_SHOWN_CONFLICTS - 1]}…"
