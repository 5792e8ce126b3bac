"""The endpoints of proposals, activity and undo, in every API whose writes can be proposed."""

from __future__ import annotations

import json
from typing import Annotated, Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from commonplace.domain import proposals
from commonplace.domain.activity import KEPT_DAYS
from commonplace.domain.addresses import parse_document_address
from commonplace.domain.errors import InvalidInputError
from commonplace.faces.activity_output import session_json, undo_json, write_json
from commonplace.faces.proposal_output import accept_json, accepted, part_json, proposal_json, report_json
from commonplace.faces.rest.endpoint import (
    PATH_FACTS,
    REVISION_PATTERN,
    Endpoint,
    QueryParameters,
    RequestBody,
    RestRequest,
    RestResponse,
)
from commonplace.services import activity
from commonplace.services.proposals import decisions, reports
from commonplace.services.proposals.decisions import FoundProposal, ProposalFilter
from commonplace.services.proposals.selection import AcceptRequest

MAX_ROWS = 1_000
MAX_FILES = 100
MAX_WORD = 5_000

State = Literal["open", "accepted", "declined", "withdrawn"]
PageName = Annotated[str, Field(max_length=1_000, description="The page's path, name or title")]
Word = Annotated[str, Field(max_length=MAX_WORD, description="What the proposer reads")]
Tip = Annotated[
    str,
    Field(
        pattern="^[0-9a-f]{40}$",
        description="The latest commit that was shown, as its whole id; without it nothing is checked",
    ),
]


class AcceptedPart(BaseModel):
    """A part of a proposal that was accepted while the rest went on waiting."""

    commit: Annotated[str, Field(description="The commit; empty if the files were written without one")]
    pages: Annotated[str, Field(description="The files, in words")]
    word: Annotated[str, Field(description="The words with which they were accepted")]


class Proposal(BaseModel):
    """Writes that wait for a person, or that somebody has decided on."""

    collection: str
    id: str
    state: State
    title: str
    purpose: str
    author: str
    client: Annotated[str, Field(description="The program that proposed, as it names itself")]
    caller: Annotated[str, Field(description="Id of the key that proposed; empty for a local program")]
    when: str
    tip: Annotated[str, Field(description="The latest commit of the proposal's branch")]
    word: Annotated[str, Field(description="The words with which it was accepted or declined")]
    accepted_as: Annotated[str, Field(description="The commit that accepted it; empty for none")]
    edited: Annotated[str, Field(description="The files whose text was edited before it was accepted; empty for none")]
    accepted_before: Annotated[list[AcceptedPart], Field(description="The parts that were accepted, oldest first")]


class Proposals(BaseModel):
    """Proposals, newest first."""

    proposals: list[Proposal]
    total: int


class ProposalConflict(BaseModel):
    """A place that the proposal and a later write changed differently."""

    line: int
    base: str
    proposed: str
    current: str
    reason: Annotated[str, Field(description="What became of the page; empty if both sides changed its lines")]
    hint: Annotated[str, Field(description="What to do about that")]


class ProposalFinding(BaseModel):
    """Something wrong with a page."""

    path: str
    line: int
    rule: str
    message: str


class ProposedPage(BaseModel):
    """A file that a proposal changes."""

    path: str
    action: Literal["create", "change", "move", "delete"]
    moved_from: str | None
    base: Annotated[str, Field(description="Revision that the proposer saw; empty for none")]
    proposed: Annotated[str, Field(description="Proposed revision; empty for a deletion")]
    current: Annotated[str, Field(description="Revision of the page that is served; empty for none")]
    now: Annotated[str | None, Field(description="Path of that page, if others have moved it since")]
    diff: Annotated[str, Field(description="Unified diff; empty for a file that is not text")]
    conflicts: list[ProposalConflict]
    new_findings: list[ProposalFinding]
    mended: list[ProposalFinding]


class FullProposal(Proposal):
    """A proposal with some of its files."""

    messages: list[str]
    total: Annotated[int, Field(description="Number of all files")]
    offset: int
    left_out: Annotated[list[str], Field(description="Changed paths that cannot be accepted here")]
    files: list[ProposedPage]


class Acceptance(Proposal):
    """The result of an acceptance; `state` is open if something is left."""

    commit: str
    branch: Annotated[str, Field(description="The branch that was written, if the proposal began on another one")]
    written: list[str]
    removed: list[str]
    left_out: list[str]
    new_findings: list[ProposalFinding]
    mended: Annotated[list[ProposalFinding], Field(description="Only with `dry_run`: what it would end")]
    dry_run: Annotated[bool, Field(description="Whether nothing was written")]


class ProposalsParameters(QueryParameters):
    """Parameters of GET /proposals."""

    state: Literal["open", "closed", "all", "accepted", "declined", "withdrawn"] = "open"
    author: Annotated[str, Field(max_length=200, description="Name or e-mail of the author")] = ""
    client: Annotated[str, Field(max_length=200, description="The program that proposed")] = ""
    page: Annotated[str, Field(max_length=1_000, description="Path of a changed page, or of a folder with one")] = ""
    q: Annotated[str, Field(max_length=200, description="A part of the title, purpose, message, author or client")] = ""
    limit: Annotated[int, Field(ge=1, le=MAX_ROWS)] = 100
    offset: Annotated[int, Field(ge=0)] = 0


class ShowProposalParameters(QueryParameters):
    """Parameters of GET /proposals/{id}."""

    page: Annotated[PageName, Field(description="Show this page only, with the findings of accepting it alone")] = ""
    section: Annotated[str, Field(max_length=1_000, description="With the findings of this section of it alone")] = ""
    limit: Annotated[int, Field(ge=1, le=MAX_FILES, description="Number of files")] = 20
    offset: Annotated[int, Field(ge=0)] = 0


class Accept(RequestBody):
    """Body of an acceptance."""

    pages: Annotated[list[PageName], Field(max_length=MAX_ROWS, description="Accept only these pages; [] for all")] = (
        Field(default_factory=list)
    )
    section: Annotated[str, Field(max_length=1_000, description="Accept only this section of the one page")] = ""
    text: Annotated[str | None, Field(description="The final text of the one page")] = None
    seen: Annotated[
        str | None,
        Field(
            pattern="^([0-9a-f]{7,64})?$",
            description="`current` of the page over which the text was written, as shown; empty for no page",
        ),
    ] = None
    word: Word = ""
    tip: Tip | None = None
    dry_run: Annotated[bool, Field(description="Only say what would be written, and what that would cause and end")] = (
        False
    )


class Decline(RequestBody):
    """Body of a refusal."""

    word: Word = ""
    tip: Tip | None = None


class Amend(RequestBody):
    """Body of an amendment: a page's text, or nothing to let the next writes of this caller go to the proposal."""

    page: Annotated[str | None, Field(json_schema_extra=PATH_FACTS)] = None
    text: str | None = None
    message: Annotated[str, Field(max_length=2_000)] = ""


def endpoints() -> tuple[Endpoint, ...]:
    """The endpoints in the order of the OpenAPI document."""
    return (
        Endpoint(
            method="GET",
            template="/proposals",
            summary="List proposals: all, or at the tier propose the own ones",
            run=_list,
            answers={200: Proposals},
            tier="propose",
            query=ProposalsParameters,
        ),
        Endpoint(
            method="GET",
            template="/proposals/{id}",
            summary="A proposal: its diffs, conflicts, and the findings that it causes and ends",
            run=_show,
            answers={200: FullProposal},
            tier="propose",
            query=ShowProposalParameters,
            error_statuses=frozenset({404}),
        ),
        *_decisions(),
    )


def _decisions() -> tuple[Endpoint, ...]:
    conflict = frozenset({404, 409})
    return (
        Endpoint(
            method="POST",
            template="/proposals/{id}/accept",
            summary="Accept a proposal, or a part of it, as one commit",
            run=_accept,
            answers={200: Acceptance},
            tier="write",
            proposes=False,
            body=Accept,
            body_needed=False,
            error_statuses=conflict,
        ),
        Endpoint(
            method="POST",
            template="/proposals/{id}/decline",
            summary="Decline a proposal, with a word to the proposer",
            run=_decline,
            answers={200: Proposal},
            tier="write",
            proposes=False,
            body=Decline,
            body_needed=False,
            error_statuses=conflict,
        ),
        Endpoint(
            method="POST",
            template="/proposals/{id}/amend",
            summary="Write a page into a proposal, or let one's next writes go to an own one",
            run=_amend,
            answers={200: Proposal},
            tier="propose",
            body=Amend,
            body_needed=False,
            error_statuses=conflict,
        ),
        Endpoint(
            method="POST",
            template="/proposals/{id}/withdraw",
            summary="Take an own proposal back",
            run=_withdraw,
            answers={200: Proposal},
            tier="propose",
            error_statuses=conflict,
        ),
    )


def _list(request: RestRequest) -> RestResponse:
    query = cast("ProposalsParameters", request.query)
    states = {"open": (False,), "all": (False, True)}.get(query.state, (True,))
    collections = request.served.decided
    state = "" if query.state in {"closed", "all"} else query.state
    only = ProposalFilter(author=query.author, client=query.client, page=query.page, text=query.q, state=state)
    every = [
        proposal
        for closed in states
        for proposal in decisions.listed(collections, request.viewer, closed=closed, only=only)
    ]
    every.sort(key=lambda proposal: (proposal.proposal.when, proposal.proposal.id), reverse=True)
    rows = every[query.offset :][: query.limit]
    return RestResponse(
        Proposals(proposals=[Proposal.model_validate(proposal_json(proposal)) for proposal in rows], total=len(every))
    )


def _show(request: RestRequest) -> RestResponse:
    query = cast("ShowProposalParameters", request.query)
    proposal = _found(request)
    shown = reports.FileRange(page=query.page, section=query.section, offset=query.offset, limit=query.limit)
    report = reports.report(request.served.decided, proposal, shown)
    return RestResponse(FullProposal.model_validate(report_json(proposal, report)))


def _accept(request: RestRequest) -> RestResponse:
    body = request.body if isinstance(request.body, Accept) else Accept()
    accept_request = AcceptRequest(
        pages=tuple(body.pages),
        section=body.section,
        text=body.text,
        word=body.word,
        tip=body.tip or "",
        seen=body.seen,
    )
    proposal = _found(request)
    if body.dry_run:
        part = reports.findings_of_part(request.served.decided, proposal, accept_request)
        return RestResponse(Acceptance.model_validate(part_json(proposal, part)))
    receipt = accepted(proposal, accept_request, request.caller.person, _call)
    return RestResponse(Acceptance.model_validate(accept_json(proposal, receipt)))


def _call(identifier: str, page: str) -> str:
    body = json.dumps({"pages": [page], "text": "..."}, ensure_ascii=False)
    return f"POST /proposals/{identifier}/accept {body}"


def _decline(request: RestRequest) -> RestResponse:
    body = request.body if isinstance(request.body, Decline) else Decline()
    proposal = _found(request)
    return _answer(proposal, decisions.decline(proposal, body.word, request.caller.person, body.tip or ""))


def _amend(request: RestRequest) -> RestResponse:
    body = request.body if isinstance(request.body, Amend) else Amend()
    proposal = _found(request)
    if (body.page is None) is not (body.text is None):
        raise InvalidInputError("A page is amended with its text.", kind="text", hint="Send page and text, or neither.")
    if body.page is None or body.text is None:
        return _answer(proposal, decisions.amend(proposal, request.proposer))
    address = parse_document_address(body.page)
    return _answer(
        proposal, decisions.write_page(proposal, address, body.text.encode(), body.message, request.caller.person)
    )


def _withdraw(request: RestRequest) -> RestResponse:
    proposal = _found(request)
    return _answer(proposal, decisions.withdraw(proposal, request.proposer))


def _found(request: RestRequest) -> FoundProposal:
    return decisions.find(request.served.decided, request.filename, request.viewer)


def _answer(found_proposal: FoundProposal, proposal: proposals.Proposal) -> RestResponse:
    return RestResponse(Proposal.model_validate(proposal_json(FoundProposal(found_proposal.collection, proposal))))


# The endpoints of activity and undo, in every API whose writes can be proposed.


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


def activity_endpoints() -> tuple[Endpoint, ...]:
    """The endpoints in the order of the OpenAPI document."""
    return (
        Endpoint(
            method="GET",
            template="/activity",
            summary="The sessions that wrote in the last 30 days",
            run=_list_sessions,
            answers={200: ActiveSessions},
            tier="write",
            proposes=False,
            query=ActivityParameters,
        ),
        Endpoint(
            method="GET",
            template="/activity/{session}",
            summary="The writes of a session with their diffs, and what it had read before each",
            run=_show_session,
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


def _list_sessions(request: RestRequest) -> RestResponse:
    query = cast("ActivityParameters", request.query)
    activities = activity.sessions(request.services, query.days)
    rows = [
        ActiveSession.model_validate(session_json(session_activity))
        for session_activity in activities[query.offset :][: query.limit]
    ]
    return RestResponse(ActiveSessions(sessions=rows, total=len(activities)))


def _show_session(request: RestRequest) -> RestResponse:
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
