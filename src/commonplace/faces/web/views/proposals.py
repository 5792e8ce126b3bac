"""Pages of proposals: the list, one in full, accepting all or a part of it, declining, and editing before accepting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import urlencode

from markupsafe import Markup

from commonplace.domain.addresses import Address
from commonplace.domain.changes import uncredited
from commonplace.domain.document_reader import read_document
from commonplace.domain.errors import ForbiddenError, InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.findings import NewFinding
from commonplace.domain.merge import with_section
from commonplace.domain.proposals import ProposedFile, Proposer
from commonplace.faces.access.callers import allows
from commonplace.faces.errors import error_mapping
from commonplace.faces.proposal_output import one_line
from commonplace.faces.web import shown
from commonplace.faces.web.edit_requests import page_proposer
from commonplace.faces.web.exchange import PageRequest, PageResponse, redirect
from commonplace.faces.web.pages import page, words_of
from commonplace.faces.web.views.proposal_editor import MAX_WORD_CHARS, digest_of, edit
from commonplace.services.collections import Collection
from commonplace.services.findings import kind_of_finding
from commonplace.services.proposals import decisions
from commonplace.services.proposals.acceptance import ProposalConflictError
from commonplace.services.proposals.decisions import FoundProposal, ProposalFilter
from commonplace.services.proposals.reports import (
    FileRange,
    FileReport,
    ProposalReport,
    findings_of_part,
    report,
)
from commonplace.services.proposals.selection import AcceptRequest
from commonplace.services.proposals.served_files import ServedFiles
from commonplace.services.proposals.views import proposal_view
from commonplace.services.related_documents import NearDuplicates
from commonplace.services.site.changes import DiffRow, differences

FILES = 20
"""Number of files of a proposal on one page."""
LISTED = 200
"""Number of open proposals, and of closed ones, on a page of the list."""
FILTERS = ("author", "client", "in", "q", "state")
"""Names of the fields that narrow the list."""
PICK = "pick:"
"""Beginning of the names of fields that select a proposal of the list."""
CONFLICT_HINT = 'Use "Edit before accepting" at that page, accept the other pages or sections, or decline it.'
"""Advice about lines that both sides changed."""
MAX_ROWS = 2_000
"""Maximum number of lines of differences of one file."""


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file of a proposal as the page shows it."""

    report: FileReport
    change: Literal["new", "deleted", "moved", "changed"]
    rows: Sequence[DiffRow]
    """The lines that differ; those of the front matter where the rendered texts are shown."""
    before: Markup
    """The rendered text as it was; empty where the lines are shown."""
    after: Markup
    sections: Sequence[str]
    """Paths of the headings whose sections differ, `A > B`."""
    is_text: bool
    near: str = ""
    """Id of a page that says nearly the same as this new one; "" for none."""

    @property
    def address(self) -> Address:
        """The file's address after the proposal."""
        return self.report.file.address

    @property
    def causes(self) -> Sequence[NewFinding]:
        """The findings that are there afterwards and are not now."""
        return self.report.new_findings

    @property
    def ends(self) -> Sequence[NewFinding]:
        """The findings that are there now and would end."""
        return self.report.mended


def proposals(request: PageRequest) -> PageResponse:
    """The list of proposals; one of them, or the editor of one of its pages; with POST, the decision."""
    identifier, _, action = request.path.partition("/")
    if not identifier:
        return _list(request)
    proposal = decisions.find(request.services.decided, identifier, _viewer(request))
    if action == "edit":
        return edit(request, proposal)
    if action:
        raise NotFoundError("There is no such page.", kind="url", hint="See the list of proposals.")
    if request.method == "POST":
        return _decide(request, proposal)
    return _proposal_page(request, proposal)


def _viewer(request: PageRequest) -> Proposer | None:
    """The caller as a proposer who sees only own proposals; None for one who decides on all."""
    return None if allows(request.tier, "write") else page_proposer(request.caller)


def _list(request: PageRequest) -> PageResponse:
    if request.method != "POST":
        return _listed(request, request.query)
    if request.form.get("action") in {"all", "none"}:
        return _listed(request, request.form)
    try:
        _decline_selected(request)
    except KnowledgeError as error:
        return _listed(request, request.form, error)
    return redirect(f"/proposals?{_kept(request.form)}".rstrip("?&"), 303)


def _kept(fields: Mapping[str, str]) -> str:
    """The fields that narrow the list, as the beginning of a query."""
    query = urlencode({name: value for name in FILTERS if (value := fields.get(name, "").strip())})
    return f"{query}&" if query else ""


def _listed(request: PageRequest, fields: Mapping[str, str], problem: KnowledgeError | None = None) -> PageResponse:
    """The list, narrowed as these fields say."""
    viewer, collections = _viewer(request), request.services.decided
    chosen = {name: fields.get(name, "").strip() for name in FILTERS}
    chosen["state"] = "" if chosen["state"] == "all" else chosen["state"]  # as the REST API has it
    only = ProposalFilter(
        author=chosen["author"], client=chosen["client"], page=chosen["in"], text=chosen["q"], state=chosen["state"]
    )
    opened, closed = (decisions.listed(collections, viewer, closed=element, only=only) for element in (False, True))
    number = request.number("page")
    part = slice((number - 1) * LISTED, number * LISTED)
    groups = [("Open", len(opened), opened[part]), ("Closed", len(closed), closed[part])]
    return page(
        request,
        "proposals.html",
        error_mapping(problem).http if problem else 200,
        groups=groups,
        number=number,
        last=max(1, -(-max(len(opened), len(closed)) // LISTED)),
        decides=viewer is None,
        chosen=chosen,
        kept=_kept(fields),
        problem=problem,
        word=request.form.get("word", ""),
        selected=_selected(request, opened[part]),
        without=[collection.name for collection in collections if collection.proposals is None],
    )


def _selected(request: PageRequest, proposals: Sequence[FoundProposal]) -> AbstractSet[str]:
    """Ids of the listed proposals that are selected: all or none as asked for, else those of the form."""
    action = request.form.get("action", "")
    if action == "all":
        return {proposal.proposal.id for proposal in proposals}
    return frozenset() if action == "none" else _picked(request).keys()


def _picked(request: PageRequest) -> dict[str, str]:
    """The commit that was shown of each proposal that a form selects, by its id."""
    return {name.removeprefix(PICK): tip for name, tip in request.form.items() if name.startswith(PICK)}


def _decline_selected(request: PageRequest) -> None:
    """Decline the proposals that were selected in the list, each as it was shown."""
    require_decides(request)
    tips = _picked(request)
    if request.form.get("action") != "decline" or not tips:
        raise InvalidInputError("Which proposals?", kind="proposal", hint="Select some of the list, or open one.")
    proposals = [decisions.find(request.services.decided, identifier) for identifier in tips]
    decisions.decline_all(proposals, _word(request), request.caller.person, tips)


def require_decides(request: PageRequest) -> None:
    """Check that the caller decides on proposals.

    Raises:
        ForbiddenError: kind "tier".
    """
    if not allows(request.tier, "write"):
        raise ForbiddenError(
            "A person with the tier write decides on proposals.", kind="tier", hint="You can withdraw your own."
        )


def _word(request: PageRequest) -> str:
    return request.form.get("word", "").replace("\r\n", "\n").strip()[:MAX_WORD_CHARS]


@dataclass(frozen=True, slots=True)
class AskedPart:
    """A part of a proposal whose acceptance would cause what was not shown, so that it is asked for once more."""

    file: str
    section: str
    findings: Sequence[NewFinding]
    digest: str


def _proposal_page(
    request: PageRequest,
    proposal: FoundProposal,
    problem: KnowledgeError | None = None,
    part: AskedPart | None = None,
) -> PageResponse:
    """One proposal, in parts of `FILES` files, or one file of it."""
    number = request.number("page")
    view = request.query.get("view", "")
    view = view if view in {"inline", "text"} else "side"
    chosen = FileRange(page=request.query.get("file", ""), offset=(number - 1) * FILES, limit=FILES)
    full = report(request.services.decided, proposal, chosen)
    files = _shown_files(request, proposal, full, rendered=view == "text")
    return page(
        request,
        "proposal.html",
        error_mapping(problem).http if problem else 200,
        found=proposal,
        proposal=proposal.proposal,
        collection=proposal.collection,
        is_served=any(collection.name == proposal.collection.name for collection in request.collections),
        report=full,
        left_out=list(map(one_line, full.left_out)),
        files=files,
        messages=list(dict.fromkeys(uncredited(message).strip() for message in full.messages)),
        view=view,
        number=number,
        last=max(1, -(-full.total // FILES)),
        **_rights(request, proposal),
        alone=part,
        word=request.form.get("word", ""),
        part=f"&{urlencode({'file': chosen.page})}" if chosen.page else "",
        only=bool(chosen.page) and full.total > len(files),
        conflicts=list(filter(None, (file_report.conflicts for file_report in full.files))),
        problem=problem,
        action=f"/proposals/{proposal.proposal.id}",
    )


def _shown_files(
    request: PageRequest, proposal: FoundProposal, full: ProposalReport, *, rendered: bool
) -> Sequence[ShownFile]:
    is_open = proposal.proposal.state == "open"
    opened = (
        proposal_view(proposal.collection, proposal.proposal)
        if rendered and is_open
        else nullcontext(proposal.collection)
    )
    with opened as after:
        rendering = after if rendered else None
        served = proposal.served()
        return [_shown_file(request, served, file_report, rendering) for file_report in full.files]


def _shown_file(
    request: PageRequest, served: ServedFiles, file_report: FileReport, after: Collection | None
) -> ShownFile:
    """A file of a proposal; as rendered texts if the proposed state of the collection is given."""
    file, collection = file_report.file, served.collection
    base, proposed = (served.branches.content(revision) for revision in (file.base, file.proposed))
    old, new = (shown.version_text(file.moved_from or file.address, base), shown.version_text(file.address, proposed))
    is_text = old is not None and new is not None
    rows: Sequence[DiffRow] = []
    html = (Markup(), Markup())
    if is_text and after is not None and file.address.is_document:
        source = file.moved_from or file.address
        html = _html(request, collection, source, base), _html(request, after, file.address, proposed)
        rows = differences(_front_matter(source, base), _front_matter(file.address, proposed))[:MAX_ROWS]
    elif is_text:
        rows = differences(old or "", new or "")[:MAX_ROWS]
    change = "new" if base is None else "deleted" if proposed is None else "moved" if file.moved_from else "changed"
    sections = (
        _offered_sections(served, file_report)
        if change == "changed" and _rights(request, FoundProposal(collection, served.proposal))["decides"]
        else ()
    )
    near = ""
    if change == "new" and proposed is not None and file.address.is_document and is_text:
        near = NearDuplicates(collection).of(file.address.id, read_document(file.address, proposed))
    return ShownFile(file_report, change, rows, html[0], html[1], sections, is_text, near)


def _rights(request: PageRequest, proposal: FoundProposal) -> dict[str, object]:
    """Whether the caller can decide on a proposal here, or withdraw it; and the reason why nobody can, "" for none."""
    if proposal.proposal.state != "open":
        return {"decides": False, "own": False, "refusal": ""}
    refusal, own = proposal.collection.store.read_only_reason, page_proposer(request.caller).owns(proposal.proposal)
    return {"decides": allows(request.tier, "write") and not refusal, "own": own and not refusal, "refusal": refusal}


def _front_matter(address: Address, content: bytes | None) -> str:
    """The front matter of a version of a page, which its rendered text does not show."""
    document = read_document(address, content or b"")
    return document.encoded[: document.body_start].decode("utf-8", "replace")


def _html(request: PageRequest, collection: Collection, address: Address, content: bytes | None) -> Markup:
    """A version of a page as HTML, or the first part of a large one."""
    if content is None:
        return Markup()
    document = read_document(address, content)
    part = shown.parts(document)[0]
    html = shown.rendered_now(request, collection, document, (part.start, part.end))
    return shown.for_reader(html, "", words_of(request, collection))


def _changed_sections(file: ProposedFile, base: bytes | None, proposed: bytes | None) -> Sequence[str]:
    """The headings whose own text differs, by path."""
    if not file.address.is_document or base is None or proposed is None:
        return ()
    versions = [read_document(file.address, other_base) for other_base in (base, proposed)]
    texts = [
        {
            " > ".join(item.path): document.encoded[item.start : item.end].strip()
            for item in document.sections
            if item.level
        }
        for document in versions
    ]
    return [path for path in {**texts[0], **texts[1]} if texts[0].get(path) != texts[1].get(path)]


def _offered_sections(files: ServedFiles, file_report: FileReport) -> Sequence[str]:
    """The sections that can be accepted alone; none if that is the same as the whole page."""
    file, served = file_report.file, files.side(file_report.file)
    sections = _changed_sections(file, served.base, served.proposed)
    if not file_report.conflicts:
        return sections if len(sections) > 1 else ()
    parts = {section: with_section(file.address, served.base, served.proposed, section) for section in sections}
    return [
        section
        for section, part in parts.items()
        if not replace(served, proposed=part).merged(files.collection, file).conflicts
    ]


def _decide(request: PageRequest, proposal: FoundProposal) -> PageResponse:
    """Accept, decline or withdraw a proposal, then show what became of it."""
    fields, word = request.form, _word(request)
    tip, action = fields.get("tip", ""), fields.get("action", "")
    file, section = _part_of(request)
    if not tip:
        raise InvalidInputError("The form does not say what was shown.", kind="form", hint="Open the proposal again.")
    try:
        if action == "withdraw":
            decisions.withdraw(proposal, page_proposer(request.caller))
            return redirect(f"/proposals/{proposal.proposal.id}", 303)
        require_decides(request)
        if action == "decline":
            decisions.decline(proposal, word, request.caller.person, tip)
        elif action == "accept" or file:
            accepted = AcceptRequest(pages=(file,) if file else (), section=section, word=word, tip=tip)
            if part := _unshown(request, proposal, accepted):
                return _proposal_page(request, proposal, part=part)
            decisions.accept(proposal, accepted, request.caller.person)
        else:
            raise InvalidInputError("The form names no decision.", kind="form", hint="Accept or decline.")
    except KnowledgeError as error:
        _advise(error)
        now = decisions.find(request.services.decided, proposal.proposal.id, _viewer(request))
        return _proposal_page(request, now, error)
    return redirect(f"/proposals/{proposal.proposal.id}", 303)


def _advise(error: KnowledgeError) -> None:
    """Let an error about a conflict of lines say what to do here."""
    if isinstance(error, ProposalConflictError):
        error.hint = error.conflicts[0].found.hint or CONFLICT_HINT


def _part_of(request: PageRequest) -> tuple[str, str]:
    """The file and the section that a form accepts; "" for all. The button of a section names the file of its list."""
    fields = request.form
    if listed := fields.get("part", ""):
        return listed, fields.get(f"section:{listed}", "")
    return fields.get("file", ""), fields.get("section", "")


def _unshown(request: PageRequest, proposal: FoundProposal, accepted: AcceptRequest) -> AskedPart | None:
    """Findings of accepting a part alone that its page does not say; None if there are none, or it was asked for."""
    if not accepted.pages:
        return None
    collections = request.services.decided
    causes = findings_of_part(collections, proposal, accepted).new_findings
    digest = digest_of(causes)
    if not causes or request.form.get("sure") == digest:
        return None
    whole = report(collections, proposal, FileRange(page=accepted.pages[0], alone=False))
    kinds = {kind_of_finding(finding) for file in whole.files for finding in file.new_findings}
    unshown = [finding for finding in causes if kind_of_finding(finding) not in kinds]
    return AskedPart(accepted.pages[0], accepted.section, unshown, digest) if unshown else None
