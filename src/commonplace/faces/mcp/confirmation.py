"""Asks the client's person before a write: it is tried as a proposal, shown, and made if the person agrees.

What is written afterwards must be what was shown, to the byte; else nothing is written.
"""

from __future__ import annotations

import re
import secrets
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import accumulate
from typing import TYPE_CHECKING, NoReturn, cast

from commonplace.domain.activity import PlannedWrite, WriteWatch, at_moment, current_watch, session_id, watched_by
from commonplace.domain.errors import ConfigError, ConflictError, ForbiddenError
from commonplace.domain.json import JsonObject
from commonplace.domain.proposals import Proposer, record_proposed, recording_proposed
from commonplace.domain.words.amounts import amount
from commonplace.faces.lazy_module import LazyModule
from commonplace.faces.mcp.toolset import Call, Tool, ToolResult

if TYPE_CHECKING:
    from commonplace.faces import proposal_output
    from commonplace.services.proposals import decisions, reports, views
else:
    decisions = LazyModule("commonplace.services.proposals.decisions")
    reports = LazyModule("commonplace.services.proposals.reports")
    views = LazyModule("commonplace.services.proposals.views")
    proposal_output = LazyModule("commonplace.faces.proposal_output")

BULK_FILES = 10
"""Number of files of one call from which a write is large."""
BULK_BYTES = 100_000
"""Number of bytes of one call from which a write is large."""
MAX_SHOWN = 4_000
"""Maximum number of characters of diffs that a person is shown."""
MAX_FILES = 20
"""Maximum number of files that a person is shown."""
CANNOT_ASK = "This client cannot ask its person before a write, so it waits as a proposal."
DECISIONS = ("yes", "no")
ANSWERS = (*DECISIONS, "as a proposal")
CANCELLED = "cancelled"
"""The answer of a question that was closed."""
MAX_ANSWER_TIME = timedelta(hours=1)
"""Maximum time between a question and its answer in the newer era; later, the person is asked again."""
_SHOWN_ARGUMENTS = ("action", "id", "message", "word")
"""The arguments of a call that no diff shows."""
_NAME = re.compile("confirm-([0-9]{16})-[0-9a-f]{32}")
"""The name of a question: the date of the write in microseconds since 1970, and the beginning of the digest."""

_NOTHING: JsonObject = {}

Run = Callable[[Call], ToolResult]


@dataclass(slots=True)
class _TrialWatch:
    """Collects the writes of a trial; limits hold as for a real write."""

    plan: list[PlannedWrite] = field(default_factory=list[PlannedWrite])
    inner: WriteWatch | None = None

    @contextmanager
    def writing(self, write: PlannedWrite) -> Generator[Callable[[str], None]]:
        """Check a write against the limits, without counting it."""
        if self.inner is not None:
            with self.inner.writing(write):
                pass
        self.plan.append(write)
        yield _ignore

    def deciding(self, write: PlannedWrite) -> None:
        """Check against the limits whether the caller may decide."""
        if self.inner is not None:
            self.inner.deciding(write)

    def reading(self, base: str, path: str) -> None:
        """Do nothing."""


class _StoppedWrite(BaseException):
    """Ends a call at its first write, of which nothing is made."""


@dataclass(slots=True)
class _StoppingWatch(_TrialWatch):
    """Ends the call at its first write, and keeps what it would have been."""

    def writing(self, write: PlannedWrite) -> NoReturn:
        """Check a write against the limits, then end the call.

        Raises:
            _StoppedWrite: always, unless the limits forbid the write.
        """
        with _TrialWatch.writing(self, write):
            raise _StoppedWrite


@dataclass(slots=True)
class _ConfirmedWatch:
    """Allows the writes that were shown, in their order, and no others."""

    plan: list[PlannedWrite]
    inner: WriteWatch | None

    def writing(self, write: PlannedWrite) -> AbstractContextManager[Callable[[str], None]]:
        """Allow the next write if its bytes are those that were shown.

        Raises:
            ConflictError: they are not.
        """
        if not self.plan or dict(write.after) != dict(self.plan.pop(0).after):
            raise ConflictError(
                "The pages have changed since the write was shown, so it would not be the same. Nothing was written.",
                kind="confirm",
                hint="Read the pages again, and repeat the call: the person is asked again.",
            )
        return self.inner.writing(write) if self.inner else _allowed()

    def deciding(self, write: PlannedWrite) -> None:
        """Check against the limits whether the caller may decide."""
        if self.inner is not None:
            self.inner.deciding(write)

    def reading(self, base: str, path: str) -> None:
        """Do nothing."""


def confirmed(row: Tool, call: Call, arguments: JsonObject, run: Run) -> tuple[ToolResult, Sequence[str]]:
    """Run a writing tool after the client's person has agreed.

    While the person is asked, nothing of it is a proposal that others could see or accept.

    Args:
        row: The tool.
        call: The call, at a tier that writes.
        arguments: The arguments of the call.
        run: Runs the tool.

    Returns:
        The result, and lines to add to it.

    Raises:
        InputNeeded: ends the call in the newer era, until the client answers.
        ForbiddenError: the person said no.
        ConflictError: the pages changed while the person was asked.
        ConfigError: the tool's writes cannot be shown before they are made.
        KnowledgeError: an error of the tool.
    """
    _require_shown(row)
    proposer = Proposer(call.caller, session_id("confirm", secrets.token_hex(16)), "", _client(call))
    moment, can_ask = _moment(call), call.peer.can("elicitation")
    with at_moment(moment):
        plan, lines = _planned(call, proposer, run)
        if not plan or (call.services.confirm == "bulk" and not _is_bulk(plan)):
            return _made(call, plan, run), ()
        answer, word = "as a proposal", ""
        if can_ask:
            answer, word = _answer(call, row, arguments, _Question(plan, lines, ANSWERS, moment))
        if answer == "yes":
            return _made(call, plan, run), ()
        if answer == "as a proposal":
            shown, _, proposed = _tried(call, proposer, run)
            _pass_on(proposed)
            return shown, () if can_ask else (CANNOT_ASK,)
    raise _refused(answer, word)


def _planned(call: Call, proposer: Proposer, run: Run) -> tuple[list[PlannedWrite], list[str]]:
    """The writes of a trial of which nothing is left, and their diffs."""
    try:
        _, plan, _ = _tried(call, proposer, run)
        return plan, _lines(call, proposer) if plan else []
    finally:
        _discard(call, proposer)


def decided(row: Tool, call: Call, arguments: JsonObject, run: Run) -> tuple[ToolResult, Sequence[str]]:
    """Run the tool that decides on proposals; what it would write is made after the client's person has agreed.

    It is stopped at its first write, which the person is shown. So an undo in several folders is one call for each.
    Parameters, result and errors are those of `confirmed`.
    """
    watch = _StoppingWatch(inner=current_watch())
    moment = _moment(call)
    with at_moment(moment):
        with suppress(_StoppedWrite), watched_by(watch):
            return run(call), ()
        if call.services.confirm != "bulk" or _is_bulk(watch.plan):
            if not call.peer.can("elicitation"):
                raise ForbiddenError(
                    "A person decides on this, and this client cannot ask its person. Nothing was written.",
                    kind="confirm",
                    hint="Ask for a decision in the browser or on the command line: commonplace proposals, "
                    "commonplace undo.",
                )
            question = _Question(watch.plan, _plan_lines(watch.plan), DECISIONS, moment)
            answer, word = _answer(call, row, arguments, question)
            if answer != "yes":
                raise _refused(answer, word)
        return _made(call, watch.plan, run), ()


def unasked(row: Tool, call: Call, arguments: JsonObject, run: Run) -> tuple[ToolResult, Sequence[str]]:
    """Run a tool of a client that cannot ask its person, on the services of proposals.

    Parameters, result and errors are those of `confirmed`.
    """
    del arguments
    _require_shown(row)
    with recording_proposed() as proposed:
        shown = run(call)
    _pass_on(proposed)
    return shown, (CANNOT_ASK,) if proposed else ()


def _pass_on(proposed: Mapping[str, str]) -> None:
    """Record proposals, which were recorded within a part of the call, for the whole of it."""
    for identity, identifier in proposed.items():
        record_proposed(identity, identifier)


def _require_shown(row: Tool) -> None:
    if not row.proposes:
        raise ConfigError(
            f"{row.name} cannot be shown before it is done, and this server asks first.",
            kind="confirm",
            hint="Serve without --confirm to use it.",
        )


def _refused(answer: str, word: str) -> ForbiddenError:
    """The error for a write that the person does not want, or did not decide on."""
    if answer == CANCELLED:
        return ForbiddenError(
            "The person closed the question without an answer. Nothing was written.",
            kind="confirm",
            hint="Ask whether it is wanted, then repeat the call.",
        )
    return ForbiddenError(
        f"The person said no{f': {word}' if word else ''}. Nothing was written.",
        kind="confirm",
        hint="Ask what is wanted instead.",
    )


def _tried(call: Call, proposer: Proposer, run: Run) -> tuple[ToolResult, list[PlannedWrite], Mapping[str, str]]:
    """The result, the writes and the proposals of a trial, in which the records of the session do not change."""
    watch = _TrialWatch(inner=current_watch())
    with views.proposing(call.services, proposer, writes=True) as view:
        services = replace(view.services, sessions=call.services.sessions.copy())
        session = call.session.copy() if call.session else None
        with watched_by(watch), recording_proposed() as proposed:
            shown = run(replace(call, services=services, served=services, session=session, proposer=proposer))
    return shown, watch.plan, proposed


def _made(call: Call, plan: list[PlannedWrite], run: Run) -> ToolResult:
    """Make the writes of a plan."""
    with watched_by(_ConfirmedWatch(list(plan), current_watch())):
        return run(call)


def _moment(call: Call) -> datetime:
    """The date of the writes: that of the question that the client answers, so that they are what was shown."""
    now = datetime.now(UTC)
    for match in filter(None, map(_NAME.fullmatch, call.peer.answered())):
        asked_at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(match[1]))
        if now - MAX_ANSWER_TIME <= asked_at <= now:
            return asked_at
    return now


@dataclass(frozen=True, slots=True)
class _Question:
    """A question to a person about writes, before they are made."""

    plan: Sequence[PlannedWrite]
    lines: Sequence[str]
    """The writes as they are shown."""
    answers: Sequence[str]
    """The answers that are offered."""
    moment: datetime
    """The date of the writes."""


def _answer(call: Call, row: Tool, arguments: JsonObject, question: _Question) -> tuple[str, str]:
    """One of the answers or `CANCELLED`, and the person's words. An answer counts once.

    Raises:
        ForbiddenError: the question was answered before.
    """
    digest = _digest(question.plan)
    elapsed = question.moment - datetime(1970, 1, 1, tzinfo=UTC)
    name = f"confirm-{elapsed // timedelta(microseconds=1):016}-{digest[:32]}"
    properties: JsonObject = {
        "answer": {"type": "string", "enum": list(question.answers), "title": "Write it?"},
        "word": {"type": "string", "title": "Words to the agent"},
    }
    schema: JsonObject = {"type": "object", "properties": properties, "required": ["answer"]}
    stated = [proposal_output.one_line(f"{key}: {arguments[key]}") for key in _SHOWN_ARGUMENTS if arguments.get(key)]
    message = "\n".join([f"{row.title}: {row.name}", *stated, *question.lines, f"Digest: {digest}"])
    request: JsonObject = {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}
    result = call.peer.ask({name: request})[name]
    until = (question.moment + MAX_ANSWER_TIME).timestamp()
    if call.services.take_once and not call.services.take_once("confirm", name, until):
        raise ForbiddenError(
            "This question was answered before, and an answer counts once. Nothing was written.",
            kind="confirm",
            hint="Repeat the call without the answer: the person is asked again.",
        )
    if result.get("action") == "cancel":
        return CANCELLED, ""
    content = cast("JsonObject", result.get("content") or _NOTHING) if result.get("action") == "accept" else _NOTHING
    answer = str(content.get("answer", "no"))
    return answer if answer in question.answers else "no", str(content.get("word") or "")[:1_000]


def _plan_lines(plan: Sequence[PlannedWrite]) -> list[str]:
    """The diffs of writes, as much of them as a person is shown."""
    files = [
        (f"{write.name}:{address.path}", reports.diff_text(address, (write.before.get(address), after)))
        for write in plan
        for address, after in sorted(write.after.items())
    ]
    lines = [line for path, diff in files[:MAX_FILES] for line in proposal_output.diff_lines(path, diff)]
    lengths = accumulate(len(line) + 1 for line in lines)
    shown = [line for line, length in zip(lines, lengths, strict=True) if length <= MAX_SHOWN]
    rest = f"and more: {amount(len(files), 'file')} and {amount(len(lines), 'line')} in all"
    return shown if len(shown) == len(lines) and len(files) <= MAX_FILES else [*shown, rest]


def _lines(call: Call, proposer: Proposer) -> list[str]:
    """The diffs of a trial, with what they would cause."""
    lines: list[str] = []
    bases = call.services.decided
    for proposal in decisions.listed(bases, proposer):
        if proposer.gathers(proposal.proposal):
            lines += [f"In {proposal.collection.name}:"] if len(bases.members) > 1 else []
            report = reports.report(bases, proposal, reports.FileRange(limit=MAX_FILES))
            lines += proposal_output.report_lines(proposal, report, MAX_SHOWN)[1:]
    return lines


def _discard(call: Call, proposer: Proposer) -> None:
    """Remove the proposals of a trial."""
    for collection in call.services.decided:
        if collection.proposals is not None:
            branches = collection.proposals.branches
            proposal = views.current_proposal(collection.proposals, proposer)
            if proposal is not None:
                with branches.locked():
                    branches.discard(proposal)


def _digest(plan: Sequence[PlannedWrite]) -> str:
    """SHA-256 of what is written, in 64 hex digits: paths and bytes, in order."""
    digest = sha256()
    for write in plan:
        for address, content in sorted(write.after.items()):
            state = b"-" if content is None else b"+%d\0%s" % (len(content), content)
            digest.update(b"%s\0%s\0%s" % (write.base.encode(), address.path.encode(), state))
    return digest.hexdigest()


def _is_bulk(plan: Sequence[PlannedWrite]) -> bool:
    """Whether writes are large, or delete something. A move deletes the old file, and is large from two files on."""
    pairs = [(write.before.get(address), after) for write in plan for address, after in write.after.items()]
    presence = Counter((before is not None, after is not None) for before, after in pairs)
    gone, new = presence[True, False], presence[False, True]
    size = sum(len(after or b"") for _, after in pairs)
    return gone > min(new, 1) or len(pairs) >= BULK_FILES or size >= BULK_BYTES


def _client(call: Call) -> str:
    return call.proposer.client if call.proposer else ""


@contextmanager
def _allowed() -> Generator[Callable[[str], None]]:
    yield _ignore


def _ignore(commit: str) -> None:
    del commit
