"""The collections as a proposer sees and writes them: the one place that keeps such writes off what is served."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from threading import Lock
from typing import TypeVar

from commonplace.domain.activity import PlannedWrite, require_decision, session_id
from commonplace.domain.addresses import Address, fold
from commonplace.domain.errors import NotFoundError
from commonplace.domain.ports import Index, Store
from commonplace.domain.proposals import (
    ANONYMOUS,
    MAX_PURPOSE,
    OWN_CHANGE,
    Proposal,
    ProposalBranches,
    ProposalStates,
    ProposedFile,
    Proposer,
    ServedView,
    only_proposing,
)
from commonplace.services.collections import Collection, Collections, current_bytes
from commonplace.services.deletions import own_change
from commonplace.services.services import ServiceProvider, Services

T = TypeVar("T")
MAX_BEGUN = 1_000
"""Maximum number of proposals without a commit whose ids are remembered."""


@dataclass(frozen=True, slots=True)
class ProposedServices:
    """The services of a proposer's call."""

    services: Services
    served: Services
    """The services of what is served, to be read only."""
    shown: Mapping[str, Proposal]
    """The proposer's open proposals that the answers show, by name of the collection."""


class _BegunProposals:
    """Ids of proposals without a commit, so that a refused write does not cost the next one an index. Thread-safe."""

    def __init__(self) -> None:
        self._ids: OrderedDict[tuple[str, Proposer], str] = OrderedDict()
        self._lock = Lock()

    def of(self, collection: Collection, states: ProposalStates, proposer: Proposer) -> str:
        """The id that the proposer's next proposal will have."""
        key = collection.store.identity, proposer
        with self._lock:
            identifier = self._ids.get(key)
            if identifier is None or is_used(states, identifier):
                identifier = self._ids[key] = states.branches.new_id()
            self._ids.move_to_end(key)
            while len(self._ids) > MAX_BEGUN:
                self._ids.popitem(last=False)
            return identifier


_BEGUN = _BegunProposals()


def proposer_of(caller: str, session: str | None, purpose: str = "", client: str = "") -> Proposer:
    """A proposer.

    Args:
        caller: Id of the caller's key or token; "" for a local program.
        session: Name of the session, which is secret; None for a caller without one.
        purpose: The purpose that the caller states.
        client: Name of the caller's program.
    """
    digest = session_id(caller, session) if session else ""
    return Proposer(_line(caller), digest, _line(purpose), _line(client))


def network_proposer(caller: str, address: str, session: str | None, purpose: str = "", client: str = "") -> Proposer:
    """A proposer who calls over a network. Without a key and a session, the address tells who it is.

    Args:
        caller: Id of the caller's key or token; "" without one.
        address: The caller's network address.
        session: Name of the session, which is secret; None for a caller without one.
        purpose: The purpose that the caller states.
        client: Name of the caller's program.
    """
    return proposer_of(caller or ANONYMOUS, session or (None if caller else address), purpose, client)


def current_proposal(states: ProposalStates, proposer: Proposer) -> Proposal | None:
    """The open proposal in which the proposer's writes gather; None if the next write begins one."""
    return next((proposal for proposal in states.branches.listed() if proposer.gathers(proposal)), None)


def is_used(states: ProposalStates, identifier: str) -> bool:
    """Whether a proposal, open or closed, has this id."""
    try:
        states.branches.proposal(identifier)
    except NotFoundError:
        return False
    return True


@contextmanager
def proposing(services: Services, proposer: Proposer, *, writes: bool) -> Generator[ProposedServices]:
    """The services as a proposer uses them, for the duration of a `with` block.

    Every collection is one of its proposal, or refuses writes: no write of the block reaches what is served.

    Args:
        services: The services of the caller.
        proposer: The caller.
        writes: Whether the block may write. A block that only reads sees a proposal that exists.
    """
    shown: dict[str, Proposal] = {}
    with only_proposing(), ExitStack() as opened:
        members: list[Collection] = []
        guarded = [_guarded(collection) for collection in services.collections]
        for collection in services.collections:
            states = collection.proposals
            proposal = current_proposal(states, proposer) if states else None
            if proposal is not None:
                shown[collection.name] = proposal
            if states is None or not (proposal or writes):
                members.append(guarded[len(members)])
            else:
                identifier = proposal.id if proposal else _BEGUN.of(collection, states, proposer)
                members.append(_proposed(collection, opened, states, identifier, proposer))
        # Restricted: services that toolsets add use nothing but these collections, and proposals to a store of theirs.
        providers = tuple(_proposing_provider(provider, services, proposer, shown) for provider in services.providers)
        proposed = replace(
            services,
            collections=Collections(lambda: members),
            unrestricted=False,
            proposes=services.unrestricted,
            providers=providers,
        )
        served = replace(
            services,
            collections=Collections(lambda: [*guarded, *map(_guarded, services.stores)]),
            unrestricted=False,
        )
        with _naming_own_changes(members):
            yield ProposedServices(proposed, served, shown)


@contextmanager
def _naming_own_changes(collections: Sequence[Collection]) -> Generator[None]:
    """Say of a page that is not there that the caller's own proposal took it away, unless the error says so."""
    try:
        yield
    except NotFoundError as error:
        reference = str(error.context.get("reference", ""))
        for collection in collections if reference and OWN_CHANGE not in str(error) else ():
            name = fold(reference.removeprefix(f"{collection.name}:").removesuffix(".md"))
            error.hint = own_change(collection.store, name) or error.hint
        raise


def _proposing_provider(
    provider: ServiceProvider[T], services: Services, proposer: Proposer, shown: dict[str, Proposal]
) -> ServiceProvider[T]:
    """A provider whose service proposes to the store of its own; the store is opened when the service is first used."""
    own = provider.own
    if own is None:
        return provider

    def proposing_service(_: Services) -> T:
        collection = own.collection(services)
        states = collection.proposals
        if states is None:
            return own.over(services, _guarded(collection))
        proposal = current_proposal(states, proposer)
        if proposal is not None:
            shown[collection.name] = proposal
        identifier = proposal.id if proposal else _BEGUN.of(collection, states, proposer)
        store = states.branches.store(identifier, proposer)
        return own.over(services, replace(collection, store=store, proposals=None))

    return replace(provider, get=proposing_service)


@contextmanager
def proposal_view(
    collection: Collection, proposal: Proposal, proposer: Proposer | None = None
) -> Generator[Collection]:
    """A collection with the changes of a proposal, for the duration of a `with` block."""
    states = collection.proposals
    if states is None:
        raise RuntimeError("the collection has no proposals")
    with ExitStack() as opened:
        yield _proposed(collection, opened, states, proposal.id, proposer)


@contextmanager
def trial_view(collection: Collection, contents: Mapping[Address, bytes | None]) -> Generator[Collection]:
    """A collection with other contents, which nothing keeps, for the duration of a `with` block."""
    states = collection.proposals
    if states is None:
        raise RuntimeError("the collection has no proposals")
    with states.tried(contents) as (store, index):
        yield _seen(collection, store, index)


def _proposed(
    collection: Collection, opened: ExitStack, states: ProposalStates, identifier: str, proposer: Proposer | None
) -> Collection:
    return _seen(collection, *opened.enter_context(states.opened(identifier, proposer)))


def _seen(collection: Collection, store: Store, index: Index) -> Collection:
    """The collection with other contents; its past is that of what is served."""
    return replace(collection, store=store, index=index, semantic_index=None, proposals=None, replica=None)


def _guarded(collection: Collection) -> Collection:
    """A collection that is read as it is served, and refuses writes."""
    reason, hint = refusal_of(collection)
    return replace(collection, store=ServedView(collection.store, reason, hint))


def refusal_of(collection: Collection) -> tuple[str, str]:
    """The reason why a collection takes no proposals, and what to do."""
    if collection.proposals is not None:
        return "this call only reads", "Propose with a tool that writes."
    if isinstance(collection.store, ServedView) and collection.store.read_only_reason:
        return collection.store.refusal
    if collection.store.read_only_reason:
        return collection.store.read_only_reason, "Propose in a clone of it."
    return (
        "proposals are branches, and its folder is not in a Git repository",
        "Run git init in it, and serve it again.",
    )


def proposal_ids(proposed: Mapping[str, str], shown: Mapping[str, Proposal]) -> list[str]:
    """Ids of the proposals that a call wrote, else of those that it saw.

    Args:
        proposed: Ids of the proposals that the call wrote, by identity of the store.
        shown: The proposals that the call saw.
    """
    return sorted(set(proposed.values()) or {proposal.id for proposal in shown.values()})


def proposal_lines(proposed: Mapping[str, str], shown: Mapping[str, Proposal]) -> Sequence[str]:
    """Lines for an answer: that writes wait for a person, else that it shows a proposal. See `proposal_ids`."""
    named = ", ".join(proposal_ids(proposed, shown))
    if proposed:
        return [f"PROPOSED, not yet in the base: proposal {named} waits for a person."]
    return [f"WITH YOUR PROPOSAL {named}, which waits for a person."] if named else []


def _line(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)[:MAX_PURPOSE].strip()


def require_acceptable(
    collection: Collection, branches: ProposalBranches, part: Proposal | Sequence[ProposedFile]
) -> None:
    """Check that the caller may write what is decided on: the same decision as on the writes of an acceptance.

    Args:
        collection: Collection of the proposal.
        branches: Its proposals.
        part: A whole proposal, with the paths that cannot be accepted, or some files of one.

    Raises:
        ForbiddenError: kind "limit".
    """

    def planned() -> PlannedWrite:
        files, left_out = (branches.files(part), branches.left_out(part)) if isinstance(part, Proposal) else (part, ())
        before = {file.address: current_bytes(collection, file.address) for file in files}
        after = {file.address: branches.content(file.proposed) for file in files}
        unreadable = dict.fromkeys(map(Address, left_out))
        return PlannedWrite(collection.name, collection.store.identity, before, {**unreadable, **after})

    require_decision(planned)
