"""The tool `proposals`: who proposes follows the own ones, and who may write decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from commonplace.domain.errors import ConfigError, ForbiddenError, InvalidInputError
from commonplace.domain.proposals import Proposer
from commonplace.faces.lazy_module import LazyModule
from commonplace.faces.mcp.toolset import PROPOSE, Call, Parameters, Tool, ToolResult, Toolset, bind
from commonplace.settings import Tier

if TYPE_CHECKING:
    from commonplace.faces import proposal_output
    from commonplace.services.proposals import decisions, reports
else:
    decisions = LazyModule("commonplace.services.proposals.decisions")
    reports = LazyModule("commonplace.services.proposals.reports")
    decisions = LazyModule("commonplace.services.proposals.decisions")
    proposal_output = LazyModule("commonplace.faces.proposal_output")

MAX_LISTED = 100
"""Maximum number of proposals in an answer."""
_DECISIONS = frozenset({"accept", "decline"})


class ProposalParameters(Parameters):
    """`proposals`."""

    action: Literal["list", "show", "accept", "decline", "amend", "withdraw"]
    id: str | None = None
    page: Annotated[str | None, Field(description="To accept: a page, page#Heading")] = None
    text: str | None = None
    word: Annotated[str | None, Field(max_length=5_000)] = None


def proposals(call: Call, arguments: ProposalParameters) -> ToolResult:
    """List, show, accept, decline, amend or withdraw proposals."""
    services = call.served or call.services
    own = call.proposer or Proposer()
    viewer = own if call.tier == PROPOSE else None
    action = arguments.action
    if action in _DECISIONS and viewer is not None:
        raise ForbiddenError(
            f"A person decides on proposals: {action} needs the tier write.",
            kind="tier",
            hint="Amend the proposal, or withdraw it.",
        )
    if action == "list":
        both = (decisions.listed(services.collections, viewer, closed=closed) for closed in (False, viewer is not None))
        found = list({one.proposal.id: one for some in both for one in some}.values())
        lines = [proposal_output.proposal_line(one) for one in found[:MAX_LISTED]]
        more = [f"and {len(found) - MAX_LISTED} more"] if len(found) > MAX_LISTED else []
        return "\n".join([*lines, *more]) or "There are no proposals."
    if not arguments.id:
        raise InvalidInputError("Which proposal? Give its id.", kind="argument", hint="List the proposals first.")
    found = decisions.find(services.collections, arguments.id, viewer)
    match action:
        case "show":
            return "\n".join(proposal_output.report_lines(found, reports.report(services.collections, found)))
        case "accept":
            return "\n".join(proposal_output.accept_lines(decisions.accept(found, _request(arguments))))
        case "decline":
            return proposal_output.closed_line(decisions.decline(found, arguments.word or ""))
        case "withdraw":
            return proposal_output.closed_line(decisions.withdraw(found, own))
        case _:
            return f"Your next writes go to {decisions.amend(found, own).id}."


def _request(arguments: ProposalParameters) -> decisions.AcceptRequest:
    page, _, section = (arguments.page or "").partition("#")
    return decisions.AcceptRequest(
        pages=(page,) if page else (),
        section=section.replace("#", " > "),
        text=arguments.text,
        word=arguments.word or "",
    )


PROPOSALS = Tool(
    name="proposals",
    title="Proposals",
    description="Writes that wait for a person: yours to amend or withdraw, or, at tier write, all to decide on.",
    handler=bind(ProposalParameters, proposals),
    tier="propose",
    destructive=True,
)


def tools_with_proposals(toolset: Toolset, tier: Tier) -> tuple[Tool, ...]:
    """The tools of a toolset; at the tier `propose` with this tool.

    Raises:
        ConfigError: the toolset takes no proposals.
    """
    if tier == PROPOSE and not toolset.proposes:
        raise ConfigError(
            f"The toolset {toolset.name} takes no proposals.",
            kind="tier",
            hint="Use --tier read or write, or the toolset notes, kb or wiki.",
        )
    has_tool = any(row.name == PROPOSALS.name for row in toolset.tools)
    return toolset.tools if tier != PROPOSE or has_tool else (*toolset.tools, PROPOSALS)
