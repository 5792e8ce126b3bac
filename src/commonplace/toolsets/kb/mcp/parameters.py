"""Parameter models of the tools of the `kb` toolset, and the URIs of its resources.

Clients receive the models as schemas; arguments are validated by them.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, JsonValue, WithJsonSchema

from commonplace.faces.mcp.toolset import Parameters
from commonplace.services.extensions import DEFAULT_TYPE

Values = Annotated[dict[str, JsonValue], WithJsonSchema({"type": "object"})]
Limit = Annotated[int, Field(ge=1, le=200)]
Offset = Annotated[int, Field(ge=0)]
Day = Annotated[str, Field(description="YYYY-MM-DD")]

Tokens = Annotated[int, Field(ge=200, le=100_000)]
Importance = Annotated[int, Field(ge=1, le=10)]

REFERENCE_SCHEME = "pyrite"
"""Scheme of the bare resources: an array of bases, an array of entries, one entry."""
SCHEMES = (REFERENCE_SCHEME, "commonplace")
JSON_TYPE = "application/json"
"""Media type of all resources but the files."""


class KbList(Parameters):
    """Arguments of kb_list."""


class KbSearch(Parameters):
    """Arguments of kb_search."""

    query: str
    kb_name: str | None = None
    entry_type: str | None = None
    tags: list[str] | None = None
    date_from: Day | None = None
    date_to: Day | None = None
    status: str | None = None
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    offset: Offset = 0
    mode: Literal["keyword", "semantic", "hybrid"] = "hybrid"
    include_body: bool = False
    fields: list[str] | None = None
    max_tokens: Tokens | None = None


class KbGet(Parameters):
    """Arguments of kb_get."""

    entry_id: str
    kb_name: str | None = None
    fields: list[str] | None = None
    body_offset: Offset = 0
    body_limit: Annotated[int, Field(ge=1, le=50_000)] = 8000
    max_tokens: Tokens | None = None
    query: Annotated[str, Field(description="with max_tokens: its sections that answer this")] | None = None


class KbReadBody(Parameters):
    """Arguments of kb_read_body."""

    entry_id: str
    kb_name: str | None = None
    body_offset: Offset = 0
    body_limit: Annotated[int, Field(ge=1, le=50_000)] = 8000


class EntryName(Parameters):
    """One entry of a batch."""

    entry_id: str
    kb_name: str | None = None


class KbBatchRead(Parameters):
    """Arguments of kb_batch_read."""

    entries: Annotated[list[EntryName], Field(min_length=1, max_length=50)]
    fields: list[str] | None = None
    body_offset: Offset = 0
    body_limit: Annotated[int, Field(ge=1, le=50_000)] = 8000


class KbTimeline(Parameters):
    """Arguments of kb_timeline."""

    date_from: Day | None = None
    date_to: Day | None = None
    min_importance: Annotated[int, Field(ge=1, le=10)] = 1
    limit: Limit = 50
    offset: Offset = 0


class KbBacklinks(Parameters):
    """Arguments of kb_backlinks."""

    entry_id: str
    kb_name: str
    limit: Limit = 100
    offset: Offset = 0


class KbTags(Parameters):
    """Arguments of kb_tags."""

    kb_name: str | None = None
    prefix: str | None = None
    tree: bool = False
    limit: Limit = 100
    offset: Offset = 0


class KbStats(Parameters):
    """Arguments of kb_stats."""


class KbSchema(Parameters):
    """Arguments of kb_schema."""

    kb_name: str


class KbOrient(Parameters):
    """Arguments of kb_orient."""

    kb_name: str
    recent_limit: Annotated[int, Field(ge=0, le=50)] = 5


class KbListEntries(Parameters):
    """Arguments of kb_list_entries."""

    kb_name: str | None = None
    entry_type: str | None = None
    tag: str | None = None
    sort_by: Literal["title", "updated_at", "created_at", "entry_type"] = "title"
    sort_order: Literal["asc", "desc"] = "asc"
    limit: Limit = 50
    offset: Offset = 0
    fields: list[str] | None = None


class KbRecent(Parameters):
    """Arguments of kb_recent."""

    kb_name: str | None = None
    entry_type: str | None = None
    limit: Limit = 20
    since: Day | None = None
    fields: list[str] | None = None


class KbQaValidate(Parameters):
    """Arguments of kb_qa_validate."""

    kb_name: str | None = None
    entry_id: str | None = None
    severity: Literal["error", "warning", "info"] = "warning"
    limit: Limit = 50
    offset: Offset = 0


class KbQaStatus(Parameters):
    """Arguments of kb_qa_status."""

    kb_name: str | None = None


class NewEntryArguments(Parameters):
    """A new entry, but for its type; further names are fields of the type."""

    model_config = ConfigDict(extra="allow")

    title: Annotated[str, Field(min_length=1, max_length=300)]
    body: str = ""
    date: Day | None = None
    importance: Importance | None = None
    tags: list[str] | None = None
    participants: list[str] | None = None
    role: str | None = None
    metadata: Values | None = None


class BulkEntryArguments(NewEntryArguments):
    """A new entry, as an item of kb_bulk_create gives it."""

    entry_type: str = DEFAULT_TYPE


class KbCreate(NewEntryArguments):
    """Arguments of kb_create."""

    kb_name: str
    entry_type: str
    allow_undeclared: bool = False
    validate_: Annotated[bool, Field(alias="validate")] = False


class KbBulkCreate(Parameters):
    """Arguments of kb_bulk_create."""

    kb_name: str
    entries: Annotated[list[Values], Field(min_length=1, max_length=50)]
    allow_undeclared: bool = False


class KbQaAssess(Parameters):
    """Arguments of kb_qa_assess."""

    kb_name: str
    entry_id: str | None = None
    max_age_hours: Annotated[float, Field(ge=0)] = 24


class KbIndexSync(Parameters):
    """Arguments of kb_index_sync."""

    kb_name: str | None = None
    background: bool = False


class KbManage(Parameters):
    """Arguments of kb_manage."""

    action: Literal["discover", "validate", "show_schema", "add_type", "remove_type", "set_schema"]
    kb_name: str | None = None
    type_name: str | None = None
    type_def: Values | None = None
    schema_: Annotated[Values | None, Field(alias="schema")] = None


class KbCommit(Parameters):
    """Arguments of kb_commit."""

    kb: str
    message: Annotated[str, Field(min_length=1, max_length=10_000)]
    paths: list[str] | None = None
    sign_off: bool = False


class KbPush(Parameters):
    """Arguments of kb_push."""

    kb: str
    remote: str = "origin"
    branch: str | None = None


class KbUpdate(Parameters):
    """Arguments of kb_update; further names are fields of the entry's type."""

    model_config = ConfigDict(extra="allow")

    entry_id: str
    kb_name: str
    title: Annotated[str, Field(min_length=1, max_length=300)] | None = None
    body: str | None = None
    importance: Importance | None = None
    tags: list[str] | None = None
    participants: list[str] | None = None
    metadata: Values | None = None
    status: str | None = None
    date: Day | None = None
    location: str | None = None
    summary: str | None = None
    revision: str | None = None
    validate_: Annotated[bool, Field(alias="validate")] = False


class KbDelete(Parameters):
    """Arguments of kb_delete."""

    entry_id: str
    kb_name: str
    revision: str | None = None


class KbLink(Parameters):
    """Arguments of kb_link."""

    source_id: str
    source_kb: str
    target_id: str
    relation: Annotated[str, Field(min_length=1)] = "related_to"
    target_kb: str | None = None
    note: str | None = None
    allow_dangling: bool = False
