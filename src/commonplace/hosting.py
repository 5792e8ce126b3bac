"""Puts the HTTP server together: REST, MCP, metrics, each behind the one guard; beside `main`, for what it serves."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING

from commonplace.bootstrap import Workplace, is_remote
from commonplace.domain.errors import ConfigError
from commonplace.faces.access.gate import Gate
from commonplace.faces.access.keys import Keys
from commonplace.faces.access.rates import DEFAULT_RATE, Rates
from commonplace.faces.access.tokens import Tokens
from commonplace.faces.http.app import App, Part, small_body
from commonplace.faces.http.guard import Guard, Rules
from commonplace.faces.http.metadata import METADATA, ResourceMetadata
from commonplace.faces.http.metrics import Metrics
from commonplace.faces.http.names import is_loopback, names_of
from commonplace.faces.http.serving import Address, listening, serve
from commonplace.faces.late import end_loading
from commonplace.faces.mcp.dialect import Dialect, Tier
from commonplace.faces.mcp.quotas import Quota
from commonplace.faces.mcp.server import build_server
from commonplace.faces.mcp.transports.http import Offer, Sse, StreamableHttp, max_body
from commonplace.faces.rest.app import PREFIX, RestApi
from commonplace.spaces import toolset_of

if TYPE_CHECKING:
    from commonplace.faces.cli.session import Hosting
    from commonplace.faces.mcp.sdk import McpServer
    from commonplace.services.services import Services
    from commonplace.settings import Settings

log = logging.getLogger(__name__)

CONFINED = frozenset({"kb", "wiki", "pages"})
"""Toolsets that see nothing but the collections of `Services.collections`."""

EXTENDED = "kb"
"""The toolset to which plugins add."""

Dialects = Mapping[str, Callable[[], Dialect]]


def host(settings: Settings, hosting: Hosting, dialects: Dialects) -> None:
    """Serve until a signal ends the process.

    Args:
        settings: How.
        hosting: What.
        dialects: Every toolset by name, loaded when asked for.

    Raises:
        ConfigError: the address is not to be had, or others can reach it and no key is needed.
    """
    gate = _gate(settings)
    if gate.is_open and not is_loopback(settings.host) and not hosting.anonymous:
        raise ConfigError(
            f"Others can reach {settings.host}, and no key is needed there.",
            kind="host",
            hint="Create a key (commonplace keys create NAME), set OTTERWIKI_API_KEY, or say --allow-anonymous.",
        )
    workplace = Workplace(settings.kb, settings)
    offer = _offer(settings, workplace, dialects)
    mcp = Sse(offer, "/mcp") if hosting.sse == "instead" else StreamableHttp(offer)
    older = Sse(offer, "/sse") if hosting.sse == "beside" else None
    app = App(_parts(settings, hosting, workplace.services, mcp, older), _guard(settings, gate))

    def start() -> None:
        workplace.start()
        end_loading()

    def end() -> None:
        mcp.end_streams()
        if older is not None:
            older.end_streams()

    listener = listening(Address(settings.host, settings.port))
    threading.Thread(target=start, name="start", daemon=True).start()
    try:
        serve(app, listener, end)
    finally:
        workplace.close()


def _gate(settings: Settings) -> Gate:
    keys = Keys(settings.state_dir)
    tokens = Tokens(settings.oauth_issuer, _audience(settings)) if settings.oauth_issuer else None
    own = settings.api_key or ""
    return Gate(keys, bool(own or tokens or keys.all()), own, tokens, settings.tier)


def _guard(settings: Settings, gate: Gate) -> Guard:
    challenge = "Bearer"
    if settings.oauth_issuer:
        challenge += f' resource_metadata="{(settings.public_url or "").rstrip("/")}{METADATA}"'
    names = names_of(settings.host, settings.public_url, settings.allow_origin)
    rates = Rates(DEFAULT_RATE if settings.rate_limit is None else settings.rate_limit)
    return Guard(names, gate, rates, challenge, spares_loopback=settings.rate_limit is None)


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


def _offer(settings: Settings, workplace: Workplace, dialects: Dialects) -> Offer:
    names = ["wiki"] if is_remote(settings) else list(dialects)
    usual = toolset_of(settings)
    if usual not in names:
        raise ConfigError(f"Unknown toolset {usual!r}: expected one of {', '.join(names)}.", kind="toolset")

    @cache
    def dialect(name: str) -> Dialect:
        found = dialects[name]()
        if name != EXTENDED or not workplace.plugins.loaded:
            return found
        from commonplace.plugins.offers import extended  # noqa: PLC0415 - only where there are plugins

        return extended(found, workplace.plugins)

    quota = Quota()

    def build(name: str, tier: Tier) -> McpServer:
        return build_server(dialect(name), workplace.services, tier, quota)

    return Offer(names, usual, build, lambda name: dialect(name).default_tier, CONFINED)


def _parts(
    settings: Settings, hosting: Hosting, services: Services, mcp: StreamableHttp | Sse, older: Sse | None
) -> list[Part]:
    closed = Rules(max_body, lambda _: False)
    lifespan = mcp.lifespan if isinstance(mcp, StreamableHttp) else None
    parts = [Part("/mcp", mcp, closed, lifespan)]
    if older is not None:
        parts.append(Part("/sse", older, closed))
    if settings.oauth_issuer:
        metadata = ResourceMetadata(_audience(settings), settings.oauth_issuer)
        parts.append(Part(METADATA, metadata, Rules(small_body, lambda _: True)))
    if hosting.mcp_only:
        return parts
    rest, metrics = RestApi(services), Metrics()
    metrics.listen()
    return [*parts, Part(PREFIX, rest, Rules(rest.max_body, rest.is_open)), metrics.part()]
