"""`commonplace resolve`: a concept as all its layers together have it.

It is one JSON document, with or without --json: `{"id", "contributors": [{"layer", "level", "updated"}], "frontmatter",
"frontmatterProvenance", "sections": [{"key", "heading", "content", "sourceLayer", "sourceUpdated"}], "markdown"}`.
"""

from __future__ import annotations

from typing import Annotated

import typer

from commonplace.domain.errors import NotFoundError
from commonplace.domain.json import JsonObject
from commonplace.faces.cli.failures import report
from commonplace.faces.cli.options import LayerOptions
from commonplace.faces.cli.session import Session
from commonplace.toolsets.cascade.cli.open_layers import open_layers
from commonplace.toolsets.cascade.rules.concepts import concept_id
from commonplace.toolsets.cascade.rules.health import health_json
from commonplace.toolsets.cascade.rules.output import resolved_json

ABSENT = 1
"""Exit code if no layer contains the concept, so that a shell can test for it."""


def command(
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
