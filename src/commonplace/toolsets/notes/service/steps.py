"""Several writes of pages as one step: one transaction, and at most one commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from commonplace.domain import edits
from commonplace.domain.activity import moment_of_write
from commonplace.domain.addresses import Address
from commonplace.domain.changes import RetainedCopy
from commonplace.domain.document_reader import read_document
from commonplace.domain.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidInputError,
    KnowledgeError,
    TooLargeError,
)
from commonplace.domain.markdown.wikitext import with_fields, with_former_fields
from commonplace.domain.ports import Transaction
from commonplace.domain.revisions import revision_of
from commonplace.services.collections import Collection
from commonplace.services.writes.documents import (
    MAX_DOCUMENT_BYTES,
    existing,
    index_written,
    read_to_edit,
    require_free,
)
from commonplace.services.writes.links_after import RedirectedLink, redirected_by
from commonplace.services.writes.moves import MovePlan, plan_moves
from commonplace.services.writes.overwrites import (
    SeenEvidence,
    WriteRequest,
    evidence_of,
    note_write,
    takes_away,
    unseen_conflict,
    unseen_lines,
)
from commonplace.services.writes.retries import on_latest
from commonplace.toolsets.notes.rules.page_edits import PageChange, apply_changes, is_appended, is_whole, numbered
from commonplace.toolsets.notes.service.repeats import require_unmade, with_call

UNNAMED = frozenset({"section", "block"})
"""Kinds of changes that replace text which they do not name."""

MOVE_FIRST = "Move first, and once, then write or edit under the new path."
"""Hint for a step that moves a page which an earlier step writes."""


@dataclass(frozen=True, slots=True)
class WriteStep:
    """Replaces the whole text of a page, or creates it."""

    address: Address
    text: str
    revision: str = ""
    """The revision that the writer saw; "" to use the revision that its session was shown."""


@dataclass(frozen=True, slots=True)
class EditStep:
    """Applies named changes to a page."""

    address: Address
    changes: tuple[PageChange, ...]
    revision: str = ""
    again: bool = False
    """Whether to append a text that is already at the end of its section."""


@dataclass(frozen=True, slots=True)
class MoveStep:
    """Moves a page or a whole folder to a new path and updates links."""

    old: str
    new: str
    moves: tuple[tuple[Address, Address], ...]
    """Old and new address of every file that moves."""


@dataclass(frozen=True, slots=True)
class DeleteStep:
    """Deletes a page."""

    address: Address
    revision: str = ""


Step: TypeAlias = WriteStep | EditStep | MoveStep | DeleteStep


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of one step."""

    step: Step
    address: Address
    """Address of the page after the step."""
    before: bytes | None
    """Bytes before the step; None for a new page."""
    after: bytes | None
    """Bytes after the step; None for a deleted page."""
    relinked: tuple[Address, ...] = ()
    """Pages whose links a move rewrote, by path."""
    pinned: tuple[Address, ...] = ()
    """Pages whose links were rewritten because the new names would have redirected them."""
    gained: tuple[Address, ...] = ()
    """Pages with links that led nowhere and lead to what a move moved now."""
    rewritten: tuple[Address, ...] = ()
    """Moved pages in which a move rewrote links."""
    ignored: tuple[Address, ...] = ()
    """Files of a moved folder that stayed, because ignore files exclude them."""
    not_rewritten: tuple[Address, ...] = ()
    """Pages that are not UTF-8, with links that a move made lead elsewhere."""
    redirected: tuple[RedirectedLink, ...] = ()
    """Links of other pages that resolve elsewhere after a write, an edit or a deletion."""
    unseen: tuple[str, ...] = ()
    """Lines that an edit took away without naming them, and that the session was not shown."""

    @property
    def revision(self) -> str:
        """Revision of the page after the step; "" if it was deleted."""
        return "" if self.after is None else revision_of(self.after)

    @property
    def unchanged(self) -> bool:
        """Whether the step did not change the page."""
        return self.before == self.after


@dataclass(frozen=True, slots=True)
class StepsReceipt:
    """The results of all steps."""

    results: tuple[StepResult, ...]
    commit: str
    """Id of the commit; "" if nothing was committed."""
    retained: dict[Address, RetainedCopy] = field(default_factory=dict[Address, RetainedCopy])


def run_steps(collection: Collection, steps: Sequence[Step], request: WriteRequest, mark: str = "") -> StepsReceipt:
    """Make all the steps, or none of them.

    Replacing a whole page or its body, and deleting a page, needs the page's revision, passed or shown to the session.

    Args:
        collection: Where the pages are.
        steps: The steps.
        request: The writer's request.
        mark: What names the call at other servers of the remote (`WriteCall.mark`); "" for a call without a name.

    Raises:
        CallMadeError: another server has made the call.
        KnowledgeError: a step cannot be made; the message names its number if there are several. Nothing was changed.
    """
    return on_latest(collection, lambda: _made(collection, steps, request, mark))


def _made(collection: Collection, steps: Sequence[Step], request: WriteRequest, mark: str) -> StepsReceipt:
    results: list[StepResult] = []
    message = request.message or default_message(steps)
    if mark and collection.replica is not None:
        message = with_call(message, mark)
    with collection.store.transaction(message, request.author) as transaction:
        if mark:  # what the draft is made on is known now
            require_unmade(collection, mark)
        run = _Run(collection, transaction, request)
        for number, step in enumerate(steps, 1):
            try:
                results.append(run.make(step))
            except KnowledgeError as error:
                if len(steps) == 1:
                    raise
                raise numbered_step(error, number, len(steps)) from error
    run.note()
    receipt = transaction.receipt
    index_written(collection, run.touched)
    return StepsReceipt(tuple(results), receipt.commit, receipt.retained)


def numbered_step(error: KnowledgeError, number: int, steps: int) -> KnowledgeError:
    """A copy of the error whose message names the step, counted from 1, as does the context key `step`."""
    same = numbered(error, f"Step {number} of {steps}")
    same.context["step"] = number
    return same


def default_message(steps: Sequence[Step]) -> str:
    """The commit message of a writer that gives none."""
    if len(steps) != 1:
        return f"Change: {len(steps)} steps"
    match steps[0]:
        case WriteStep(address=address):
            return f"Write: {address.id}"
        case EditStep(address=address):
            return f"Update: {address.id}"
        case DeleteStep(address=address):
            return f"Delete: {address.id}"
        case MoveStep(old=old, new=new):
            return f"Rename: {old} -> {new}"


class _Run:
    """Runs the steps of one transaction in order."""

    def __init__(self, collection: Collection, transaction: Transaction, request: WriteRequest) -> None:
        self._collection = collection
        self._transaction = transaction
        self._request = request
        self._known: dict[Address, tuple[bytes | None, SeenEvidence]] = {}
        """Bytes of each changed page, None if it was deleted, and the evidence that the writer has seen them."""
        self._written: set[Address] = set()
        self._came: dict[Address, tuple[Address, bytes]] = {}
        """Original address and bytes of each moved page, by its new address."""

    def make(self, step: Step) -> StepResult:
        match step:
            case WriteStep():
                return self._write(step)
            case EditStep():
                return self._edit(step)
            case MoveStep():
                return self._move(step)
            case DeleteStep():
                return self._delete(step)

    @property
    def touched(self) -> list[Address]:
        return sorted(self._written)

    def note(self) -> None:
        for address, (raw, evidence) in self._known.items():
            note_write(self._collection, address, raw, self._request, evidence)

    def _write(self, step: WriteStep) -> StepResult:
        address, transaction = step.address, self._transaction
        if not transaction.exists(address) or transaction.is_ignored(address):  # the store refuses ignored ones
            content = with_fields(address, step.text.encode(), moment_of_write())
            self._check_new(address, content)
            redirected = self._redirected(address, None, content)
            self._put(address, content, SeenEvidence.SHOWN)
            return StepResult(step, address, None, content, redirected=redirected)
        raw = transaction.read(address)
        document = read_document(address, raw)
        content = _replaced(
            document.raw, with_former_fields(address, step.text.encode(), raw).decode("utf-8", "replace")
        )
        if content == raw:
            self._known[address] = raw, SeenEvidence.PASSED  # the writer sent exactly this text
            transaction.put(address, raw)  # a replica confirms that the remote has it
            return StepResult(step, address, raw, raw)
        evidence = self._require_evidence(address, raw, step.revision)
        redirected = self._redirected(address, raw, content)
        self._put(address, content, evidence, raw)
        return StepResult(step, address, raw, content, redirected=redirected)

    def _edit(self, step: EditStep) -> StepResult:
        address = step.address
        raw = existing(self._collection, self._transaction, address)
        evidence = self._evidence(address, raw, step.revision)
        document = read_to_edit(self._collection, address, raw)
        changes = step.changes
        if not step.again:
            changes = tuple(
                change for change in changes if not (change.kind == "append" and is_appended(document, change))
            )
        content = apply_changes(document, changes)
        if content != raw:
            if evidence is SeenEvidence.UNSEEN and any(map(is_whole, changes)):
                raise self._unseen(address, raw, step.revision)
            redirected = self._redirected(address, raw, content)
            unseen = self._unseen_lines(address, raw, content, changes) if evidence is SeenEvidence.UNSEEN else ()
            self._put(address, content, evidence, raw)
            return StepResult(step, address, raw, content, redirected=redirected, unseen=unseen)
        self._transaction.put(address, raw)
        return StepResult(step, address, raw, content)

    def _move(self, step: MoveStep) -> StepResult:
        early = sorted({old for old, _ in step.moves} & self._written)
        if early:
            raise InvalidInputError(
                f"An earlier step writes {early[0]}, which this one moves.",
                kind="path",
                hint=MOVE_FIRST,
            )
        plan: MovePlan = plan_moves(self._collection, self._transaction, dict(step.moves), self._written)
        was = {address: address for address in plan.contents if address not in plan.came} | {
            new: old for old, new in plan.moves.items()
        }
        evidences = {address: self._evidence(old, self._transaction.read(old), "") for address, old in was.items()}
        before = {new: self._transaction.read(old) for old, new in plan.moves.items()}
        for old in plan.moves:
            self._transaction.remove(old, keep=False)
            self._known[old] = None, SeenEvidence.SHOWN
        self._came |= {new: (old, before[new]) for old, new in plan.moves.items()}
        for place, content in plan.contents.items():
            was = before[place] if place in plan.came else self._transaction.read(place)
            self._transaction.put(place, content, moved_from=plan.came_from.get(place))
            if place not in plan.came and place not in self._written:
                self._transaction.commit_change_only(place)
            self._keep_unseen(place, was, content, evidences[place])
            self._known[place] = content, evidences[place]
        self._written |= {*plan.moves, *plan.contents}
        first = next(iter(plan.moves.values()))
        return StepResult(
            replace(step, moves=tuple(plan.moves.items())),
            first,
            before[first],
            plan.contents[first],
            relinked=tuple(plan.others),
            pinned=plan.pinned,
            gained=plan.gained,
            rewritten=plan.rewritten,
            ignored=plan.ignored,
            not_rewritten=plan.not_rewritten,
        )

    def _delete(self, step: DeleteStep) -> StepResult:
        address = step.address
        raw = existing(self._collection, self._transaction, address)
        self._require_evidence(address, raw, step.revision)
        redirected = self._redirected(address, raw, None)
        self._transaction.remove(address)
        self._retain(address)
        self._known[address] = None, SeenEvidence.SHOWN
        self._written.add(address)
        return StepResult(step, address, raw, None, redirected=redirected)

    def _redirected(self, address: Address, before: bytes | None, after: bytes | None) -> tuple[RedirectedLink, ...]:
        """The links of other pages that a write redirects, according to the index."""
        was = self._came.get(address, (address, b""))[0]
        links = redirected_by(self._collection, was, before, after)
        now = {was: address}
        return tuple(
            RedirectedLink(
                replace(
                    link.found, target=now.get(link.found.target, link.found.target) if link.found.target else None
                ),
                now.get(link.now, link.now) if link.now else None,
            )
            for link in links
            if link.found.source not in {was, address}
        )

    def _evidence(self, address: Address, raw: bytes, revision: str) -> SeenEvidence:
        known_pair = self._known.get(address)
        if known_pair is not None and known_pair[0] == raw:
            was = self._came.get(address)
            return evidence_of(self._collection, *was, self._of(revision)) if was and revision else known_pair[1]
        return evidence_of(self._collection, address, raw, self._of(revision))

    def _require_evidence(self, address: Address, raw: bytes, revision: str) -> SeenEvidence:
        evidence = self._evidence(address, raw, revision)
        if evidence is SeenEvidence.UNSEEN:
            raise self._unseen(address, raw, revision)
        return evidence

    def _unseen(self, address: Address, raw: bytes, revision: str) -> ConflictError:
        """The conflict about a page as it was before these steps, the only state that can be read."""
        return unseen_conflict(self._collection, *self._came.get(address, (address, raw)), self._of(revision))

    def _unseen_lines(
        self, address: Address, raw: bytes, content: bytes, changes: Sequence[PageChange]
    ) -> tuple[str, ...]:
        session = self._request.session
        if session is None or all(change.kind not in UNNAMED for change in changes):
            return ()
        return unseen_lines(self._collection, address, raw, content, session)

    def _of(self, revision: str) -> WriteRequest:
        return replace(self._request, expected=revision, unseen="refuse")

    def _put(self, address: Address, content: bytes, evidence: SeenEvidence, before: bytes | None = None) -> None:
        if len(content) > MAX_DOCUMENT_BYTES:
            raise TooLargeError(
                f"The page is {len(content):,} bytes; the limit is {MAX_DOCUMENT_BYTES:,}.",
                kind="document",
                hint="Split it into several pages.",
            )
        self._transaction.put(address, content)
        if before is not None:
            self._keep_unseen(address, before, content, evidence)
        self._written.add(address)
        self._known[address] = content, evidence

    def _keep_unseen(self, address: Address, before: bytes, after: bytes, evidence: SeenEvidence) -> None:
        if evidence is not SeenEvidence.SHOWN and before != after and takes_away(before, after):
            self._retain(address)

    def _retain(self, address: Address) -> None:
        """Retain the bytes that a page had before these steps, at its original address."""
        self._transaction.retain(self._came.get(address, (address, b""))[0])

    def _check_new(self, address: Address, content: bytes) -> None:
        try:
            require_free(self._collection, self._transaction, address, content)
        except AlreadyExistsError as error:
            raise AlreadyExistsError(
                f"{error} Its path differs from {address.path!r} in case or Unicode form alone.",
                kind="document",
                hint=error.hint,
                **error.context,
            ) from error


def _replaced(raw: bytes, text: str) -> bytes:
    """The bytes of a page after its text is replaced; unchanged if the text is the same."""
    document = read_document(Address("page.md"), raw)
    return raw if text.encode() == raw else edits.replace_text(document, text)
