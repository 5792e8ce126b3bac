"""One function per endpoint: one query of the cascade, and one answer."""

from __future__ import annotations

from typing import cast

from commonplace.domain.addresses import fold
from commonplace.domain.errors import ForbiddenError, InvalidInputError, NotFoundError
from commonplace.domain.json import Json
from commonplace.domain.revisions import revision_of
from commonplace.faces.rest.endpoint import Endpoint, RestContract, RestRequest, RestResponse
from commonplace.services.services import Services
from commonplace.toolsets.cascade.rest import models
from commonplace.toolsets.cascade.rules.health import health_json
from commonplace.toolsets.cascade.rules.output import raw_json, resolved_json, to_markdown
from commonplace.toolsets.cascade.rules.values import ResolvedConcept
from commonplace.toolsets.cascade.service import CASCADE_KEY, concept_links, concept_search
from commonplace.toolsets.cascade.service.cascade import Cascade, ConceptRow


def is_concept(services: Services, path: str) -> bool:
    """Whether a layer contains a concept with this path."""
    cascade = _cascade(services)
    try:
        cascade.resolve(cascade.identify(path), dated=False)
    except (NotFoundError, InvalidInputError):
        return False
    return True


def health(_: RestRequest) -> RestResponse:
    """Report that the server is running."""
    return RestResponse(models.Health())


def list_pages(request: RestRequest) -> RestResponse:
    """A page of the list of concepts, sorted by path."""
    query = cast("models.ListParameters", request.query)
    cascade = _cascade(request.services)
    rows = [row for row in cascade.overview().rows.values() if _is_wanted(row, query)]
    end = None if query.limit is None else query.offset + query.limit
    pages = [
        models.ConceptSummary(name=_name(row.id, row.title), path=row.id, category=row.type, held_by=list(row.layers))
        for row in rows[query.offset : end]
    ]
    return RestResponse(models.ConceptList(pages=pages, total=len(rows), layers=_states(cascade)))


def get_page(request: RestRequest) -> RestResponse:
    """A concept: the effective one, or one layer's version."""
    query = cast("models.LayerParameters", request.query)
    cascade = _cascade(request.services)
    identifier = cascade.identify(request.path)
    if query.layer:
        concept = cascade.raw(identifier, query.layer)
        shown = raw_json(concept, query.layer, cascade.suppressed_keys(identifier, query.layer))
        return RestResponse(_page(cascade, identifier, None, "", shown))
    resolved = cascade.resolve(identifier)
    return RestResponse(_page(cascade, identifier, resolved, to_markdown(resolved), resolved_json(resolved)))


def search(request: RestRequest) -> RestResponse:
    """Concepts that match a query, best first. The best one has the score 1."""
    query = cast("models.SearchParameters", request.query)
    cascade = _cascade(request.services)
    hits = concept_search.search(cascade, query.q, query.limit, query.layer or None)
    top = max((hit.score for hit in hits), default=0.0) or 1.0
    results = [
        models.Hit(
            name=_name(hit.row.id, hit.row.title),
            path=hit.row.id,
            snippet=hit.snippet,
            score=round(max(hit.score / top, 0.0), 4),
            section=hit.section.key if hit.section else None,
            inbound=hit.inbound,
            contested=hit.contested,
            suppressed=hit.suppressed,
        )
        for hit in hits
    ]
    return RestResponse(models.Hits(query=query.q, results=results, total=len(results), layers=_states(cascade)))


def get_links(request: RestRequest) -> RestResponse:
    """Concepts that a concept links to, and those that link to it."""
    cascade = _cascade(request.services)
    resolved = cascade.resolve(cascade.identify(request.path), dated=False)
    targets, sources = _linked(cascade, resolved)
    return RestResponse(models.Links(path=resolved.id, links_to=targets, linked_from=sources, layers=_states(cascade)))


def _page(
    cascade: Cascade, identifier: str, resolved: ResolvedConcept | None, content: str, shown: dict[str, Json]
) -> models.ConceptPage:
    targets, sources = _linked(cascade, resolved) if resolved else ([], [])
    title = resolved.title if resolved else None
    frontmatter = shown["frontmatter"]
    return models.ConceptPage(
        name=_name(identifier, title),
        path=identifier,
        content=content,
        frontmatter=cast("dict[str, models.JsonValue]", frontmatter),
        links_to=targets,
        linked_from=sources,
        revision=revision_of(content.encode("utf-8", "replace")),
        concept=cast("dict[str, models.JsonValue]", shown),
        layers=_states(cascade),
    )


def _linked(cascade: Cascade, resolved: ResolvedConcept) -> tuple[list[str], list[str]]:
    targets = (link.id for link in concept_links.outgoing(cascade, resolved) if link.id)
    sources = (link.id for link in concept_links.incoming(cascade, resolved.id))
    return list(dict.fromkeys(targets)), list(dict.fromkeys(sources))


def _is_wanted(row: ConceptRow, query: models.ListParameters) -> bool:
    return fold(row.id).startswith(fold(query.prefix)) and fold(query.category) in {"", fold(row.type or "")}


def _name(identifier: str, title: str | None) -> str:
    return title or identifier.rpartition("/")[2]


def _states(cascade: Cascade) -> list[models.JsonValue]:
    return cast("list[models.JsonValue]", health_json(cascade.health()))


def _cascade(services: Services) -> Cascade:
    cascade = services.of(CASCADE_KEY)
    if cascade is None:
        raise ForbiddenError(
            "A key for some collections cannot read layers, which are resolved over all of them.",
            kind="collection",
            hint="Ask for a key without collections.",
        )
    return cascade


# Every endpoint of the API of a server of layers.


MISSING = frozenset({404})


def endpoints() -> tuple[Endpoint, ...]:
    """The endpoints in the order of the OpenAPI document."""
    return (
        Endpoint(
            method="GET",
            template="/health",
            summary="Whether the server is there",
            run=health,
            answers={200: models.Health},
            tier=None,
        ),
        Endpoint(
            method="GET",
            template="/pages",
            summary="List concepts",
            run=list_pages,
            answers={200: models.ConceptList},
            query=models.ListParameters,
        ),
        Endpoint(
            method="GET",
            template="/pages/{path}",
            summary="Read a concept as all layers together have it, or as one has it",
            run=get_page,
            answers={200: models.ConceptPage},
            query=models.LayerParameters,
            error_statuses=MISSING,
        ),
        Endpoint(
            method="GET",
            template="/search",
            summary="Search the layers",
            run=search,
            answers={200: models.Hits},
            query=models.SearchParameters,
            error_statuses=MISSING,
        ),
        Endpoint(
            method="GET",
            template="/links/{path}",
            summary="Links of a concept",
            run=get_links,
            answers={200: models.Links},
            error_statuses=MISSING,
        ),
    )


CASCADE_REST = RestContract(
    description=(
        "Concepts in layers, read-only, as all layers together have them, and proposals to change them. An error is "
        "`{error, code, kind, hint}`. "
        "A layer that is stale or was not asked is named in `layers` of every answer."
    ),
    endpoints=endpoints,
    is_document=is_concept,
    proposes=True,
)
