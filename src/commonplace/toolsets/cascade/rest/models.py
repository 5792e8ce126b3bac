"""Models of requests and answers; fields have the names of the wiki's API."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field, JsonValue

from commonplace.faces.rest.endpoint import QueryParameters

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
