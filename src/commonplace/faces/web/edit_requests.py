"""Runs a view that edits: at the tier `propose` on the caller's own proposal, else on what is served.

Lists the proposals that wait.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from urllib.parse import parse_qsl, urlencode

from commonplace.domain.addresses import Address
from commonplace.domain.changes import recording_retained, recording_waiting_index
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.proposals import Proposer, recording_proposed
from commonplace.domain.words.amounts import amount
from commonplace.faces.access.callers import Caller, allows
from commonplace.faces.web.exchange import CardRow, EditingView, PageRequest, PageResponse
from commonplace.services.collections import Collection, Collections
from commonplace.services.proposals import decisions
from commonplace.services.proposals.views import network_proposer, proposing
from commonplace.services.writes.recorded import recording_writes
from commonplace.services.writes.retries import call_on_latest

PROGRAM = "web pages"
"""Name under which proposals say where they were made."""
MAX_FIELDS = 500
"""Maximum number of fields of a form."""
MAX_WAITING = 5
"""Maximum number of proposals above a page."""


def run_editing(editing: EditingView, request: PageRequest) -> PageResponse:
    """The response of a view that edits.

    A write that misses something reads the remotes of replicas and is made once more.

    Raises:
        KnowledgeError: as from the view. Nothing was written.
    """
    writes = editing.writes and request.method != "GET"
    opened = _as_proposer(request, writes=writes or editing.plans) if editing.as_proposer else nullcontext(request)
    with opened as own:
        if not writes or own.proposer is not None:
            return editing.view(own)
        with recording_retained(), recording_waiting_index(), recording_writes():
            return call_on_latest(own.collections.opened, lambda: editing.view(own))


def form_of(body: bytes) -> dict[str, str]:
    """The last value of each field of a form.

    Raises:
        InvalidInputError: the form is not UTF-8, or has too many fields.
    """
    try:
        fields = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError as error:
        raise InvalidInputError(
            "The form is not readable.", kind="form", hint="Send it as UTF-8, percent-encoded."
        ) from error
    return dict(fields)


def page_proposer(caller: Caller) -> Proposer:
    """The caller as a proposer. All proposals of a key from the pages are one until it is decided on."""
    return network_proposer(caller.id, caller.address, None, client=PROGRAM)


@contextmanager
def _as_proposer(request: PageRequest, *, writes: bool) -> Generator[PageRequest]:
    if request.tier != "propose":
        yield request
        return
    proposer = page_proposer(request.caller)
    with ExitStack() as opened:
        view = opened.enter_context(proposing(request.services, proposer, writes=writes))
        proposed = opened.enter_context(recording_proposed())
        yield replace(request, services=view.services, proposer=proposer, proposed=proposed)


def waiting_notes(request: PageRequest, collection: Collection, address: Address | None = None) -> list[CardRow]:
    """Rows about the proposals that wait and that the caller may see: how many, or those that change a page.

    Args:
        request: The request.
        collection: The collection.
        address: The page; None for the number of all.
    """
    if request.tier == "read" or collection.is_past or collection.proposals is None:
        return []
    viewer = None if allows(request.tier, "write") else page_proposer(request.caller)
    waiting = decisions.listed(Collections(lambda: [collection]), viewer, page=address)
    if address is None:
        about = "wait for a person." if len(waiting) > 1 else "waits for a person."
        return [CardRow(amount(len(waiting), "proposal"), "/proposals", about)] if waiting else []
    about = "is proposed for this page, and waits for a person."
    place = urlencode({"file": address.path})
    rows = [(proposal.proposal.title, proposal.proposal.id) for proposal in waiting[:MAX_WAITING]]
    return [CardRow(title, f"/proposals/{identifier}?{place}", about) for title, identifier in rows]
