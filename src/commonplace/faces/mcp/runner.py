"""Runs requests in worker threads: waits for the index, logs, and passes the caller's context.

Shared by all handlers.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TypeAlias, TypeVar

from commonplace.domain.activity import NO_LIMITS, Actor, session_id
from commonplace.domain.changes import CURRENT_CLIENT, ClientProgram
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.ports import Progress
from commonplace.domain.proposals import Proposer
from commonplace.faces.access.callers import Caller, caller_of
from commonplace.faces.call_log import traced_call
from commonplace.faces.freshness import AT_LEAST_META, CommitWaits
from commonplace.faces.mcp.connected_peer import ConnectedPeer, LogLevels, is_modern, wants_progress
from commonplace.faces.mcp.peers import InputNeeded
from commonplace.faces.mcp.sdk import Context, asgi_scope, client_name, client_version, session_of
from commonplace.faces.mcp.toolset import DECIDING, PROPOSE, Call, require_text
from commonplace.faces.worker_threads import go_on, run_in_worker
from commonplace.services.collections import UNFINISHED_SECONDS, Collections
from commonplace.services.proposals.views import network_proposer, proposer_of, proposing
from commonplace.services.services import Services
from commonplace.settings import Tier

log = logging.getLogger(__name__)

PURPOSE_META = "commonplace/purpose"
"""Key in `_meta` by which a caller states a purpose; writes of one session and purpose are one proposal."""
READY_TIMEOUT = 45.0
"""Timeout in seconds for the first index."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs requests on the services at one tier."""

    services: Services
    tier: Tier
    proposes_unasked: bool = False
    """Whether a client that cannot ask its person has the tier `propose`."""
    levels: LogLevels = field(default_factory=LogLevels)
    waits: CommitWaits = field(default_factory=CommitWaits)

    async def run(
        self,
        context: Context,
        verb: str,
        function: Callable[[Call], T],
        *,
        reads: bool = True,
        ready: bool = True,
        unfinished: bool = False,
    ) -> T:
        """Call a function in a worker thread.

        Args:
            context: The request.
            verb: Name of the call in the log.
            function: The function to call.
            reads: Whether the function changes nothing, so that a cancelled call can be abandoned.
            ready: Whether to wait for the first index.
            unfinished: Whether the function answers with what is indexed so far if the first index takes long.

        Raises:
            InputNeeded: the function needs the client's answers.
            KnowledgeError: the function's error, or INTERNAL for any other exception; or a replica lacks a commit that
                the request names in `_meta`.
        """
        try:
            wait = _wait_for_index(context, unfinished=unfinished) if ready else None
            return await self._run(context, verb, function, reads=reads, wait=wait)
        except KnowledgeError:
            raise
        except Exception as error:
            # Only errors before the function starts arrive here, as `traced_call` converts the function's own errors.
            # The SDK would send the text of this error to the client.
            log.exception("%s could not be started", verb)
            raise KnowledgeError("Internal error; the server's log has the details.") from error

    def _call(self, context: Context, services: Services, caller: Caller | None, name: str | None) -> Call:
        """A call, before it is known who acts and proposes. `name` is that of the session; None without one."""
        peer = ConnectedPeer(context, self.levels)
        return Call(
            services=services,
            tier=PROPOSE if self.proposes_unasked and not peer.can("elicitation") else self.tier,
            progress=peer.step,
            client=session_of(context) or caller.id if caller else "",
            caller=caller.id if caller else "",
            person=caller.person if caller else None,
            session=None if name is None else services.sessions.of(name),
            peer=peer,
            go_on=go_on,
        )

    async def _run(
        self, context: Context, verb: str, function: Callable[[Call], T], *, reads: bool, wait: IndexWait | None
    ) -> T:
        scope = asgi_scope(context)
        caller = caller_of(scope) if scope else None
        services = self.services.only(caller.collections) if caller else self.services
        if context.meta and isinstance(needed := context.meta.get(AT_LEAST_META), str):
            await self.waits.wait(services.collections, needed)
        name = _session_name(context, caller)
        call = self._call(context, services, caller, name)
        actor = _actor(caller, verb, name, client_name(context))
        program = ClientProgram(
            actor.client,
            services.credit,
            client_version(context),
            # the session of a caller without one is made from its key or its address, which nobody is to find out
            "" if name is None else actor.session,
            actor.name,
        )
        if self.tier in DECIDING:
            call = replace(call, proposer=_proposer(context, caller, name, program.name))
        call = replace(call, actor=actor)
        watch = services.watch(actor, caller.limits if caller else NO_LIMITS, reads=reads)
        run = partial(_run, verb, context.params, partial(_watched, watch, function), call, wait=wait, writes=not reads)
        return await run_in_worker(partial(_as_client, program, run), reads=reads)


IndexWait: TypeAlias = Callable[[Collections, Progress], None]
"""Waits for the first index."""


def _wait_for_index(context: Context, *, unfinished: bool) -> IndexWait:
    """The wait of a request for the first index; one that asks for progress may take longer."""
    if not unfinished:
        return lambda collections, progress: collections.wait_ready(READY_TIMEOUT, progress)
    timeout = READY_TIMEOUT if wants_progress(context) else UNFINISHED_SECONDS
    return lambda collections, progress: collections.wait_searchable(timeout, progress)


def _session_name(context: Context, caller: Caller | None) -> str | None:
    """Name under which the memory of a request's session is stored; None if the request has no session.

    Requests of the newer era over HTTP have no session. A process on standard input and output is one session in both
    eras.
    """
    if caller is None:
        return ""
    identifier = "" if is_modern(context) else session_of(context)
    return f"{caller.id} {identifier}" if identifier else None


def _as_client(program: ClientProgram, run: Callable[[], T]) -> T:
    """Run a call with the client's program set, so that commits can name it."""
    before = CURRENT_CLIENT.set(program)
    try:
        return run()
    finally:
        CURRENT_CLIENT.reset(before)


def _proposer(context: Context, caller: Caller | None, session: str | None, client: str) -> Proposer:
    """The caller as a proposer. A process on standard input and output is one session."""
    stated = context.meta.get(PURPOSE_META) if context.meta else None
    purpose = stated if isinstance(stated, str) else ""
    if caller is None:
        return proposer_of("", _process(), purpose, client)
    return network_proposer(caller.id, caller.address, session, purpose, client)


@cache
def _process() -> str:
    """The name of this process. It is chosen at the first call: forked processes share what was chosen before."""
    return secrets.token_hex(8)


def _actor(caller: Caller | None, verb: str, session: str | None, client: str) -> Actor:
    """The caller as it is recorded. A process on standard input and output is one session."""
    if caller is None:
        return Actor(face="mcp", session=session_id(_process()), client=client, tool=verb)
    return caller.actor("mcp", verb, session or "", client)


def _watched(watch: AbstractContextManager[None], function: Callable[[Call], T], call: Call) -> T:
    with watch:
        return function(call)


def _run(
    verb: str,
    requested_verb: object,
    function: Callable[[Call], T],
    call: Call,
    *,
    wait: IndexWait | None,
    writes: bool,
) -> T:
    with traced_call(verb) as trace, ExitStack() as opened:
        require_text(requested_verb)
        if wait:
            wait(call.services.collections, call.progress)
        if call.tier == PROPOSE and call.proposer is not None:
            view = opened.enter_context(proposing(call.services, call.proposer, writes=writes))
            call = replace(call, services=view.services, served=view.served, proposals=view.shown)
        try:
            return function(replace(call, trace=trace.id))
        except InputNeeded as needed:
            input_needed = needed
    raise input_needed
