"""A proposal in full, for the person who decides: diffs, conflicts, and the findings that it would cause and end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff

from commonplace.domain.findings import NewFinding
from commonplace.domain.merge import TextConflict, merge_texts
from commonplace.domain.proposals import Proposal, ProposalBranches, ProposedFile
from commonplace.services.collections import Collection, Collections
from commonplace.services.findings import MAX_NEW, new_findings
from commonplace.services.proposals.decisions import FoundProposal
from commonplace.services.proposals.views import proposal_view


@dataclass(frozen=True, slots=True)
class FileReport:
    """A file of a proposal, for the person who decides. A moved file is one, compared with itself at its old place."""

    file: ProposedFile
    diff: str
    """Unified diff from the base to what is proposed; "" for a file that is not text."""
    conflicts: tuple[TextConflict, ...]
    new_findings: tuple[NewFinding, ...]
    """Errors and warnings that it would cause, broken links of other pages among them."""
    mended: tuple[NewFinding, ...]
    """Errors and warnings that it would end."""


@dataclass(frozen=True, slots=True)
class ProposalReport:
    """A proposal in full."""

    proposal: Proposal
    messages: Sequence[str]
    """The messages of the changes whose files still wait."""
    files: Sequence[FileReport]


def report(collections: Collections, found: FoundProposal) -> ProposalReport:
    """A proposal in full: its changes, and what these would cause."""
    branches = found.branches
    files = branches.files(found.proposal)
    changes = branches.changes(found.proposal)
    addresses = {one.address for one in files}
    messages = [one.message for one in changes if one.files & addresses] or [one.message for one in changes]
    moved = {one.moved_from for one in files}
    shown = [_with_source(one, files) for one in files if one.address not in moved]
    if found.proposal.state != "open":
        return ProposalReport(found.proposal, messages, [_plain_report(branches, one) for one in shown])
    with proposal_view(found.collection, found.proposal) as after:
        reports = [_file_report(collections, found.collection, after, branches, one) for one in shown]
    return ProposalReport(found.proposal, messages, reports)


def _with_source(file: ProposedFile, files: Sequence[ProposedFile]) -> ProposedFile:
    """A moved file with the base that it had at its old place."""
    return replace(file, base=next((one.base for one in files if one.address == file.moved_from), file.base))


def _plain_report(branches: ProposalBranches, file: ProposedFile) -> FileReport:
    base, proposed = (branches.content(one) for one in (file.base, file.proposed))
    return FileReport(file, _diff(file, base, proposed), (), (), ())


def _file_report(
    collections: Collections, before: Collection, after: Collection, branches: ProposalBranches, file: ProposedFile
) -> FileReport:
    base, proposed = (branches.content(one) for one in (file.base, file.proposed))
    source = file.moved_from or file.address
    if file.moved_from and before.store.stat(source) is None:
        source = file.address
    current = before.store.read(source) if before.store.stat(source) is not None else None
    merged = merge_texts(base, proposed, current)
    plain = _plain_report(branches, file)
    if not file.address.is_document:
        return replace(plain, conflicts=merged.conflicts)
    others = [one for one in collections if one.name != before.name]
    proposed_base, served_base = Collections(lambda: [after, *others]), Collections(lambda: [before, *others])
    moved_back = file.address if source != file.address else None
    return replace(
        plain,
        conflicts=merged.conflicts,
        new_findings=_first(new_findings(proposed_base, after, file.address, (base, proposed), file.moved_from)),
        mended=_first(new_findings(served_base, before, source, (proposed, current), moved_back)),
    )


def _diff(file: ProposedFile, base: bytes | None, proposed: bytes | None) -> str:
    try:
        before, after = ((raw or b"").decode().splitlines(keepends=True) for raw in (base, proposed))
    except UnicodeDecodeError:
        return ""
    source = file.moved_from or file.address
    old, new = source.path if base is not None else "/dev/null", file.address.path
    lines = unified_diff(before, after, old, new if proposed is not None else "/dev/null")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _first(findings: Sequence[NewFinding]) -> tuple[NewFinding, ...]:
    return tuple(findings[:MAX_NEW])
