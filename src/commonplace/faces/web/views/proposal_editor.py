"""Editing a page of a proposal before it is accepted: the form, and the choice where both sides changed a place.

The form names what it was made from: the proposal's latest commit and the page that was served. What changes meanwhile
is merged into the text and shown, and never overwritten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from commonplace.domain.browser_text import with_browser_text
from commonplace.domain.document_reader import read_document
from commonplace.domain.errors import ForbiddenError, InvalidInputError, KnowledgeError
from commonplace.domain.merge import with_regions
from commonplace.domain.proposals import ProposedFile
from commonplace.domain.revisions import revision_of
from commonplace.faces.access.callers import allows
from commonplace.faces.errors import error_mapping
from commonplace.faces.web.exchange import PageRequest, PageResponse, redirect
from commonplace.faces.web.pages import page
from commonplace.faces.web.views.merges import (
    MAX_REGIONS,
    PERSON,
    PROPOSER,
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
        values: dict[str, object] = {"note": "", "rows": [], "diff": [], "mine": PERSON, **more}
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
            hidden={"file": address.path, "side": "proposed" if side is PROPOSER else ""},
            cancel=f"/proposals/{identifier}",
            conflicts=sum(1 for row in rows if row.number),
            changed=last_change(collection, address),
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
    decisions.require_open(proposal)
    is_sent = request.method == "POST"
    file = reports.proposed_file(proposal, (request.form if is_sent else request.query).get("file", ""))
    if is_sent:
        return _sent(request, proposal, file)
    editing = _Editing(request, proposal, file, proposal.proposal.tip)
    served = reports.served_side(proposal, file)
    merged = served.merged(proposal.collection, file)
    if merged.conflicts and served.current is not None:
        return editing.merged(served.base, served.proposed or b"", PROPOSER)
    text = text_of(file.address, merged.content or served.proposed or b"")
    return editing.form(text, served.current, note="gone" if merged.conflicts else "")


def _sent(request: PageRequest, proposal: FoundProposal, file: ProposedFile) -> PageResponse:
    """The response to a form that was sent."""
    fields = request.form
    tip, dot, seen = fields.get("revision", "").partition(".")
    if not tip or not dot or "text" not in fields:
        raise InvalidInputError("The form does not say what was shown.", kind="form", hint="Open the proposal again.")
    editing = _Editing(request, proposal, file, tip)
    base = unpacked(fields.get("base", ""))
    mine = with_browser_text(read_document(file.address, _shown(proposal, file, base)), fields["text"])
    served = editing.current
    if fields.get("action") == "merge":
        side = PROPOSER if fields.get("side") else PERSON
        if served is None or revision_of(served) != fields.get("now"):
            return editing.merged(base, mine, side)
        text = text_of(file.address, with_choices(StaleTextError(file.address, base, mine, served), fields))
        return editing.form(text, served, note="chosen", diff=differences(text_of(file.address, served), text))
    if _revision(served) != seen:
        return editing.merged(base, mine, PERSON)
    word = fields.get("message", "").strip()[:MAX_WORD_CHARS]
    accepted = AcceptRequest(pages=(file.address.path,), text=mine.decode(), word=word, tip=tip, seen=seen)
    try:
        decisions.accept(proposal, accepted, request.caller.person)
    except KnowledgeError as error:
        if _revision(editing.current) != seen:
            return editing.merged(base, mine, PERSON)
        text = fields["text"].replace("\r\n", "\n")
        return editing.form(text, served, error_mapping(error).http, problem=error)
    return redirect(f"/proposals/{proposal.proposal.id}", 303)


def _shown(proposal: FoundProposal, file: ProposedFile, served: bytes | None) -> bytes:
    """The bytes that a form which was made from a served page showed first, so that equal lines keep theirs."""
    side = replace(reports.served_side(proposal, file), current=served)
    return side.merged(proposal.collection, file).content or served or side.proposed or b""


def _revision(content: bytes | None) -> str:
    return "" if content is None else revision_of(content)
