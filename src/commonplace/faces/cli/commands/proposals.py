"""`commonplace proposals`: what waits for a person, and the decision on it."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal, TypeAlias

import typer

from commonplace.domain.addresses import parse_document_address
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import Json
from commonplace.faces.cli.output import shown
from commonplace.faces.cli.session import Session
from commonplace.faces.cli.text_input import read_text
from commonplace.faces.proposal_output import (
    accept_json,
    accept_lines,
    accepted,
    closed_line,
    part_json,
    part_lines,
    proposal_json,
    proposal_line,
    report_json,
    report_lines,
)
from commonplace.services.collections import Collections
from commonplace.services.proposals import decisions, reports
from commonplace.services.proposals.decisions import FoundProposal, ProposalFilter
from commonplace.services.proposals.reports import FileRange
from commonplace.services.proposals.selection import AcceptRequest

ProposalsAction: TypeAlias = Literal["list", "show", "accept", "decline", "amend", "withdraw", "push"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionOptions:
    """The part that is accepted, and the word."""

    pages: Annotated[
        list[str],
        typer.Option("--page", metavar="PAGE", help="Accept only this page, or list what changes it. May be repeated."),
    ] = field(default_factory=list[str])
    section: Annotated[str, typer.Option(metavar="HEADING", help="Accept this section of the one --page only.")] = ""
    text: Annotated[
        str, typer.Option(metavar="FILE", help="Write FILE (- for standard input) as the one --page: its final text.")
    ] = ""
    seen: Annotated[
        str | None,
        typer.Option(metavar="REVISION", help="Write --text only over this revision; see current in show --json."),
    ] = None
    word: Annotated[str, typer.Option("--word", "-m", metavar="TEXT", help="What the proposer reads.")] = ""
    tip: Annotated[
        str | None,
        typer.Option(metavar="COMMIT", help="Accept only if this is still its latest commit; see show --json."),
    ] = None
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Accept nothing; say what would be written, and what that would cause.")
    ] = False
    offset: Annotated[int, typer.Option(metavar="N", min=0, help="Show the files after the first N.")] = 0
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Show at most N files.")] = None
    all_: Annotated[bool, typer.Option("--all", help="List closed proposals, too.")] = False
    author: Annotated[str, typer.Option(metavar="NAME", help="List those of an author, by name or e-mail.")] = ""
    client: Annotated[str, typer.Option(metavar="NAME", help="List those of a program.")] = ""
    matching: Annotated[
        str, typer.Option(metavar="TEXT", help="List those with TEXT in title, purpose, message, author or program.")
    ] = ""
    state: Annotated[
        Literal["open", "accepted", "declined", "withdrawn"] | None,
        typer.Option(help="List those of a state instead of the open ones."),
    ] = None


PROPOSALS_JSON = """As JSON, a proposal is `{"collection", "id", "state", "title", "purpose", "author", "client",
"caller", "when", "tip", "word", "accepted_as", "edited", "accepted_before"}`; `state` is `open`, `accepted`,
`declined` or `withdrawn`, and `edited` names the files whose text was edited before it was accepted;
`accepted_before` has `commit` and `pages` of each part that was accepted. The list is `{"proposals": [..]}`. `show`
adds `messages`, `total`, `offset`, `left_out` (changed paths that cannot be accepted here) and `files`, each with
`path`, `action` (`create`, `change`, `move`, `delete`), `moved_from`, `base`, `proposed`, `current`, `diff`, `now`
(path of the page, if others have moved it since), `conflicts` (`line`, `base`, `proposed`, `current`),
`new_findings` and `mended`: of one page, those of accepting it alone. `accept` adds `commit`, `branch` (if the
proposal began on another one), `written`, `removed`, `left_out`, `new_findings`, and with `--dry-run` `mended`;
`push` gives `{"pushed": TEXT}`."""


def proposals_command(
    session: Session,
    action: Annotated[ProposalsAction, typer.Argument(metavar="ACTION", hidden=True)] = "list",
    identifier: Annotated[str, typer.Argument(metavar="ID", hidden=True)] = "",
    names: Annotated[list[str] | None, typer.Argument(metavar="PAGE", hidden=True)] = None,
    *,
    how: DecisionOptions,
) -> None:
    """List proposals, show them, and decide on them.

    Examples:
        commonplace proposals
        commonplace proposals show 20260301-1a2b3c
        commonplace proposals accept 20260301-1a2b3c
        commonplace proposals accept 20260301-1a2b3c idea --section Plan
        commonplace proposals accept 20260301-1a2b3c --page idea --text final.md
        commonplace proposals decline 20260301-1a2b3c --word "Keep the title"
        commonplace proposals list --client my-agent --page inbox --matching "clean up"
        commonplace proposals amend 20260301-1a2b3c idea.md better.md

    ACTION is list, show, accept, decline, amend, withdraw or push. A proposal is what an agent or person with the tier
    propose has written: a branch that waits for a decision. Accept merges it into what the pages say now, and refuses
    where both changed the same place. Amend writes PAGE from FILE into the proposal. Withdraw takes it back, decline
    leaves a word for the proposer, and takes several IDs, and push sends its branch to the remote origin.
    """
    names = names or []
    _require_arguments(action, identifier, names, how)
    if action == "list":
        with session.opened_as_is() as collections:
            _list(session, collections, how)
        return
    if action in {"show", "accept"}:
        how = replace(how, pages=[*names, *how.pages])
    if action == "show":
        with session.opened() as collections:
            _show(session, collections, identifier, how)
        return
    page, file, *_ = [*names, "", ""]
    with session.opened_for_writing(commit=True) as collections:
        found_proposal = decisions.find(collections, identifier)
        if action == "decline" and names:
            _decline_all(session, collections, [identifier, *names], how)
        elif action == "accept":
            _accept(session, collections, found_proposal, how)
        elif action == "amend":
            _amend(session, found_proposal, page, file or "-", how.word)
        else:
            _other_actions(action)(session, found_proposal, how)


def _require_arguments(action: ProposalsAction, identifier: str, names: list[str], how: DecisionOptions) -> None:
    """Check that an action has what it needs, and nothing that it would ignore: a decision is never larger than said.

    Raises:
        InvalidInputError: kind "argument".
    """
    if action != "list" and not identifier:
        raise InvalidInputError("Which proposal? Give its ID.", kind="argument", hint="Run: commonplace proposals")
    most = {"list": 0, "show": 1, "amend": 2, "withdraw": 0, "push": 0}.get(action, len(names))
    extra = [identifier, *names] if action == "list" and identifier else names[most:]
    if extra:
        raise InvalidInputError(
            f"{action} does not take {' '.join(map(shlex.quote, extra))}.",
            kind="argument",
            hint="Give --page PAGE to list what changes a page." if action == "list" else "Run it for each proposal.",
        )
    if action in {"decline", "withdraw", "push"} and any((how.pages, how.section, how.text)):
        raise InvalidInputError(
            f"{action} is for a whole proposal, not for a part of it.",
            kind="argument",
            hint="Accept the other part with --page, then decline what is left.",
        )


def _show(session: Session, collections: Collections, identifier: str, how: DecisionOptions) -> None:
    proposal = decisions.find(collections, identifier)
    if len(how.pages) > 1:
        raise InvalidInputError("Show one page at a time.", kind="argument", hint="Or all of the proposal.")
    page = session.relative(how.pages[0]) if how.pages else ""
    files = FileRange(page=page, section=how.section, offset=how.offset, limit=how.limit)
    report = reports.report(collections, proposal, files)
    _say(session, report_json(proposal, report), report_lines(proposal, report))


def _accept(session: Session, collections: Collections, proposal: FoundProposal, how: DecisionOptions) -> None:
    if how.dry_run:
        part = reports.findings_of_part(collections, proposal, _request(session, how))
        _say(session, part_json(proposal, part), part_lines(proposal, part))
        return
    receipt = accepted(proposal, _request(session, how), None, _call)
    _say(session, accept_json(proposal, receipt), accept_lines(receipt))


def _call(identifier: str, page: str) -> str:
    return f"commonplace proposals accept {identifier} --page {shlex.quote(page)} --text FILE"


def _other_actions(action: ProposalsAction) -> Callable[[Session, FoundProposal, DecisionOptions], None]:
    return {"decline": _decline, "withdraw": _withdraw, "push": _push}[action]


def _list(session: Session, collections: Collections, how: DecisionOptions) -> None:
    if not any(collection.proposals is not None for collection in collections):
        decisions.branches_of(collections.members[0])
    proposals = _listed(session, collections, how)
    rows: list[Json] = [proposal_json(proposal) for proposal in proposals]
    if session.out.as_json:
        session.out.json({"proposals": rows})
        return
    for proposal in proposals:
        session.out.line(shown(proposal_line(proposal)))
    if not proposals:
        session.out.message("There are no proposals.")


def _listed(session: Session, collections: Collections, how: DecisionOptions) -> list[FoundProposal]:
    """The proposals that the options take, each once."""
    states = (False, True) if how.all_ or how.state not in {None, "open"} else (False,)
    proposals: dict[str, FoundProposal] = {}
    for page in how.pages or [""]:
        place, state = session.relative(page) if page else "", how.state or ""
        only = ProposalFilter(author=how.author, client=how.client, page=place, text=how.matching, state=state)
        for closed in states:
            proposals |= {row.proposal.id: row for row in decisions.listed(collections, closed=closed, only=only)}
    return list(proposals.values())


def _request(session: Session, how: DecisionOptions) -> AcceptRequest:
    pages = tuple(session.relative(page) for page in how.pages)
    text = read_text(how.text, session.out).decode() if how.text else None
    return AcceptRequest(pages=pages, section=how.section, text=text, word=how.word, tip=_tip(how), seen=how.seen)


def _tip(how: DecisionOptions) -> str:
    if how.tip == "":  # an unset variable of a script must not switch the check off
        raise InvalidInputError(
            "The commit of --tip is empty.", kind="tip", hint="Give the tip that show --json names."
        )
    return how.tip or ""


def _amend(session: Session, proposal: FoundProposal, page: str, file: str, message: str) -> None:
    if not page:
        raise InvalidInputError("Which page? Give PAGE and FILE.", kind="argument", hint="FILE is - by default.")
    address = parse_document_address(session.relative(page))
    amended = decisions.write_page(proposal, address, read_text(file, session.out), message)
    now = FoundProposal(proposal.collection, amended)
    _say(session, proposal_json(now), [f"Amended {now.proposal.id}: {address.path}"])


def _decline(session: Session, proposal: FoundProposal, how: DecisionOptions) -> None:
    closed = decisions.decline(proposal, how.word, tip=_tip(how))
    _say(session, proposal_json(FoundProposal(proposal.collection, closed)), closed_line(closed).split("\n"))


def _decline_all(session: Session, collections: Collections, identifiers: list[str], how: DecisionOptions) -> None:
    if _tip(how):
        raise InvalidInputError("A tip is that of one proposal.", kind="tip", hint="Decline them one by one.")
    proposals = [decisions.find(collections, identifier) for identifier in dict.fromkeys(identifiers)]
    closed = decisions.decline_all(proposals, how.word)
    rows: list[Json] = [
        proposal_json(FoundProposal(proposal.collection, now)) for proposal, now in zip(proposals, closed, strict=True)
    ]
    _say(session, {"proposals": rows}, [line for now in closed for line in closed_line(now).split("\n")])


def _withdraw(session: Session, proposal: FoundProposal, how: DecisionOptions) -> None:
    del how
    closed = decisions.withdraw(proposal, proposal.proposal.proposer)
    _say(session, proposal_json(FoundProposal(proposal.collection, closed)), closed_line(closed).split("\n"))


def _push(session: Session, proposal: FoundProposal, how: DecisionOptions) -> None:
    del how
    decisions.require_open(proposal)
    repository, branch = proposal.collection.store.repository, f"proposals/{proposal.proposal.id}"
    pushed = repository.push("origin", branch) if repository else f"The remote has {branch} already."
    _say(session, {"pushed": pushed}, [pushed])


def _say(session: Session, value: dict[str, Json], lines: list[str]) -> None:
    if session.out.as_json:
        session.out.json(value)
        return
    for line in lines:
        session.out.line(shown(line))  # the text of a proposer must not move the cursor
