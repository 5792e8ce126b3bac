"""Proposals as JSON and as lines of text, the same in every face."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from commonplace.domain.changes import escaped_controls
from commonplace.domain.json import Json
from commonplace.domain.records import iso_timestamp
from commonplace.faces.lazy_module import LazyModule
from commonplace.services.proposals.acceptance import ProposalConflictError
from commonplace.services.proposals.selection import AcceptRequest, shown_paths

if TYPE_CHECKING:
    from commonplace.domain.changes import Author
    from commonplace.domain.findings import NewFinding
    from commonplace.domain.merge import TextConflict
    from commonplace.domain.proposals import Proposal, ProposedFile
    from commonplace.services.proposals import decisions
    from commonplace.services.proposals.decisions import AcceptReceipt, FoundProposal
    from commonplace.services.proposals.reports import FileReport, PartFindings, ProposalReport
else:
    decisions = LazyModule("commonplace.services.proposals.decisions")


MAX_SUBJECTS = 20
"""Maximum number of messages of single changes that are shown."""


def proposal_json(proposal: FoundProposal) -> dict[str, Json]:
    """A proposal in a list."""
    return {"collection": proposal.collection.name, **_facts(proposal.proposal)}


def report_json(proposal: FoundProposal, report: ProposalReport) -> dict[str, Json]:
    """A proposal in full."""
    return {
        **proposal_json(proposal),
        "messages": list(report.messages),
        "total": report.total,
        "offset": report.offset,
        "left_out": list(report.left_out),
        "files": [_file_json(file_report) for file_report in report.files],
    }


def accept_json(proposal: FoundProposal, receipt: AcceptReceipt) -> dict[str, Json]:
    """The result of an acceptance."""
    return {
        "collection": proposal.collection.name,
        **_facts(receipt.proposal),
        "commit": receipt.commit,
        "branch": receipt.branch,
        "written": [address.path for address in receipt.written],
        "removed": [address.path for address in receipt.removed],
        "left_out": list(receipt.left_out),
        "new_findings": [_finding_json(finding) for finding in receipt.new_findings],
        "mended": [_finding_json(finding) for finding in receipt.mended],
        "dry_run": False,
    }


def accepted(
    proposal: FoundProposal, request: AcceptRequest, person: Author | None, call: Callable[[str, str], str]
) -> AcceptReceipt:
    """Accept a proposal as `services.proposals.decisions.accept` does.

    Args:
        proposal: The proposal.
        request: What is accepted of it.
        person: Who accepts.
        call: Returns the face's own call that accepts a page with a text: by the proposal's id and the page.

    Raises:
        ProposalConflictError: later writes changed the same places. The hint has that call, if a final text helps.
        KnowledgeError: as from the service.
    """
    try:
        return decisions.accept(proposal, request, person)
    except ProposalConflictError as error:
        if "final text" in error.hint:
            error.hint += f" The call: {call(proposal.proposal.id, error.conflicts[0].address.path)}"
        raise


def proposal_line(found_proposal: FoundProposal) -> str:
    """A proposal in a list."""
    proposal = found_proposal.proposal
    day = iso_timestamp(proposal.when)[:16].replace("T", " ")
    who = proposal.proposer.client or proposal.author.name
    part = "accepted in part" if proposal.accepted and proposal.state != "accepted" else ""
    states = ", ".join(filter(None, ["" if proposal.state == "open" else proposal.state, part]))
    word = f" ({states})" if states else ""
    return one_line(f"{proposal.id}  {day}  {who}  {proposal.title}{word}")


def report_lines(proposal: FoundProposal, report: ProposalReport, budget: int | None = None) -> list[str]:
    """A proposal in full, or as much of it as fits. What is left out is said.

    Args:
        proposal: The proposal.
        report: What is shown of it.
        budget: Maximum number of characters of files, of which the first is shown in any case; None for no maximum.
    """
    lines = [*_head_lines(proposal, report)]
    left = MAX_CHARS if budget is None else budget
    for number, file in enumerate(report.files):
        block = _file_lines(file)
        size = sum(len(element) + 1 for element in block)
        if size > left and number:
            return [*lines, "", _rest_line(report, number)]
        lines += ["", *(block if size <= left else _cut(block, left))]
        left -= size
    return [*lines, "", _rest_line(report, len(report.files))] if _rest_of(report, len(report.files)) else lines


MAX_CHARS = 1 << 62


def _rest_of(report: ProposalReport, shown: int) -> int:
    return 0 if len(report.files) == 1 and report.total > 1 else report.total - report.offset - shown


def _rest_line(report: ProposalReport, shown: int) -> str:
    last = report.offset + shown
    return (
        f"Files {report.offset + 1:,} to {last:,} of {report.total:,} are shown. "
        f"Show the next ones with offset {last}, or one with page."
    )


def _cut(lines: list[str], budget: int) -> list[str]:
    """The beginning of a diff that is too long, and how much is left out."""
    shown: list[str] = []
    for line in lines:
        budget -= len(line) + 1
        if budget < 0:
            break
        shown.append(line)
    return [*shown, f"{len(lines) - len(shown):,} more lines of this diff are left out."]


def _head_lines(found_proposal: FoundProposal, report: ProposalReport) -> list[str]:
    proposal = found_proposal.proposal
    lines = [f"{proposal_line(found_proposal)}  tip {proposal.tip[:12]}"]
    if proposal.word:
        lines.append(one_line(f"{proposal.state.capitalize()}: {proposal.word}"))
    lines += [one_line(proposal.edits)] if proposal.edits else []
    lines += accepted_lines(proposal)
    subjects = list(dict.fromkeys(message.partition("\n")[0] for message in report.messages))
    if len(subjects) > 1:
        lines += [one_line(f"- {subject}") for subject in subjects[:MAX_SUBJECTS]]
        lines += [f"and {len(subjects) - MAX_SUBJECTS:,} more"] if len(subjects) > MAX_SUBJECTS else []
    if report.left_out:
        lines.append(one_line(f"! cannot be accepted here: {shown_paths(report.left_out)}"))
    return lines


def _file_lines(file: FileReport) -> list[str]:
    return [
        *diff_lines(_action_line(file.file), file.diff),
        *([one_line(f"moved since: the page is {file.now.path} now")] if file.now else []),
        *(one_line(f"! {_conflict_line(conflict)}") for conflict in file.conflicts),
        *(one_line(f"! {finding.path}: {finding.message}") for finding in file.new_findings),
        *(one_line(f"mends {finding.path}: {finding.message}") for finding in file.mended),
    ]


def diff_lines(title: str, diff: str) -> list[str]:
    """A unified diff below a title, without its two lines of names."""
    return [one_line(title), *map(escaped_controls, diff.removesuffix("\n").split("\n")[2:])]


def _conflict_line(conflict: TextConflict) -> str:
    if conflict.reason:
        return f"{conflict.reason} {conflict.hint}"
    return f"changed since, at line {conflict.line}: accept it with its final text"


def accept_lines(receipt: AcceptReceipt) -> list[str]:
    """The result of an acceptance."""
    proposal = receipt.proposal
    paths = (
        ", ".join(address.path for address in (*receipt.written, *receipt.removed))
        or "nothing that was not there already"
    )
    commit = f"  commit {receipt.commit[:12]}" if receipt.commit else ""
    branch = f" on {receipt.branch}; it began on {proposal.branch}" if receipt.branch else ""
    left = "; the rest stays proposed" if proposal.state == "open" else ""
    if receipt.left_out:
        left += f", and these paths cannot be accepted here: {shown_paths(receipt.left_out)}"
    lines = [one_line(f"Accepted {proposal.id}: {paths}{commit}{branch}{left}")]
    return [*lines, *(one_line(f"! {finding.path}: {finding.message}") for finding in receipt.new_findings)]


def part_json(proposal: FoundProposal, part: PartFindings) -> dict[str, Json]:
    """A trial of an acceptance, as the result of one that wrote nothing."""
    now = proposal.proposal
    receipt = decisions.AcceptReceipt(now, "", "", part.written, part.removed, part.new_findings, mended=part.mended)
    return {**accept_json(proposal, receipt), "dry_run": True}


def part_lines(proposal: FoundProposal, part: PartFindings) -> list[str]:
    """A trial of an acceptance."""
    paths = ", ".join(address.path for address in (*part.written, *part.removed)) or "nothing"
    return [
        one_line(f"Would accept of {proposal.proposal.id}: {paths}"),
        *(one_line(f"! {finding.path}: {finding.message}") for finding in part.new_findings),
        *(one_line(f"mends {finding.path}: {finding.message}") for finding in part.mended),
    ]


def accepted_lines(proposal: Proposal) -> list[str]:
    """The parts of a proposal that were accepted before the rest of it was decided on."""
    return [one_line(f"Accepted before: {part.line}") for part in proposal.accepted]


def closed_line(proposal: Proposal) -> str:
    """A proposal that was just declined or withdrawn, and what of it was accepted before."""
    return "\n".join([f"{proposal.state.capitalize()} {proposal.id}.", *accepted_lines(proposal)])


def one_line(text: str) -> str:
    """A text from a repository, without line breaks and control characters."""
    return "".join(char if char.isprintable() else " " for char in text.replace("\n", " ")).rstrip()


def _facts(proposal: Proposal) -> dict[str, Json]:
    return {
        "id": proposal.id,
        "state": proposal.state,
        "title": proposal.title,
        "purpose": proposal.proposer.purpose,
        "author": proposal.author.name,
        "client": proposal.proposer.client,
        "caller": proposal.proposer.caller,
        "when": iso_timestamp(proposal.when),
        "tip": proposal.tip,
        "word": proposal.word,
        "accepted_as": proposal.commit,
        "edited": proposal.edited,
        "accepted_before": [
            {"commit": part.commit, "pages": part.pages, "word": part.word} for part in proposal.accepted
        ],
    }


def _file_json(report: FileReport) -> dict[str, Json]:
    file = report.file
    return {
        "path": file.address.path,
        "action": _action(file),
        "moved_from": file.moved_from.path if file.moved_from else None,
        "base": file.base,
        "proposed": file.proposed,
        "current": report.current,
        "now": report.now.path if report.now else None,
        "diff": report.diff,
        "conflicts": [
            {
                "line": conflict.line,
                "base": _text(conflict.base),
                "proposed": _text(conflict.proposed),
                "current": _text(conflict.current),
                "reason": conflict.reason,
                "hint": conflict.hint,
            }
            for conflict in report.conflicts
        ],
        "new_findings": [_finding_json(finding) for finding in report.new_findings],
        "mended": [_finding_json(finding) for finding in report.mended],
    }


def _finding_json(finding: NewFinding) -> Json:
    return {"path": finding.path, "line": finding.line, "rule": finding.rule, "message": finding.message}


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _action(file: ProposedFile) -> str:
    if not file.proposed:
        return "delete"
    return "move" if file.moved_from else "change" if file.base else "create"


def _action_line(file: ProposedFile) -> str:
    if file.moved_from:
        return f"renamed from {file.moved_from.path} to {file.address.path}"
    return f"{_action(file)} {file.address.path}"
