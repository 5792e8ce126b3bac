"""Editing a page of a proposal before it is accepted: the form, and the choice where both sides changed a place.

The form names what it was made from: the proposal's latest commit and the page that was served. What changes meanwhile,
in the page or in the proposal, is merged into the text and shown, and never overwritten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from commonplace.domain.browser_text import with_browser_text
from commonplace.domain.document_reader import read_document
from commonplace.domain.errors import ForbiddenError, InvalidInputError, KnowledgeError, ReadOnlyError
from commonplace.domain.findings import NewFinding
from commonplace.domain.merge import with_regions
from commonplace.domain.proposals import ProposedFile
from commonplace.domain.revisions import is_revision, revision_of
from commonplace.faces.access.callers import allows
from commonplace.faces.errors import error_mapping
from commonplace.faces.web.exchange import PageRequest, PageResponse, redirect
from commonplace.faces.web.pages import page
from commonplace.faces.web.views.merges import (
    AMENDED,
    MAX_REGIONS,
    PERSON,
    PROPOSER,
    UNKNOWN_CHANGE,
    MergeRow,
    MergingSide,
    last_change,
    merge_rows,
    packed,
    text_of,
    unpacked,
    with_choices,
)
from commonplace.services.proposals import decisions, reports
from commonplace.services.proposals.decisions import FoundProposal
from commonplace.services.proposals.selection import AcceptRequest
from commonplace.services.site.changes import differences
from commonplace.services.writes.saves import StaleTextError

SIDES = {PROPOSER: "proposed", AMENDED: "amended"}
"""Names of the sides of a merge in its form; a person's own text has none."""
MAX_WORD_CHARS = 5_000
"""Maximum characters of the words with which a proposal is accepted or declined."""


@dataclass(frozen=True, slots=True)
class _Editing:
    """A page of a proposal that a person edits."""

    request: PageRequest
    proposal: FoundProposal
    file: ProposedFile
    tip: str
    """The commit of the proposal that the person saw."""

    @property
    def current(self) -> bytes | None:
        """The page that is served now."""
        return reports.served_side(self.proposal, self.file).current

    def form(
        self,
        text: str,
        served: bytes | None,
        status: int = 200,
        *,
        problem: KnowledgeError | None = None,
        **more: object,
    ) -> PageResponse:
        """The form with a text that was made from the served page."""
        collection, path = self.proposal.collection, self.file.address.path
        values: dict[str, object] = {
            "note": "",
            "rows": [],
            "diff": [],
            "causes": (),
            "sure": "",
            "mine": PERSON,
            **more,
        }
        return page(
            self.request,
            "proposal_edit.html",
            status,
            proposal=self.proposal.proposal,
            collection=collection,
            address=self.file.address,
            text=text,
            revision=f"{self.tip}.{_revision(served)}",
            base=packed(served),
            message=self.request.form.get("message", ""),
            problem=problem,
            preview=self.request.urls.view("render", collection.name, path),
            complete=self.request.urls.view("complete", collection.name, path),
            action=self._action,
            **values,
        )

    def merged(self, base: bytes | None, mine: bytes, side: MergingSide) -> PageResponse:
        """The form with a text merged into the page that is served now; first the choices, if both changed a place."""
        theirs = self.current
        if theirs is None:
            return self.form(text_of(self.file.address, mine), None, 409, note="gone")
        versions = StaleTextError(self.file.address, base, mine, theirs)
        contents = [None if base is None else region.merged for region in versions.regions]
        rows = merge_rows(versions.regions, contents)
        if base is not None and None not in contents:
            text = with_regions(base, versions.regions, [content or b"" for content in contents])
            return self.form(text_of(self.file.address, text), theirs, 409, note="stale", rows=rows)
        return self._choices(versions, rows, side)

    def amended(self, opened: bytes, mine: bytes) -> PageResponse:
        """The form with a text merged into the proposal as it was amended since; first the choices, as for a page."""
        served = reports.served_side(self.proposal, self.file)
        theirs = served.merged(self.proposal.collection, self.file).content or served.proposed or b""
        versions = StaleTextError(self.file.address, opened, mine, theirs)
        contents = [region.merged for region in versions.regions]
        rows = merge_rows(versions.regions, contents)
        if None in contents:
            return self._choices(versions, rows, AMENDED)
        text = with_regions(opened, versions.regions, [content or b"" for content in contents])
        return self.form(text_of(self.file.address, text), served.current, 409, note="amended", rows=rows)

    def _choices(self, versions: StaleTextError, rows: Sequence[MergeRow], side: MergingSide) -> PageResponse:
        collection, address = self.proposal.collection, self.file.address
        identifier = self.proposal.proposal.id
        return page(
            self.request,
            "merge.html",
            200 if side is PROPOSER else 409,
            form={
                "revision": f"{self.tip}.",
                "text": text_of(address, versions.mine),
                "base": packed(versions.base),
                "message": self.request.form.get("message", ""),
            },
            collection=collection,
            address=address,
            now=_revision(versions.theirs),
            known=versions.base is not None,
            rows=rows[:MAX_REGIONS],
            mine=side,
            hidden={"file": address.path, "side": SIDES.get(side, "")},
            cancel=f"/proposals/{identifier}",
            conflicts=sum(1 for row in rows if row.number),
            changed=UNKNOWN_CHANGE if side is AMENDED else last_change(collection, address, versions.theirs),
            what="The proposal" if side is AMENDED else "The page",
            action=self._action,
            crumbs=[("Proposals", "/proposals"), (self.proposal.proposal.title, f"/proposals/{identifier}")],
        )

    @property
    def _action(self) -> str:
        return f"/proposals/{self.proposal.proposal.id}/edit"


def edit(request: PageRequest, proposal: FoundProposal) -> PageResponse:
    """The text of one page of a proposal, merged into what is served; with POST, accepted as it was edited."""
    if not allows(request.tier, "write"):
        raise ForbiddenError(
            "A person with the tier write decides on proposals.", kind="tier", hint="Amend it instead."
        )
    if reason := proposal.collection.store.read_only_reason:
        raise ReadOnlyError(
            f"Nothing can be accepted here: {reason}.", kind="collection", hint="Decide on it at a server that writes."
        )
    if request.method == "POST":
        return _sent(request, proposal)
    decisions.require_open(proposal)
    file = reports.proposed_file(proposal, request.query.get("file", ""))
    editing = _Editing(request, proposal, file, proposal.proposal.tip)
    served = reports.served_side(proposal, file)
    merged = served.merged(proposal.collection, file)
    if merged.conflicts and served.current is not None:
        return editing.merged(served.base, served.proposed or b"", PROPOSER)
    text = text_of(file.address, merged.content or served.proposed or b"")
    return editing.form(text, served.current, note="gone" if merged.conflicts else "")


def _sent(request: PageRequest, proposal: FoundProposal) -> PageResponse:
    """The response to a form that was sent."""
    fields = request.form
    tip, dot, seen = fields.get("revision", "").partition(".")
    if not is_revision(tip) or not dot or "text" not in fields:
        raise InvalidInputError("The form does not say what was shown.", kind="form", hint="Open the proposal again.")
    before = replace(proposal, proposal=replace(proposal.proposal, tip=tip))
    file = reports.proposed_file(before, fields.get("file", ""))
    base = unpacked(fields.get("base", ""))
    opened = _shown(before, file, base)
    mine = with_browser_text(read_document(file.address, opened), fields["text"])
    try:
        decisions.require_open(proposal)
        file = reports.proposed_file(proposal, file.address.path)
    except KnowledgeError as error:  # it was decided on, or the page was taken out of it: the text is not lost
        editing = _Editing(request, before, file, tip)
        text = fields["text"].replace("\r\n", "\n")
        return editing.form(text, editing.current, error_mapping(error).http, problem=error)
    editing = _Editing(request, proposal, file, proposal.proposal.tip)
    if fields.get("action") == "merge":
        return _merged(editing, base, mine)
    if proposal.proposal.tip != tip:
        return editing.amended(opened, mine)
    if _revision(editing.current) != seen:
        return editing.merged(base, mine, PERSON)
    return _accepted(editing, base, mine, seen)


def _merged(editing: _Editing, base: bytes | None, mine: bytes) -> PageResponse:
    """The form with the text that the choices give, unless what they were made from has changed again."""
    fields, address, served = editing.request.form, editing.file.address, editing.current
    if fields.get("side") == SIDES[AMENDED]:
        return _merged_amended(editing, base or b"", mine)
    if served is None or revision_of(served) != fields.get("now"):
        return editing.merged(base, mine, PROPOSER if fields.get("side") else PERSON)
    text = text_of(address, with_choices(StaleTextError(address, base, mine, served), fields))
    return editing.form(text, served, note="chosen", diff=differences(text_of(address, served), text))


def _merged_amended(editing: _Editing, opened: bytes, mine: bytes) -> PageResponse:
    """The same for the choices between a person's text and an amendment."""
    fields, address = editing.request.form, editing.file.address
    served = reports.served_side(editing.proposal, editing.file)
    theirs = served.merged(editing.proposal.collection, editing.file).content or served.proposed or b""
    if revision_of(theirs) != fields.get("now"):
        return editing.amended(opened, mine)
    text = text_of(address, with_choices(StaleTextError(address, opened, mine, theirs), fields))
    diff = differences(text_of(address, served.current or b""), text)
    return editing.form(text, served.current, note="chosen", diff=diff)


def _accepted(editing: _Editing, base: bytes | None, mine: bytes, seen: str) -> PageResponse:
    """Accept the text; first the form again, if that would cause what was not shown."""
    request, proposal, file = editing.request, editing.proposal, editing.file
    word = request.form.get("message", "").strip()[:MAX_WORD_CHARS]
    tip = proposal.proposal.tip
    accepted = AcceptRequest(pages=(file.address.path,), text=mine.decode(), word=word, tip=tip, seen=seen)
    text = request.form["text"].replace("\r\n", "\n")
    try:
        causes = reports.findings_of_part(request.services.decided, proposal, accepted).new_findings
        if causes and request.form.get("sure") != digest_of(causes):
            return editing.form(text, editing.current, causes=causes, sure=digest_of(causes), note="causes")
        decisions.accept(proposal, accepted, request.caller.person)
    except KnowledgeError as error:
        if _revision(editing.current) != seen:
            return editing.merged(base, mine, PERSON)
        return editing.form(text, editing.current, error_mapping(error).http, problem=error)
    return redirect(f"/proposals/{proposal.proposal.id}", 303)


def digest_of(findings: Sequence[NewFinding]) -> str:
    """A digest of what an acceptance would cause, by which a form says that it was shown."""
    lines = sorted(f"{finding.path} {finding.rule} {finding.message}" for finding in findings)
    return sha256("\n".join(lines).encode()).hexdigest()[:32]


def _shown(proposal: FoundProposal, file: ProposedFile, served: bytes | None) -> bytes:
    """The bytes that a form which was made from a served page showed first, so that equal lines keep theirs."""
    side = replace(reports.served_side(proposal, file), current=served)
    return side.merged(proposal.collection, file).content or served or side.proposed or b""


def _revision(content: bytes | None) -> str:
    return "" if content is None else revision_of(content)
