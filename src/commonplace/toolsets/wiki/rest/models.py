"""Models of requests, which are validated, and of answers, for the OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field, JsonValue

from commonplace.domain.query import SearchMode, StatusChoice
from commonplace.faces.rest.endpoint import (
    NAME_FACTS,
    PATH_FACTS,
    REVISION_PATTERN,
    QueryParameters,
    RequestBody,
    SchemaFacts,
)
from commonplace.toolsets.wiki.rules import MAX_LINKS, MAX_QUERY, MAX_SEARCH

WORDS: SchemaFacts = {"pattern": r"[^\s\x1c-\x1f\x85]"}
DAY_OR_MOMENT: SchemaFacts = {
    "anyOf": [{"const": ""}, {"type": "string", "format": "date"}, {"type": "string", "format": "date-time"}]
}
OPTIONAL_REVISION = "^(?:[0-9a-fA-F]{7,40})?$"
BASE64 = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
FILENAME_FACTS: SchemaFacts = {**NAME_FACTS, "description": "One part of a path, without the suffix of a page"}
NewPath = Annotated[str, Field(json_schema_extra=PATH_FACTS)]
Filename = Annotated[str, Field(min_length=1, json_schema_extra=FILENAME_FACTS)]
CommitMessageField = Annotated[str | None, Field(max_length=2000, description="One line that says why")]
RevisionField = Annotated[
    str,
    Field(description="40 hex digits, or the first 7 or more of them", json_schema_extra={"pattern": REVISION_PATTERN}),
]
MaybeRevision = Annotated[
    str, Field(description="As `revision`, or empty for none", json_schema_extra={"pattern": OPTIONAL_REVISION})
]
NoticeField = Annotated[
    str,
    Field(exclude_if=lambda value: not value, description="What could not be answered; absent if all was"),
]
TruncatedField = Annotated[
    bool,
    Field(
        exclude_if=lambda value: not value,
        description=f"True if the page has more than {MAX_LINKS:,} links, of which only the first are followed",
    ),
]
MAX_ROWS = 10_000


def _whole(value: object) -> object:
    """A number without a fraction, such as 2.0, as an integer, because JSON Schema counts it as one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class MomentParameters(QueryParameters):
    """Parameters of reads that can be of the past."""

    at: Annotated[
        str, Field(max_length=200, description="As it was: a day, 'yesterday', a commit, a tag, or 'before' with any")
    ] = ""


class ListParameters(MomentParameters):
    """Parameters of GET /pages."""

    prefix: Annotated[str, Field(description="Beginning of the path, without regard to case")] = ""
    category: Annotated[str, Field(description="The whole value, without regard to case")] = ""
    tag: Annotated[str, Field(description="A whole tag of the frontmatter, without regard to case")] = ""
    updated_since: Annotated[str, Field(description="ISO 8601, inclusive", json_schema_extra=DAY_OR_MOMENT)] = ""
    limit: Annotated[int | None, Field(ge=1, le=MAX_ROWS)] = None
    offset: Annotated[int, Field(ge=0, le=10_000_000)] = 0


class RevisionParameters(MomentParameters):
    """Parameters of GET /pages/{path}."""

    revision: MaybeRevision = ""


class DiffParameters(QueryParameters):
    """Parameters of GET /pages/{path}/diff."""

    old: Annotated[RevisionField, Field(alias="from")]
    new: Annotated[MaybeRevision, Field(alias="to")] = ""


class HistoryParameters(QueryParameters):
    """Parameters of GET /pages/{path}/history."""

    limit: Annotated[int, Field(ge=1, le=1000)] = 10


class SearchParameters(MomentParameters):
    """Parameters of GET /search."""

    q: Annotated[str, Field(min_length=1, max_length=MAX_QUERY, json_schema_extra=WORDS)]
    limit: Annotated[int, Field(ge=1, le=MAX_SEARCH)] = 20
    mode: SearchMode = "keyword"
    status: StatusChoice = "any"


class SemanticSearchParameters(QueryParameters):
    """Parameters of GET /semantic-search."""

    q: Annotated[str, Field(min_length=1, max_length=MAX_QUERY, json_schema_extra=WORDS)]
    n: Annotated[int, Field(ge=1, le=50)] = 5
    max_chunks_per_page: Annotated[int, Field(ge=1, le=5)] = 2


class ChangelogParameters(QueryParameters):
    """Parameters of GET /changelog."""

    limit: Annotated[int, Field(ge=1, le=1000)] = 50


class Put(RequestBody):
    """Body of PUT /pages/{path}."""

    content: Annotated[str, Field(description="At most 4,000,000 bytes of UTF-8")]
    commit_message: CommitMessageField = None
    revision: RevisionField | None = None


class Patch(RequestBody):
    """Body of PATCH /pages/{path}."""

    revision: RevisionField
    old_string: Annotated[str, Field(description="Occurs in the page", json_schema_extra={"minLength": 1})]
    new_string: Annotated[str, Field(description="Differs from `old_string`")]
    occurrence: Annotated[
        int,
        Field(ge=0, le=1_000_000, description="Which occurrence, from 1; 0 for the only one"),
        BeforeValidator(_whole),
    ] = 0
    commit_message: CommitMessageField = None


class Delete(RequestBody):
    """Body of DELETE; it may be left out."""

    commit_message: CommitMessageField = None
    revision: RevisionField | None = None


class Rename(RequestBody):
    """Body of POST /pages/{path}/rename."""

    new_path: NewPath
    commit_message: CommitMessageField = None


class Restore(RequestBody):
    """Body of POST /pages/{path}/restore."""

    revision: Annotated[RevisionField, Field(description="The revision whose text is written again")]
    commit_message: CommitMessageField = None


class Upload(RequestBody):
    """Body of POST /pages/{path}/attachments."""

    filename: Filename
    content: Annotated[str, Field(description="base64 of at most 10 MB", json_schema_extra={"pattern": BASE64})]
    commit_message: CommitMessageField = None


class Health(BaseModel):
    """The server is there."""

    status: Literal["ok"] = "ok"


class Summary(BaseModel):
    """A page in a list."""

    name: str
    path: str
    category: str | None
    tags: list[str]
    last_updated: str | None
    content_length: Annotated[int, Field(description="Words of the body")]


class Pages(BaseModel):
    """A list of pages."""

    pages: list[Summary]
    total: int


class Commit(BaseModel):
    """One entry of a history."""

    revision: str
    author: str
    date: Annotated[str, Field(description="ISO 8601, UTC")]
    message: str


class Page(BaseModel):
    """A page."""

    name: str
    path: str
    content: str
    frontmatter: dict[str, JsonValue]
    links_to: list[str]
    linked_from: list[str]
    revision: str
    last_commit: Commit | None
    links_truncated: TruncatedField = False


class Saved(BaseModel):
    """A page that was created or replaced."""

    name: str
    path: str
    revision: str
    created: bool
    unchanged: Annotated[
        bool, Field(exclude_if=lambda value: not value, description="The page held this very text before")
    ] = False


class Edited(BaseModel):
    """A page that was edited."""

    name: str
    path: str
    revision: str


class Deleted(BaseModel):
    """A page that is gone."""

    deleted: Literal[True] = True
    path: str


class Renamed(BaseModel):
    """A page that was moved."""

    old_path: str
    new_path: str
    revision: str
    updated_pages: list[str]
    not_rewritten: Annotated[list[str], Field(description="Pages that are not UTF-8, with links to the old path")]


class Differences(BaseModel):
    """The differences between two revisions of a page."""

    path: str
    old: Annotated[str, Field(serialization_alias="from")]
    new: Annotated[str, Field(serialization_alias="to", description="Empty for the page as it is now")]
    diff: Annotated[str, Field(description="In the unified format; empty for none")]


class History(BaseModel):
    """The commits that touched a page, newest first."""

    path: str
    history: list[Commit]


class Hit(BaseModel):
    """A page that answers a search."""

    name: str
    path: str
    snippet: str
    score: Annotated[float, Field(ge=0, le=1)]


class Hits(BaseModel):
    """Pages that answer a search, best first."""

    query: str
    results: list[Hit]
    total: int
    notice: NoticeField = ""


class Chunk(BaseModel):
    """A piece of a page that is near in meaning."""

    name: str
    path: str
    snippet: str
    text: str
    distance: float
    section: str
    section_path: str
    chunk_index: int
    total_chunks: int
    page_word_count: int


class Chunks(BaseModel):
    """Pieces of pages, nearest first."""

    query: str
    results: list[Chunk]
    total: int
    notice: NoticeField = ""


class Links(BaseModel):
    """The links of a page."""

    path: str
    links_to: list[str]
    linked_from: list[str]
    links_truncated: TruncatedField = False


class Edge(BaseModel):
    """A link between two pages."""

    source: str
    target: str


class Node(BaseModel):
    """A page in the graph."""

    path: str
    exists: Annotated[bool, Field(description="False for a page that is only linked to")]


class Graph(BaseModel):
    """All pages, those that are only linked to, and all links."""

    nodes: list[Node]
    edges: list[Edge]


class ChangeEntry(Commit):
    """A commit with the pages that it touched."""

    pages_affected: list[str]


class Changelog(BaseModel):
    """The latest commits."""

    entries: list[ChangeEntry]
    total: int


class Attachment(BaseModel):
    """A file of a page."""

    filename: str
    size: Annotated[int, Field(description="Bytes")]
    mime_type: str
    last_modified: str | None


class Attachments(BaseModel):
    """The files of a page."""

    attachments: list[Attachment]
    total: int
    path: str


class Uploaded(BaseModel):
    """A file that was added."""

    filename: str
    path: str
    size: int
    mime_type: str


class Downloaded(BaseModel):
    """A file with its bytes."""

    filename: str
    content: Annotated[str, Field(description="base64")]
    size: int
    mime_type: str


class Detached(BaseModel):
    """A file that is gone."""

    deleted: Literal[True] = True
    filename: str
    path: str


class Started(BaseModel):
    """Work that goes on in the background."""

    status: Literal["started"] = "started"


class IndexStatus(BaseModel):
    """Progress of indexing."""

    status: Literal["idle", "running", "failed"]
    pages_indexed: int
    chunks_created: int
