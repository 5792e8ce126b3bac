"""The REST API of a server of layers: it reads the effective graph."""

from __future__ import annotations

from typing import Annotated, Literal, cast

from pydantic import BaseModel, Field, JsonValue

from commonplace.domain.addresses import fold
from commonplace.domain.errors import ForbiddenError, InvalidInputError, NotFoundError
from commonplace.domain.json import Json
from commonplace.domain.revisions import revision_of
from commonplace.faces.rest.endpoint import Endpoint, QueryParameters, RestContract, RestRequest, RestResponse
from commonplace.services.services import Services
from commonplace.toolsets.cascade.rules.output import raw_json, resolved_json, to_markdown
from commonplace.toolsets.cascade.rules.values import ResolvedConcept, health_json
from commonplace.toolsets.cascade.service import CASCADE_KEY, concept_search
from commonplace.toolsets.cascade.service.cascade import Cascade, ConceptRow

# One function per endpoint: one query of the cascade, and one answer.


MAX_ROWS = 10_000
MAX_SEARCH = 100


class LayerParameters(QueryParameters):
    """Parameters of GET /pages/{path}."""

    layer: Annotated[str, Field(description="The concept as this layer alone has it")] = ""


class ListParameters(QueryParameters):
    """Parameters of GET /pages."""

    prefix: Annotated[str, Field(description="Beginning of the path, without regard to case")] = ""
    category: Annotated[str, Field(description="The effective type, without regard to case")] = ""
    limit: Annotated[int | None, Field(ge=1, le=MAX_ROWS)] = None
    offset: Annotated[int, Field(ge=0, le=10_000_000)] = 0


class SearchParameters(QueryParameters):
    """Parameters of GET /search."""

    q: Annotated[str, Field(min_length=1, max_length=10_000)]
    limit: Annotated[int, Field(ge=1, le=MAX_SEARCH)] = 20
    layer: Annotated[str, Field(description="Search this layer's own text alone")] = ""


class Health(BaseModel):
    """The server is there."""

    status: Literal["ok"] = "ok"


class Answer(BaseModel):
    """Base of the answers about concepts."""

    layers: Annotated[
        list[JsonValue], Field(description="The state of every layer; empty if all are well: layer, level, state, ...")
    ] = []


class ConceptSummary(BaseModel):
    """A concept in a list."""

    name: str
    path: str
    category: str | None
    held_by: list[str]


class ConceptList(Answer):
    """Concepts by path."""

    pages: list[ConceptSummary]
    total: int


class ConceptPage(Answer):
    """A concept as all layers together have it."""

    name: str
    path: str
    content: Annotated[str, Field(description="The effective Markdown; with `layer`, empty")]
    frontmatter: dict[str, JsonValue]
    links_to: list[str]
    linked_from: list[str]
    revision: Annotated[str, Field(description="Blob id of the content")]
    last_commit: None = None
    concept: Annotated[dict[str, JsonValue], Field(description="What the tool `read_file` answers")]


class Hit(BaseModel):
    """A concept that matches."""

    name: str
    path: str
    snippet: str
    score: float
    section: str | None = None
    inbound: int = 0
    contested: bool = False
    suppressed: bool = False


class Hits(Answer):
    """Concepts that match, best first."""

    query: str
    results: list[Hit]
    total: int


class Links(Answer):
    """Links of a concept."""

    path: str
    links_to: list[str]
    linked_from: list[str]


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
    return RestResponse(Health())


def list_pages(request: RestRequest) -> RestResponse:
    """A page of the list of concepts, sorted by path."""
    query = cast("ListParameters", request.query)
    cascade = _cascade(request.services)
    rows = [row for row in cascade.overview().rows.values() if _is_wanted(row, query)]
    end = None if query.limit is None else query.offset + query.limit
    pages = [
        ConceptSummary(name=_name(row.id, row.title), path=row.id, category=row.type, held_by=list(row.layers))
        for row in rows[query.offset : end]
    ]
    return RestResponse(ConceptList(pages=pages, total=len(rows), layers=_states(cascade)))


def get_page(request: RestRequest) -> RestResponse:
    """A concept: the effective one, or one layer's version."""
    query = cast("LayerParameters", request.query)
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
    query = cast("SearchParameters", request.query)
    cascade = _cascade(request.services)
    hits = concept_search.search(cascade, query.q, query.limit, query.layer or None)
    top = max((hit.score for hit in hits), default=0.0) or 1.0
    results = [
        Hit(
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
    return RestResponse(Hits(query=query.q, results=results, total=len(results), layers=_states(cascade)))


def get_links(request: RestRequest) -> RestResponse:
    """Concepts that a concept links to, and those that link to it."""
    cascade = _cascade(request.services)
    resolved = cascade.resolve(cascade.identify(request.path), dated=False)
    targets, sources = _linked(cascade, resolved)
    return RestResponse(Links(path=resolved.id, links_to=targets, linked_from=sources, layers=_states(cascade)))


def _page(
    cascade: Cascade, identifier: str, resolved: ResolvedConcept | None, content: str, shown: dict[str, Json]
) -> ConceptPage:
    targets, sources = _linked(cascade, resolved) if resolved else ([], [])
    title = resolved.title if resolved else None
    frontmatter = shown["frontmatter"]
    return ConceptPage(
        name=_name(identifier, title),
        path=identifier,
        content=content,
        frontmatter=cast("dict[str, JsonValue]", frontmatter),
        links_to=targets,
        linked_from=sources,
        revision=revision_of(content.encode("utf-8", "replace")),
        concept=cast("dict[str, JsonValue]", shown),
        layers=_states(cascade),
    )


def _linked(cascade: Cascade, resolved: ResolvedConcept) -> tuple[list[str], list[str]]:
    targets = (link.id for link in concept_search.outgoing(cascade, resolved) if link.id)
    sources = (link.id for link in concept_search.incoming(cascade, resolved.id))
    return list(dict.fromkeys(targets)), list(dict.fromkeys(sources))


def _is_wanted(row: ConceptRow, query: ListParameters) -> bool:
    return fold(row.id).startswith(fold(query.prefix)) and fold(query.category) in {"", fold(row.type or "")}


def _name(identifier: str, title: str | None) -> str:
    return title or identifier.rpartition("/")[2]


def _states(cascade: Cascade) -> list[JsonValue]:
    return cast("list[JsonValue]", health_json(cascade.health()))


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
            answers={200: Health},
            tier=None,
        ),
        Endpoint(
            method="GET",
            template="/pages",
            summary="List concepts",
            run=list_pages,
            answers={200: ConceptList},
            query=ListParameters,
        ),
        Endpoint(
            method="GET",
            template="/pages/{path}",
            summary="Read a concept as all layers together have it, or as one has it",
            run=get_page,
            answers={200: ConceptPage},
            query=LayerParameters,
            error_statuses=MISSING,
        ),
        Endpoint(
            method="GET",
            template="/search",
            summary="Search the layers",
            run=search,
            answers={200: Hits},
            query=SearchParameters,
            error_statuses=MISSING,
        ),
        Endpoint(
            method="GET",
            template="/links/{path}",
            summary="Links of a concept",
            run=get_links,
            answers={200: Links},
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
