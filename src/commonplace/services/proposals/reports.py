"""A proposal in full, for the person who decides: diffs, conflicts, and the findings that it would cause and end."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from difflib import unified_diff
from functools import cached_property
from typing import TypeAlias

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Revision
from commonplace.domain.errors import InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.findings import NewFinding
from commonplace.domain.merge import TextConflict, split_lines
from commonplace.domain.proposals import Proposal, ProposalBranches, ProposedFile
from commonplace.domain.revisions import revision_of
from commonplace.services.collections import Collection, Collections
from commonplace.services.findings import MAX_NEW, kind_of_finding, new_findings, page_issues
from commonplace.services.proposals import decisions
from commonplace.services.proposals.acceptance import AcceptedBytes
from commonplace.services.proposals.decisions import FoundProposal
from commonplace.services.proposals.selection import AcceptRequest, named_file
from commonplace.services.proposals.served_files import ServedFile, ServedFiles, with_sources
from commonplace.services.proposals.views import proposal_view, trial_view


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRange:
    """The files of a proposal that are shown."""

    page: str = ""
    """The one page to show, as a reader names it; "" for those of the range."""
    section: str = ""
    """Heading of the one section of it that is considered; "" for all of the page."""
    alone: bool = True
    """Whether the findings of the one page are those of accepting it alone, for who could do so."""
    settled: bool = False
    """Whether no decision is waited for that may be the reason of a conflict."""
    offset: int = 0
    limit: int | None = None
    """Maximum number of files; None for all."""


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
    """Errors and warnings that it would end: the page does not have them afterwards, and no other page gets them."""
    current: Revision = ""
    """The page that is served; "" for none, and for a closed proposal."""
    now: Address | None = None
    """The address of that page, if others have moved it since."""


@dataclass(frozen=True, slots=True)
class ProposalReport:
    """A proposal in full."""

    proposal: Proposal
    messages: Sequence[str]
    """The messages of the changes whose files still wait."""
    files: Sequence[FileReport]
    """The files of the range."""
    total: int = 0
    """Number of all files."""
    offset: int = 0
    """Number of files before the range."""
    left_out: Sequence[str] = ()
    """The changed paths that cannot be accepted, from the repository's root."""


def report(collections: Collections, proposal: FoundProposal, shown: FileRange | None = None) -> ProposalReport:
    """A proposal in full: its changes, and what these would cause.

    Args:
        collections: The collections that are served.
        proposal: The proposal.
        shown: The files to report on; None for all. A file takes some milliseconds.

    Raises:
        NotFoundError: the proposal does not change the named page.
    """
    shown = shown or FileRange()
    branches = proposal.branches
    files = branches.files(proposal.proposal)
    changes = branches.changes(proposal.proposal)
    addresses = {file.address for file in files}
    messages = [change.message for change in changes if change.files & addresses] or [
        change.message for change in changes
    ]
    every = with_sources(files)
    chosen = _chosen(proposal.collection, files, every, shown)
    result = ProposalReport(
        proposal.proposal,
        messages,
        (),
        len(every),
        0 if shown.page else shown.offset,
        branches.left_out(proposal.proposal),
    )
    if proposal.proposal.state != "open":
        return replace(result, files=[_plain_report(branches, file) for file in chosen])
    with proposal_view(proposal.collection, proposal.proposal) as after:
        comparison = _Comparison(collections, proposal, after, every)
        reported = [comparison.report(file) for file in chosen]
    if not shown.settled and any(file.conflicts for file in reported):  # what is accepted just now meets itself
        now = FoundProposal(proposal.collection, branches.settled(proposal.proposal))
        return report(collections, now, replace(shown, settled=True))
    if shown.page and shown.alone:
        reported = [_alone(collections, proposal, shown, file) for file in reported]
    elif comparison.served.has_moved or any(_is_elsewhere(comparison.served, file) for file in every):
        reported = _with_findings_of_all(collections, proposal, reported)
    return replace(result, files=reported)


def _is_elsewhere(served: ServedFiles, file: ProposedFile) -> bool:
    """Whether the page that a file changes is no longer at a place that the proposal knows."""
    places = filter(None, (file.address, file.moved_from))
    return bool(file.base) and not any(served.is_there(file, place, served.read(place)) for place in places)


def _with_findings_of_all(
    collections: Collections, proposal: FoundProposal, files: Sequence[FileReport]
) -> Sequence[FileReport]:
    """The reports with the findings of accepting all of the proposal, where its pages or others are elsewhere now.

    As they are if that cannot be accepted, as a conflict says, or not by this caller.
    """
    try:
        pages = _findings_by_page(collections, proposal.collection, decisions.tried(proposal, AcceptRequest()))
    except KnowledgeError:
        return files
    findings = [pages.get(file.now or file.file.address, ([], [])) for file in files]
    return [
        replace(file, new_findings=_first(new), mended=_first(mended))
        for file, (new, mended) in zip(files, findings, strict=True)
    ]


def _alone(collections: Collections, proposal: FoundProposal, shown: FileRange, file: FileReport) -> FileReport:
    """The report with the findings of accepting the file, or one section of it, alone.

    As it is if that cannot be accepted, as its conflict says, or not by this caller.

    Raises:
        NotFoundError, InvalidInputError: the file has no such section.
    """
    request = AcceptRequest(pages=(shown.page,), section=shown.section)
    try:
        part = findings_of_part(collections, proposal, request)
    except KnowledgeError as error:
        if shown.section and isinstance(error, NotFoundError | InvalidInputError):
            raise
        return file
    return replace(file, new_findings=part.new_findings, mended=part.mended)


@dataclass(frozen=True, slots=True)
class PartFindings:
    """The findings that the acceptance of a part would cause and end, if the rest of the proposal is not there."""

    new_findings: tuple[NewFinding, ...]
    mended: tuple[NewFinding, ...]
    written: tuple[Address, ...] = ()
    removed: tuple[Address, ...] = ()


def findings_of_part(collections: Collections, proposal: FoundProposal, request: AcceptRequest) -> PartFindings:
    """The findings of what is going to be accepted, and of nothing else. Writes nothing.

    Raises:
        KnowledgeError: as from `decisions.accept`: it cannot be accepted.
    """
    accepted = decisions.tried(proposal, request)
    pages = _findings_by_page(collections, proposal.collection, accepted)
    new = {(row.path, row.rule, row.message): row for caused, _ in pages.values() for row in caused}
    mended = [row for _, ended in pages.values() for row in ended]
    written = {address for address, (_, content) in accepted.results.items() if content is not None}
    removed = accepted.results.keys() - written
    return PartFindings(_first([*new.values()]), _first(mended), tuple(sorted(written)), tuple(sorted(removed)))


_PageFindings: TypeAlias = dict[Address, tuple[list[NewFinding], list[NewFinding]]]
"""The findings that the change of each page causes, and those that it ends."""


def _findings_by_page(collections: Collections, before: Collection, accepted: AcceptedBytes) -> _PageFindings:
    """The findings of an acceptance, by the address at which a page is written or removed."""
    others = [collection for collection in collections if collection.name != before.name]
    served = _Kinds(Collections(lambda: [before, *others]), before)
    own = {address.path for address in accepted.results}
    with trial_view(before, {address: new for address, (_, new) in accepted.results.items()}) as after:
        tried = _Kinds(Collections(lambda: [after, *others]), after)
        causes = {
            address: new_findings(tried.collections, after, address, contents, old)
            for address, contents, old in accepted.pages()
        }
        ended = _ended(accepted, served, tried, {kind_of_finding(row) for rows in causes.values() for row in rows})

    def is_new(row: NewFinding) -> bool:
        return row.path in own or not served.has(row, Address(row.path))

    return {address: (list(filter(is_new, rows)), ended[address]) for address, rows in causes.items()}


def _ended(
    accepted: AcceptedBytes, served: _Kinds, tried: _Kinds, caused: AbstractSet[tuple[str, str]]
) -> dict[Address, list[NewFinding]]:
    """The findings of what is served that are gone after an acceptance, and not only in another line or page."""
    moves = {old.path: new for old, new in accepted.moves.items()}
    ended: dict[Address, list[NewFinding]] = {}
    for address, (old, now), moved_from in accepted.pages():
        place, back = moved_from or address, address if moved_from else None
        ended[address] = [
            row
            for row in new_findings(served.collections, served.collection, place, (now, old), back)
            if kind_of_finding(row) not in caused and not tried.has(row, moves.get(row.path, Address(row.path)))
        ]
    return ended


class _Kinds:
    """The kinds of the findings of pages, each looked up once."""

    def __init__(self, collections: Collections, collection: Collection) -> None:
        self.collections = collections
        self.collection = collection
        self._known: dict[Address, frozenset[tuple[str, str]]] = {}

    def has(self, finding: NewFinding, address: Address) -> bool:
        """Whether a page, which need not be there, has a finding of the same kind."""
        if address not in self._known:
            record = self.collection.index.record(address)
            issues = page_issues(self.collections, self.collection, record) if record else ()
            self._known[address] = frozenset(map(kind_of_finding, issues))
        return kind_of_finding(finding) in self._known[address]


def proposed_file(proposal: FoundProposal, name: str) -> ProposedFile:
    """The file of a proposal that a reader means; a moved one has the base that it had at its old place.

    Raises:
        InvalidInputError: no page can have this name.
        NotFoundError: the proposal does not change such a page.
    """
    files = proposal.branches.files(proposal.proposal)
    return _chosen(proposal.collection, files, with_sources(files), FileRange(page=name))[0]


def served_side(proposal: FoundProposal, file: ProposedFile) -> ServedFile:
    """A file of `proposed_file` beside the page that is served now."""
    return proposal.served().side(file)


def _chosen(
    collection: Collection, files: Sequence[ProposedFile], every: Sequence[ProposedFile], shown: FileRange
) -> Sequence[ProposedFile]:
    if shown.page:
        address = named_file(collection, files, shown.page).address
        return [file for file in every if address in {file.address, file.moved_from}]
    return every[shown.offset :][: shown.limit]


def _plain_report(branches: ProposalBranches, file: ProposedFile) -> FileReport:
    base, proposed = (branches.content(revision) for revision in (file.base, file.proposed))
    return FileReport(file, diff_text(file.address, (base, proposed), file.moved_from), (), (), ())


class _Comparison:
    """The findings of a base before and after a proposal."""

    def __init__(
        self,
        collections: Collections,
        proposal: FoundProposal,
        after: Collection,
        files: Sequence[ProposedFile],
    ) -> None:
        before = proposal.collection
        self.served = proposal.served()
        """The served pages that it would change."""
        others = [collection for collection in collections if collection.name != before.name]
        self._before, self._after = before, after
        self._now = Collections(lambda: [before, *others])
        self._proposed = Collections(lambda: [after, *others])
        self._branches = proposal.branches
        self._files = files
        self._moves = {file.moved_from.path: file.address for file in files if file.moved_from}
        self._kinds_now, self._kinds_then = _Kinds(self._now, before), _Kinds(self._proposed, after)

    def report(self, file: ProposedFile) -> FileReport:
        """The report on one file."""
        served = self.served.side(file)
        conflicts = served.merged(self._before, file).conflicts
        now = "" if served.current is None else revision_of(served.current)
        place = served.address if served.is_elsewhere(file) else None
        plain = replace(_plain_report(self._branches, file), conflicts=conflicts, current=now, now=place)
        if not file.address.is_document:
            return plain
        moved_back = file.address if served.address != file.address else None
        texts = self._branches.content(file.proposed), served.current
        mended = new_findings(self._now, self._before, served.address, texts, moved_back)
        return replace(
            plain,
            new_findings=_first([finding for finding in self._new(file) if not self._was_there(file, finding)]),
            mended=_first([finding for finding in mended if self._ends(finding)]),
        )

    def _new(self, file: ProposedFile) -> Sequence[NewFinding]:
        contents = self._branches.content(file.base), self._branches.content(file.proposed)
        return new_findings(self._proposed, self._after, file.address, contents, file.moved_from)

    def _was_there(self, file: ProposedFile, finding: NewFinding) -> bool:
        """Whether a finding in another page is there already."""
        is_own = finding.path in {file.address.path, file.moved_from.path if file.moved_from else ""}
        return not is_own and self._kinds_now.has(finding, Address(finding.path))

    def _ends(self, finding: NewFinding) -> bool:
        """Whether a finding of a served page is gone afterwards, and not only in another line or page."""
        address = self._moves.get(finding.path, Address(finding.path))
        return not self._kinds_then.has(finding, address) and kind_of_finding(finding) not in self._caused

    @cached_property
    def _caused(self) -> frozenset[tuple[str, str]]:
        """The kinds of all findings that the proposal would cause."""
        documents = (file for file in self._files if file.address.is_document)
        return frozenset(kind_of_finding(finding) for file in documents for finding in self._new(file))


def diff_text(address: Address, contents: tuple[bytes | None, bytes | None], source: Address | None = None) -> str:
    """Unified diff of a file's bytes before and after, None for no file; "" if one of them is not UTF-8.

    Args:
        address: The file afterwards.
        contents: Its bytes before and after.
        source: Where it was before; None for the same place.
    """
    base, proposed = contents
    try:
        before, after = ([line.decode() for line in split_lines(raw or b"")] for raw in contents)
    except UnicodeDecodeError:
        return ""
    old, new = (source or address).path if base is not None else "/dev/null", address.path
    lines = unified_diff(before, after, old, new if proposed is not None else "/dev/null")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _first(findings: Sequence[NewFinding]) -> tuple[NewFinding, ...]:
    return tuple(findings[:MAX_NEW])
