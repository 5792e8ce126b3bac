"""The tool `proposals`: who proposes follows the own ones, and who may write decides."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import unquote

from pydantic import Field

from commonplace.domain.errors import ConfigError, ConflictError, ForbiddenError, InvalidInputError
from commonplace.domain.proposals import Proposer
from commonplace.faces.lazy_module import LazyModule
from commonplace.faces.mcp.toolset import (
    DECIDING,
    PROPOSE,
    Call,
    Parameters,
    Resource,
    ResourceContents,
    Resources,
    ResourceTemplate,
    Tool,
    ToolResult,
    Toolset,
    bind,
)
from commonplace.settings import Tier

if TYPE_CHECKING:
    from commonplace.faces import activity_output, proposal_output
    from commonplace.services import activity
    from commonplace.services.collections import Collections
    from commonplace.services.proposals import decisions, reports, views
else:
    decisions = LazyModule("commonplace.services.proposals.decisions")
    reports = LazyModule("commonplace.services.proposals.reports")
    views = LazyModule("commonplace.services.proposals.views")
    proposal_output = LazyModule("commonplace.faces.proposal_output")
    activity = LazyModule("commonplace.services.activity")
    activity_output = LazyModule("commonplace.faces.activity_output")

MAX_LISTED = 100
"""Maximum number of proposals in an answer."""
SESSION_DIGITS = 16
"""Number of digits of the id of a session."""
MAX_FILES = 50
"""Maximum number of files of a proposal in an answer."""
MAX_SHOWN = 20_000
"""Maximum number of characters of diffs in an answer; about 6,000 tokens."""
SCHEME = "proposals://"
OPEN_URI = f"{SCHEME}open"
PLAIN = "text/plain"
_DECISIONS = frozenset({"accept", "decline", "undo"})


class ProposalParameters(Parameters):
    """`proposals`."""

    action: Literal["list", "show", "accept", "decline", "amend", "withdraw", "undo"]
    id: str | None = None
    page: Annotated[str | None, Field(description="a page; to accept also page#Heading")] = None
    text: str | None = None
    tip: str | None = None
    offset: Annotated[int | None, Field(ge=0)] = None
    word: Annotated[str | None, Field(max_length=5_000)] = None


def proposals(call: Call, arguments: ProposalParameters) -> ToolResult:
    """List, show, accept, decline, amend or withdraw proposals; or undo what was written."""
    collections = (call.served or call.services).decided
    own = call.proposer or Proposer()
    viewer = own if call.tier == PROPOSE else None
    action = arguments.action
    if action in _DECISIONS and viewer is not None:
        raise ForbiddenError(
            f"A person decides on proposals: {action} needs the tier write.",
            kind="tier",
            hint="Amend the proposal, or withdraw it.",
        )
    if action in {"list", "undo"}:
        every = viewer is not None
        return _listed(collections, viewer, arguments, closed=every) if action == "list" else _undone(call, arguments)
    if not arguments.id:
        raise InvalidInputError("Which proposal? Give its id.", kind="argument", hint="List the proposals first.")
    return _answer(call, collections, decisions.find(collections, arguments.id, viewer), arguments, own)


def _answer(
    call: Call,
    collections: Collections,
    proposal: decisions.FoundProposal,
    arguments: ProposalParameters,
    own: Proposer,
) -> ToolResult:
    """Show a proposal, or decide on it."""
    match arguments.action:
        case "show":
            return _shown(collections, proposal, arguments.page or "", arguments.offset or 0)
        case "accept":
            return "\n".join(proposal_output.accept_lines(_accepted(call, proposal, arguments)))
        case "decline":
            closed = decisions.decline(proposal, arguments.word or "", call.person, arguments.tip or "")
            return proposal_output.closed_line(closed)
        case "withdraw":
            return proposal_output.closed_line(decisions.withdraw(proposal, own))
        case _:
            return f"Your next writes go to {decisions.amend(proposal, own).id}."


def _undone(call: Call, arguments: ProposalParameters) -> str:
    """Take back a commit, or all writes of a session; without an id, those of the caller's own session."""
    pages = [arguments.page] if arguments.page else []
    name = arguments.id or call.actor.session if call.actor else arguments.id or ""
    if len(name) == SESSION_DIGITS and any(
        session_activity.actor.session == name for session_activity in activity.sessions(call.services)
    ):
        results = activity.undo_session(call.services, name, pages, arguments.word or "", call.person)
    else:
        results = activity.undo_commits(call.services, [name], pages, arguments.word or "", call.person)
    return "\n".join(activity_output.undo_lines(results))


def _listed(
    collections: Collections, viewer: Proposer | None, arguments: ProposalParameters, *, closed: bool = False
) -> str:
    page, text, offset = arguments.page or "", arguments.text or "", arguments.offset or 0
    only = decisions.ProposalFilter(page=page, text=text) if page or text else None
    both = (decisions.listed(collections, viewer, closed=state, only=only) for state in (False, closed))
    rows = list({proposal.proposal.id: proposal for proposal in chain.from_iterable(both)}.values())
    return "\n".join(_part(rows, offset)) or ("No proposal has this page and text." if only else _nothing(collections))


def _part(rows: Sequence[decisions.FoundProposal], offset: int) -> list[str]:
    """The lines of some proposals of a list, and how to see the others."""
    total, end = len(rows), offset + MAX_LISTED
    lines = [proposal_output.proposal_line(proposal) for proposal in rows[offset:end]]
    if total > end:
        lines.append(f"and {total - end} more: list with offset {end}, or narrow it: page (or folder), text (words)")
    if total and not lines:
        lines.append(f"There are {total} proposals, none after the first {offset}.")
    return lines


def _nothing(collections: Collections) -> str:
    """The answer where nothing waits: that, or the reason why nothing can, and what to do."""
    if any(collection.proposals is not None for collection in collections):
        return "There are no proposals."
    collection = collections.members[0]
    reason, hint = views.refusal_of(collection)
    return f"{collection.name} takes no proposals: {reason}. {hint}"


def _shown(collections: Collections, proposal: decisions.FoundProposal, page: str = "", offset: int = 0) -> str:
    name, _, section = page.partition("#")
    shown = reports.FileRange(page=name, section=section.replace("#", " > "), offset=offset, limit=MAX_FILES)
    report = reports.report(collections, proposal, shown)
    return "\n".join(proposal_output.report_lines(proposal, report, MAX_SHOWN))


def _accepted(call: Call, proposal: decisions.FoundProposal, arguments: ProposalParameters) -> decisions.AcceptReceipt:
    """Accept a proposal; a final text goes only over the page that the session was shown.

    Raises:
        ConflictError: the session was not shown the page that the text replaces, or it has changed since.
    """
    request = _request(arguments)
    if request.text is not None and request.pages and call.session is not None:
        file = reports.proposed_file(proposal, request.pages[0])
        served = reports.served_side(proposal, file)
        address = served.address
        shown = call.session.seen(proposal.collection.name, address.path)
        if shown is None and served.current is not None:
            raise ConflictError(
                f"The text would replace {address.path}, which was not read in this session.",
                kind="document",
                hint="Read the page, then accept with the text that it is to have.",
            )
        request = replace(request, seen=shown.revision if shown else "")
    return proposal_output.accepted(proposal, request, call.person, _call)


def _call(identifier: str, page: str) -> str:
    arguments = {"action": "accept", "id": identifier, "page": page, "text": "..."}
    return f"proposals {json.dumps(arguments, ensure_ascii=False)}"


def _request(arguments: ProposalParameters) -> decisions.AcceptRequest:
    page, _, section = (arguments.page or "").partition("#")
    return decisions.AcceptRequest(
        pages=(page,) if page else (),
        section=section.replace("#", " > "),
        text=arguments.text,
        word=arguments.word or "",
        tip=arguments.tip or "",
    )


PROPOSALS = Tool(
    name="proposals",
    title="Proposals",
    description="Writes that wait for a person: yours to amend or withdraw, or, at tier write, all to decide on.",
    handler=bind(ProposalParameters, proposals),
    tier="propose",
    destructive=True,
)


def _list_resources(call: Call, offset: int, limit: int) -> tuple[Sequence[Resource], bool]:
    """The list of proposals. Each one has a URI of the template."""
    del call
    listed = Resource(uri=OPEN_URI, name="proposals", title="What waits for a person", mime_type=PLAIN)
    return [listed][offset : offset + limit], False


def _read_resource(call: Call, uri: str) -> ResourceContents:
    """The list of open proposals, or one proposal.

    Raises:
        NotFoundError: there is no such proposal, or it is not shown to this caller.
    """
    collections = (call.served or call.services).decided
    viewer = call.proposer if call.tier == PROPOSE else None
    if uri == OPEN_URI:
        return ResourceContents(_listed(collections, viewer, ProposalParameters(action="list")), PLAIN)
    proposal = decisions.find(collections, unquote(uri.removeprefix(SCHEME)), viewer)
    return ResourceContents(_shown(collections, proposal), PLAIN)


RESOURCES = Resources(
    templates=(
        ResourceTemplate(
            uri_template=f"{SCHEME}{{id}}",
            name="proposal",
            title="A proposal",
            description="Its diffs, conflicts, and the findings that it causes and ends.",
            mime_type=PLAIN,
        ),
    ),
    list=_list_resources,
    read=_read_resource,
)


def resources_with_proposals(own: Resources | None) -> Resources:
    """A toolset's resources, and the proposals."""
    if own is None:
        return RESOURCES

    def listed(call: Call, offset: int, limit: int) -> tuple[Sequence[Resource], bool]:
        first, _ = RESOURCES.list(call, offset, limit)
        rest, more = own.list(call, max(0, offset - 1), limit - len(first))
        return [*first, *rest], more

    def read(call: Call, uri: str) -> ResourceContents:
        return RESOURCES.read(call, uri) if uri.startswith(SCHEME) else own.read(call, uri)

    return replace(own, templates=(*own.templates, *RESOURCES.templates), list=listed, read=read)


def with_proposals(toolset: Toolset, tier: Tier) -> Toolset:
    """A toolset with the tool and the resources of proposals, if callers of this tier have to do with them.

    Raises:
        ConfigError: the toolset takes no proposals.
    """
    tools = tools_with_proposals(toolset, tier)
    if tier not in DECIDING or not any(row.name == PROPOSALS.name for row in tools):
        return replace(toolset, tools=tools)
    return replace(toolset, tools=tools, resources=resources_with_proposals(toolset.resources))


def require_proposals(toolset: Toolset) -> None:
    """Check that a toolset can be served at the tier `propose`.

    Raises:
        ConfigError: it takes no proposals; the message says why, the hint what is valid.
    """
    if not toolset.proposes:
        raise ConfigError(
            f"The toolset {toolset.name} takes no proposals: its tools use more than the served folders.",
            kind="tier",
            hint="Use --tier read or write, or a toolset that is not a plugin's.",
        )


def tools_with_proposals(toolset: Toolset, tier: Tier) -> tuple[Tool, ...]:
    """The tools of a toolset; at the tier `propose` with this tool.

    Raises:
        ConfigError: the toolset takes no proposals.
    """
    if tier == PROPOSE:
        require_proposals(toolset)
    has_tool = any(row.name == PROPOSALS.name for row in toolset.tools)
    return toolset.tools if tier != PROPOSE or has_tool else (*toolset.tools, PROPOSALS)
