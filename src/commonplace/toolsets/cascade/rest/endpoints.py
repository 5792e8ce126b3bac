"""Every endpoint of the API of a server of layers."""

from __future__ import annotations

from commonplace.faces.rest.endpoint import Endpoint, RestContract
from commonplace.toolsets.cascade.rest import handlers, models

MISSING = frozenset({404})


def endpoints() -> tuple[Endpoint, ...]:
    """The endpoints in the order of the OpenAPI document."""
    return (
        Endpoint(
            method="GET",
            template="/health",
            summary="Whether the server is there",
            run=handlers.health,
            answers={200: models.Health},
            tier=None,
        ),
        Endpoint(
            method="GET",
            template="/pages",
            summary="List concepts",
            run=handlers.list_pages,
            answers={200: models.ConceptList},
            query=models.ListParameters,
        ),
        Endpoint(
            method="GET",
            template="/pages/{path}",
            summary="Read a concept as all layers together have it, or as one has it",
            run=handlers.get_page,
            answers={200: models.ConceptPage},
            query=models.LayerParameters,
            error_statuses=MISSING,
        ),
        Endpoint(
            method="GET",
            template="/search",
            summary="Search the layers",
            run=handlers.search,
            answers={200: models.Hits},
            query=models.SearchParameters,
            error_statuses=MISSING,
        ),
        Endpoint(
            method="GET",
            template="/links/{path}",
            summary="Links of a concept",
            run=handlers.get_links,
            answers={200: models.Links},
            error_statuses=MISSING,
        ),
    )


CASCADE_REST = RestContract(
    description=(
        "Concepts in layers, read-only, as all layers together have them. An error is `{error, code, kind, hint}`. "
        "A layer that is stale or was not asked is named in `layers` of every answer."
    ),
    endpoints=endpoints,
    is_document=handlers.is_concept,
)
