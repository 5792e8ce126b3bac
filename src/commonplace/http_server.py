"""Composes the HTTP server: REST, MCP and metrics behind one guard."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import cache, partial
from ipaddress import ip_network
from typing import TYPE_CHECKING, cast

from commonplace.bootstrap import (
    Application,
    diagnose,
    diagnose_clones,
    git_command,
    open_application,
    share_updates,
)
from commonplace.domain.errors import ConfigError
from commonplace.domain.sources import is_loopback
from commonplace.faces.access.authentication import Authenticator, KeyStore
from commonplace.faces.access.callers import DEFAULT_RATE, Buckets, RateLimiter
from commonplace.faces.access.tokens import CodeFlow, TokenVerifier
from commonplace.faces.access.used_once import UsedOnce, secret_for, share_secret
from commonplace.faces.freshness import CommitWaits, FreshnessGate
from commonplace.faces.http.app import METADATA, App, MountedApp, ResourceMetadata, small_body
from commonplace.faces.http.guard import Guard, RouteRules, allowed_hosts_of
from commonplace.faces.http.health import ClusterHealth, Health
from commonplace.faces.http.inherited import GROW_SECONDS, BindAddress, listening
from commonplace.faces.http.operations import ForwardedWrites, GitWebhook, Metrics, SignedCalls
from commonplace.faces.http.server import Drain, End, Indexed, Worker, serve
from commonplace.faces.lazy_module import load_lazy_modules
from commonplace.faces.mcp.proposals import require_proposals
from commonplace.faces.mcp.server import build_server
from commonplace.faces.mcp.subscriptions import Quota
from commonplace.faces.mcp.tools import result_text
from commonplace.faces.mcp.toolset import Call, ReadCall, Toolset
from commonplace.faces.mcp.transports.http import ServedToolsets, SseTransport, StreamableHttpTransport, max_body
from commonplace.faces.rest.app import API_PREFIX, RestApi
from commonplace.faces.web.app import WebPages, credentials
from commonplace.faces.web.exchange import Administration, AgentAnswer
from commonplace.faces.web.signin import FORM_TYPE, SignIn
from commonplace.faces.worker_threads import START_THREAD
from commonplace.registration import (
    DEFAULT_TOOLSET,
    default_toolset,
    load_toolset,
    registered,
    rest_contracts,
    toolset_pages,
    unknown_toolset,
)
from commonplace.settings import Tier
from commonplace.webhooks import Webhooks

if TYPE_CHECKING:
    from commonplace.domain.findings import Diagnostic
    from commonplace.domain.json import JsonObject
    from commonplace.faces.cli.session import HttpOptions
    from commonplace.faces.http.inherited import Inherited
    from commonplace.faces.mcp.sdk import McpServer
    from commonplace.plugins.loader import Plugins
    from commonplace.services.collections import FoundDocument
    from commonplace.services.services import Services
    from commonplace.settings import Settings

log = logging.getLogger(__name__)


def serve_http(settings: Settings, options: HttpOptions, inherited: Inherited | None = None) -> None:
    """Serve over HTTP until a signal ends the process.

    Args:
        settings: The settings.
        options: The options of the command.
        inherited: Start parameters if this process is one of several workers; None if it is the only process.

    Raises:
        ConfigError: the address is not available, or other machines could reach it without a key.
    """
    if inherited is not None:
        share_secret(inherited.secret)
        share_updates(inherited.board)
    gate = _gate(settings)
    if not options.anonymous:
        _require_closed(gate, settings.host)
    application = open_application(settings.kb, settings)
    webhooks = Webhooks(application.services, settings)
    offer = _offer(settings := application.settings, application)
    number = inherited.number if inherited else None
    mcp = SseTransport(offer, "/mcp") if options.sse == "instead" else StreamableHttpTransport(offer, worker=number)
    older = SseTransport(offer, "/sse") if options.sse == "beside" else None
    web = None if options.mcp_only else _web(settings, application.services, lambda: application.plugins, gate)
    calls = _signed_calls(settings)
    health = Health(application.services, _node_name(settings), settings.tier)
    parts = _of_replicas(application, _parts(settings, options, application.services, mcp, older, web), calls)
    probes = [*health.parts(), *_cluster_health(settings, health, calls).parts()]
    app = App(parts, _guard(settings, gate, inherited.buckets if inherited else None), probes)
    indexed = Indexed()

    def start() -> None:
        application.start()
        application.wait_idle()
        load_lazy_modules()
        webhooks.start()
        if inherited is not None and application.wait_indexed(GROW_SECONDS):
            indexed.done()

    def end() -> None:
        health.end()
        mcp.end_streams()
        for streaming in (older, web):
            if streaming is not None:
                streaming.end_streams()

    place = Worker(inherited, indexed) if inherited else listening(BindAddress(settings.host, settings.port))
    threading.Thread(target=start, name=START_THREAD, daemon=True).start()
    with closing(application), closing(webhooks):
        serve(app, place, End(end, Drain(settings.drain, health.end)))


def _node_name(settings: Settings) -> str:
    """The name of this server among others: its host and port."""
    return (settings.node_url or "").partition("://")[2].rpartition("@")[2].strip("/") or socket.gethostname()


def _signed_calls(settings: Settings) -> SignedCalls | None:
    """Checks the calls of the other servers; None if they share no secret."""
    if not settings.cluster_secret:
        return None
    return SignedCalls(settings.cluster_secret, settings.node_url or "", UsedOnce(settings.state_dir))


def _cluster_health(settings: Settings, health: Health, calls: SignedCalls | None) -> ClusterHealth:
    def ask(url: str) -> JsonObject | str:
        from commonplace.replication import state_of_peer  # noqa: PLC0415 - not needed by most servers

        return state_of_peer(settings, url)

    others = [url for url in settings.peer if url.rstrip("/") != (settings.node_url or "").rstrip("/")]
    cookies = partial(credentials, used=UsedOnce(settings.state_dir))
    return ClusterHealth(health, others, ask, calls, cookies)


def _require_closed(gate: Authenticator, host: str) -> None:
    """Check that only this machine reaches a server without keys."""
    if gate.is_open and not is_loopback(host):
        raise ConfigError(
            f"Others can reach {host}, and no key is needed there.",
            kind="host",
            hint="Run: commonplace keys create laptop --tier read, and then: commonplace serve --host "
            f"{host}. COMMONPLACE_API_KEY is a key too, and --allow-anonymous needs none.",
        )


def _gate(settings: Settings) -> Authenticator:
    keys = KeyStore(settings.state_dir, settings.keys)
    tokens = TokenVerifier(settings.oauth_issuer, _audience(settings)) if settings.oauth_issuer else None
    own = settings.api_key or ""
    used = UsedOnce(settings.state_dir)
    return Authenticator(keys, bool(own or tokens or settings.keys or keys.all()), own, tokens, settings.tier, used)


def _guard(settings: Settings, gate: Authenticator, buckets: Buckets | None) -> Guard:
    challenge = "Bearer"
    if settings.oauth_issuer:
        challenge += f' resource_metadata="{(settings.public_url or "").rstrip("/")}{METADATA}"'
    names = allowed_hosts_of(settings.host, settings.public_url, settings.allow_origin, settings.node_url)
    rate = DEFAULT_RATE if settings.rate_limit is None else settings.rate_limit
    rates = RateLimiter(rate, buckets=buckets)
    try:
        proxies = tuple(map(ip_network, settings.trusted_proxy))
    except ValueError as error:
        raise ConfigError(
            "A trusted_proxy is no address or network.", kind="setting", hint="Write 10.1.2.3 or 10.0.0.0/8."
        ) from error
    return Guard(names, gate, rates, challenge, spares_loopback=settings.rate_limit is None, proxies=proxies)


def _audience(settings: Settings) -> str:
    if settings.oauth_audience:
        return settings.oauth_audience
    if not settings.public_url:
        raise ConfigError(
            "An identity provider needs an audience to check, and there is none.",
            kind="oauth",
            hint="Give --public-url, under which clients reach the server, or --oauth-audience.",
        )
    return f"{settings.public_url.rstrip('/')}/mcp"


def _toolset_names(settings: Settings) -> list[str]:
    """The toolsets that a server has: those that exclude others, else all; replicas have no store of projects."""
    registrations = registered()
    alone = [registration.name for registration in registrations if registration.excludes_others(settings)]
    return alone or [
        registration.name for registration in registrations if not (settings.replica_of and registration.store_folder)
    ]


def _offer(settings: Settings, application: Application) -> ServedToolsets:
    names = _toolset_names(settings)
    usual = default_toolset(settings)
    if usual not in names:
        raise unknown_toolset(usual, names)

    @cache
    def toolset(name: str) -> Toolset:
        return load_toolset(name, lambda: application.plugins)

    if settings.tier == "propose":
        require_proposals(toolset(usual))
    quota = Quota()

    def build(name: str, tier: Tier) -> McpServer:
        return build_server(toolset(name), application.services, tier, quota)

    confined = frozenset(registration.name for registration in registered() if registration.confined)
    return ServedToolsets(
        names, usual, build, lambda name: toolset(name).default_tier, lambda name: toolset(name).proposes, confined
    )


def _parts(
    settings: Settings,
    hosting: HttpOptions,
    services: Services,
    mcp: StreamableHttpTransport | SseTransport,
    older: SseTransport | None,
    web: WebPages | None,
) -> list[MountedApp]:
    closed = RouteRules(max_body, lambda _: False)
    lifespan = mcp.lifespan if isinstance(mcp, StreamableHttpTransport) else None
    parts = [MountedApp("/mcp", mcp, closed, lifespan)]
    if older is not None:
        parts.append(MountedApp("/sse", older, closed))
    if settings.oauth_issuer:
        metadata = ResourceMetadata(_audience(settings), settings.oauth_issuer)
        parts.append(MountedApp(METADATA, metadata, RouteRules(small_body, lambda _: True)))
    if hosting.mcp_only:
        return parts
    contracts = list(rest_contracts(settings))
    if len(contracts) > 1:
        raise ConfigError(f"Several toolsets have a REST API, and there is one address for it: {API_PREFIX}.")
    for contract in contracts:
        rest = RestApi(services, contract)
        rules = RouteRules(rest.max_body, rest.is_open, takes_any_type=rest.takes_any_type)
        parts.append(MountedApp(API_PREFIX, rest, rules))
    metrics = Metrics(services)
    metrics.listen()
    parts.append(metrics.part())
    if web is not None:
        cookies = partial(credentials, used=UsedOnce(settings.state_dir))
        rules = RouteRules(
            web.max_body,
            web.is_open,
            cookies,
            web.cost,
            FORM_TYPE,
            web.show_error,
            own_pages_only=web.own_pages_only,
            takes_any_type=web.takes_any_type,
        )
        parts.append(MountedApp("", web, rules))
    return parts


def _of_replicas(application: Application, parts: list[MountedApp], calls: SignedCalls | None) -> list[MountedApp]:
    """Extend the parts for replicas: each waits for requested commits; routes for webhooks and forwarded writes."""
    if not application.follows_remotes:
        return parts
    settings, services = application.settings, application.services
    waits = CommitWaits()
    gated = [replace(part, app=FreshnessGate(part.app, services, waits)) for part in parts]
    if calls is not None:
        gated.insert(0, ForwardedWrites(services, calls).part())
    if settings.webhook_secret:
        gated.insert(0, GitWebhook(services, settings.webhook_secret, UsedOnce(settings.state_dir)).part())
    return gated


def _web(settings: Settings, services: Services, plugins: Callable[[], Plugins], gate: Authenticator) -> WebPages:
    """The web pages, with a function that returns the text of a document for MCP clients."""

    def agent_text(seen: Services, document: FoundDocument, tokens: int, question: str) -> AgentAnswer:
        named = load_toolset(default_toolset(settings), plugins)
        toolset = named if named.read_call else load_toolset(DEFAULT_TOOLSET, plugins)
        reader = cast("ReadCall", toolset.read_call)
        tool = next(other_tool for other_tool in toolset.tools if other_tool.name == reader.tool)
        arguments = reader.arguments(document.collection.name, document.record.address.path, tokens, question)
        call = Call(services=seen, tier="read", progress=lambda _done, _total: None)
        return AgentAnswer(reader.tool, result_text(toolset, tool.handler.run(call, arguments)), reader.bounded)

    administration = Administration(gate.keys, partial(_diagnostics, settings, services), partial(_locks, settings))
    pages = cache(lambda: toolset_pages(settings))
    return WebPages(services, agent_text, pages, _sign_in(settings, gate), administration)


def _diagnostics(settings: Settings, services: Services) -> Iterator[Diagnostic]:
    """The checks of `commonplace doctor` that concern a running server."""
    from commonplace.faces.cli import doctor_checks  # noqa: PLC0415 - not needed for a first answer
    from commonplace.services import diagnostics  # noqa: PLC0415

    yield git_command()
    yield from doctor_checks.folders(settings)
    yield from diagnose_clones(settings)
    for folder in settings.kb:
        yield from diagnose(folder, settings)
    for collection in services.collections:
        yield from diagnostics.collection_diagnostics(collection)
        yield from diagnostics.index_diagnostics(collection)
        yield from diagnostics.embedding(collection)


def _locks(settings: Settings) -> list[Diagnostic]:
    return [
        diagnostic for folder in settings.kb for diagnostic in diagnose(folder, settings) if diagnostic.check == "lock"
    ]


def _sign_in(settings: Settings, gate: Authenticator) -> SignIn:
    """The ways to sign in: by key, and at the identity provider if this server is registered there as a client."""
    if not (settings.oauth_issuer and settings.oauth_client_id):
        return SignIn(gate=gate)
    verifier = TokenVerifier(settings.oauth_issuer, _audience(settings))
    secret = settings.oauth_client_secret or ""
    flow = CodeFlow(verifier, settings.oauth_client_id, secret, secret_for("sign in"), gate.used)
    return SignIn(flow, (settings.public_url or "").rstrip("/"), gate)
