"""The endpoints of activity and undo, in every API whose writes can be proposed."""

from __future__ import annotations

from typing import Annotated, cast

from pydantic import BaseModel, ConfigDict, Field

from commonplace.domain.activity import KEPT_DAYS
from commonplace.domain.errors import InvalidInputError
from commonplace.faces.activity_output import session_json, undo_json, write_json
from commonplace.faces.rest.endpoint import (
    REVISION_PATTERN,
    Endpoint,
    QueryParameters,
    RequestBody,
    RestRequest,
    RestResponse,
)
from commonplace.services import activity

MAX_ROWS = 1_000


class ActiveSession(BaseModel):
    """A session that wrote."""

    session: str
    face: Annotated[str, Field(description="`mcp`, `rest`, `web` or `cli`")]
    client: Annotated[str, Field(description="The program, as it names itself")]
    caller: Annotated[str, Field(description="Id of the key; empty for a local program")]
    name: Annotated[str, Field(description="Name of the key")]
    collections: list[str]
    first: str
    last: str
    writes: int
    proposed: int
    files: Annotated[int, Field(description="Number of different files that it wrote")]
    reads: Annotated[int, Field(description="Number of pages that it read")]
    tools: Annotated[dict[str, int], Field(description="Number of writes by tool")]


class ActiveSessions(BaseModel):
    """The sessions that wrote, the latest first."""

    sessions: list[ActiveSession]
    total: int


class SessionWrite(BaseModel):
    """One write."""

    collection: str
    when: str
    tool: str
    commit: Annotated[str, Field(description="Empty if nothing was committed")]
    proposal: Annotated[str, Field(description="The proposal to which it went; empty for none")]
    subject: str
    files: list[str]
    read_before: Annotated[list[str], Field(description="The pages that the session read since its last write")]
    diff: str


class SessionWrites(BaseModel):
    """The writes of a session, oldest first."""

    session: str
    writes: list[SessionWrite]
    total: int


class Undone(BaseModel):
    """The result of an undo in one collection."""

    collection: str
    commit: Annotated[str, Field(description="The new commit; empty if nothing was left to take back")]
    commits: Annotated[list[str], Field(description="The commits that were taken back, newest first")]
    written: list[str]
    removed: list[str]
    uncommitted: Annotated[int, Field(description="Number of the writes taken back that are no commits")]


class UndoResult(BaseModel):
    """The result of an undo."""

    undone: list[Undone]


class ActivityParameters(QueryParameters):
    """Parameters of GET /activity."""

    days: Annotated[int, Field(ge=1, le=KEPT_DAYS)] = KEPT_DAYS
    limit: Annotated[int, Field(ge=1, le=MAX_ROWS)] = 100
    offset: Annotated[int, Field(ge=0)] = 0


class SessionParameters(QueryParameters):
    """Parameters of GET /activity/{session}."""

    limit: Annotated[int, Field(ge=1, le=MAX_ROWS)] = 100
    offset: Annotated[int, Field(ge=0)] = 0


class Undo(RequestBody):
    """Body of an undo: commits of one collection, or a session."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["commits"], "properties": {"commits": {"minItems": 1}, "session": {"maxLength": 0}}},
                {"required": ["session"], "properties": {"session": {"minLength": 1}, "commits": {"maxItems": 0}}},
            ]
        }
    )

    commits: Annotated[
        list[Annotated[str, Field(json_schema_extra={"pattern": REVISION_PATTERN})]], Field(max_length=MAX_ROWS)
    ] = Field(default_factory=list)
    session: Annotated[str, Field(max_length=100)] = ""
    pages: Annotated[list[str], Field(max_length=MAX_ROWS, description="Take back only these files; [] for all")] = (
        Field(default_factory=list)
    )
    message: Annotated[str, Field(max_length=2_000, description="The commit's message")] = ""


def endpoints() -> tuple[Endpoint, ...]:
    """The endpoints in the order of the OpenAPI document."""
    return (
        Endpoint(
            method="GET",
            template="/activity",
            summary="The sessions that wrote in the last 30 days",
            run=_list,
            answers={200: ActiveSessions},
            tier="write",
            proposes=False,
            query=ActivityParameters,
        ),
        Endpoint(
            method="GET",
            template="/activity/{session}",
            summary="The writes of a session with their diffs, and what it had read before each",
            run=_show,
            answers={200: SessionWrites},
            tier="write",
            proposes=False,
            query=SessionParameters,
            error_statuses=frozenset({404}),
        ),
        Endpoint(
            method="POST",
            template="/undo",
            summary="Take commits, or all writes of a session, back as one new commit",
            run=_undo,
            answers={200: UndoResult},
            tier="write",
            proposes=False,
            body=Undo,
            error_statuses=frozenset({404, 409}),
        ),
    )


def _list(request: RestRequest) -> RestResponse:
    query = cast("ActivityParameters", request.query)
    activities = activity.sessions(request.services, query.days)
    rows = [
        ActiveSession.model_validate(session_json(session_activity))
        for session_activity in activities[query.offset :][: query.limit]
    ]
    return RestResponse(ActiveSessions(sessions=rows, total=len(activities)))


def _show(request: RestRequest) -> RestResponse:
    query = cast("SessionParameters", request.query)
    activities = activity.writes_of(request.services, request.filename)
    rows = [
        SessionWrite.model_validate(write_json(write_activity, activity.diff_of(request.services, write_activity)))
        for write_activity in activities[query.offset :][: query.limit]
    ]
    return RestResponse(SessionWrites(session=request.filename, writes=rows, total=len(activities)))


def _undo(request: RestRequest) -> RestResponse:
    body = cast("Undo", request.body)
    if bool(body.commits) == bool(body.session):
        raise InvalidInputError(
            "What is to be undone? Send commits, or one session.", kind="commits", hint="GET /activity lists both."
        )
    how = body.pages, body.message, request.caller.person
    if body.session:
        results = activity.undo_session(request.services, body.session, *how)
    else:
        results = activity.undo_commits(request.services, body.commits, *how)
    return RestResponse(UndoResult.model_validate(undo_json(results)))
