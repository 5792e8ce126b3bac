"""Serves any toolset over the official SDK."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server import InitializationOptions, NotificationOptions, Server
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware
from pydantic import ValidationError

from commonplace import __version__
from commonplace.faces.access.callers import allows, caller_of
from commonplace.faces.access.used_once import secret_for
from commonplace.faces.mcp.handlers import (
    EXTENSION,
    SETTINGS,
    SKILL_SCHEME,
    CompletionHandlers,
    DirectoryParams,
    PromptHandlers,
    ResourceHandlers,
    SkillHandlers,
    SkillParams,
)
from commonplace.faces.mcp.proposals import with_proposals
from commonplace.faces.mcp.runner import Runner
from commonplace.faces.mcp.sdk import Context, McpServer, State, asgi_scope
from commonplace.faces.mcp.subscriptions import Quota, SubscriptionManager
from commonplace.faces.mcp.tools import ToolHandlers
from commonplace.faces.mcp.toolset import Call, ResourceContents, Resources, ResourceSource, Toolset
from commonplace.services.services import Services
from commonplace.services.skills import Skills
from commonplace.settings import Tier

LIST_FRESH_MS = 60_000
"""Time in milliseconds for which clients may cache the results of `LASTING`."""
LASTING: tuple[CacheableMethod, ...] = ("server/discover", "tools/list", "prompts/list", "resources/templates/list")
"""Methods whose results change only with a restart. Clients may not cache any other result."""


def build_server(toolset: Toolset, services: Services, tier: Tier, quota: Quota | None = None) -> McpServer:
    """An SDK server for a toolset at one tier. Servers of one process may share a quota.

    Raises:
        ConfigError: there is no such tier.
    """
    asks = services.confirm == "always" and toolset.proposes and allows(tier, "write")
    runner = Runner(services, tier, proposes_unasked=asks)
    skills = SkillHandlers(runner, Skills()) if toolset.skills else None
    toolset = _completed(toolset, tier, skills)
    tools = ToolHandlers(toolset, runner)
    server = _Server(
        toolset.server_name,
        version=__version__,
        description=toolset.description,
        instructions=server_instructions(toolset, tools.names) or None,
        cache_hints=dict.fromkeys(LASTING, CacheHint(LIST_FRESH_MS, "private")),
        get_tool_input_schema=tools.header_schema,
        on_list_tools=tools.list,
        on_call_tool=tools.call,
    )
    if find_spec("opentelemetry.sdk") is None:
        server.middleware[:] = map(_TracingMiddleware, server.middleware)
    server.middleware.append(_explained_handshake)
    _add_resources_and_prompts(server, toolset, runner, quota)
    if skills:
        server.extensions[EXTENSION] = SETTINGS
        server.add_request_handler("skills/list", types.PaginatedRequestParams, skills.list)
        server.add_request_handler("skills/get", SkillParams, skills.get)
        server.add_request_handler("resources/directory/read", DirectoryParams, skills.directory)
    if toolset.asks or services.confirm != "never":
        _let_ask(server, runner)
    return server


def _add_resources_and_prompts(server: McpServer, toolset: Toolset, runner: Runner, quota: Quota | None) -> None:
    """Add the handlers of a toolset's resources and prompts, with subscriptions and completion."""
    resources = ResourceHandlers(toolset.resources, runner) if toolset.resources else None
    prompts = PromptHandlers(toolset.prompts, runner) if toolset.prompts else None
    if resources:
        server.add_request_handler("resources/list", types.PaginatedRequestParams, resources.list)
        server.add_request_handler("resources/templates/list", types.PaginatedRequestParams, resources.templates)
        server.add_request_handler("resources/read", types.ReadResourceRequestParams, resources.read)
    if toolset.resources and toolset.resources.can_subscribe:
        _add_subscriptions(server, SubscriptionManager(toolset.resources, runner, quota or Quota()))
    if prompts:
        server.add_request_handler("prompts/list", types.PaginatedRequestParams, prompts.list)
        server.add_request_handler("prompts/get", types.GetPromptRequestParams, prompts.get)
    if resources or prompts:
        completions = CompletionHandlers(resources, prompts, runner)
        server.add_request_handler("completion/complete", types.CompleteRequestParams, completions.complete)


def _add_subscriptions(server: McpServer, subscriptions: SubscriptionManager) -> None:
    server.add_request_handler("resources/subscribe", types.SubscribeRequestParams, subscriptions.subscribe)
    server.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, subscriptions.unsubscribe)
    server.add_request_handler("subscriptions/listen", types.SubscriptionsListenRequestParams, subscriptions.listen)
    server.add_notification_handler("notifications/initialized", types.NotificationParams, subscriptions.begin)


def _completed(toolset: Toolset, tier: Tier, skills: SkillHandlers | None) -> Toolset:
    """A toolset with the files of skills, and with the tool and the resources of proposals.

    Raises:
        ConfigError: the toolset takes no proposals.
    """
    if skills and toolset.resources:
        toolset = replace(toolset, resources=_with_skills(toolset.resources, skills))
    return with_proposals(toolset, tier)


def _with_skills(own: Resources, skills: SkillHandlers) -> Resources:
    """A toolset's resources, extended by the files of skills."""
    look = own.source_of

    def read(call: Call, uri: str) -> ResourceContents:
        return skills.read(call, uri) if uri.startswith(SKILL_SCHEME) else own.read(call, uri)

    def stands_for(call: Call, uri: str) -> ResourceSource | None:
        if uri.startswith(SKILL_SCHEME):
            return skills.source_of(call, uri)
        return look(call, uri) if look else None

    return replace(own, read=read, source_of=stands_for)


class _Server(Server[State]):
    """The SDK's server. Declares in the older era, too, that it notifies clients when the list of resources changes."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """The server's declarations in the handshake."""
        options = notification_options or NotificationOptions(
            resources_changed=self.get_request_handler("resources/subscribe") is not None
        )
        return super().create_initialization_options(options, experimental_capabilities, extensions)


class _TracingMiddleware:
    """Skips the SDK's tracing middleware for requests without a trace context.

    Used if no OpenTelemetry SDK is installed.
    """

    def __init__(self, inner: ServerMiddleware[State]) -> None:
        self._inner = inner

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        if ctx.meta and "traceparent" in ctx.meta:
            return await self._inner(ctx, call_next)
        return await call_next(ctx)


async def _explained_handshake(ctx: Context, call_next: CallNext) -> HandlerResult:
    """SDK middleware that says why the SDK refuses a handshake.

    Only the older era has a handshake; the SDK answers in the newer one that there is no such method.

    Raises:
        MCPError: the handshake lacks something.
    """
    try:
        return await call_next(ctx)
    except ValidationError as error:
        if ctx.method != "initialize":
            raise
        names = (".".join(map(str, detail["loc"])).removeprefix("params.") for detail in error.errors())
        message = f"The handshake lacks {', '.join(dict.fromkeys(names))}, or has another type there. {_HANDSHAKE}"
        raise MCPError(code=types.INVALID_PARAMS, message=message) from error


_HANDSHAKE = (
    "initialize needs protocolVersion, a text, the object capabilities, and clientInfo with the texts name and version."
)


def _let_ask(server: McpServer, runner: Runner) -> None:
    """Let calls send log messages and requests to the client.

    The state that a client carries between rounds is sealed.
    """
    from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity  # noqa: PLC0415 - slow to import

    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, runner.levels.set)
    security = RequestStateSecurity(keys=[secret_for("rounds")], bind_principal=_principal)
    server.middleware.append(RequestStateBoundary(security, default_audience=server.name))


def _principal(context: Context) -> str | None:
    """The caller that a round of a call is bound to; nobody else can continue the call."""
    scope = asgi_scope(context)
    return caller_of(scope).id if scope else None


# The `instructions` of a server, derived from the toolset that it serves.


READS_ONLY = "Nothing can be changed here: this server only reads."
SKILLS = "Skills (instructions for tasks) are listed by skills/list."
_SENTENCE_END = re.compile(r"(?<=[.;])\s+(?=[A-Z])")


def server_instructions(toolset: Toolset, served: frozenset[str]) -> str:
    """The toolset's instructions without sentences about tools that are not served, plus sentences about this server.

    Args:
        toolset: The toolset.
        served: Names of the tools that the tier permits.
    """
    absent = {tool.name for tool in toolset.tools} - served
    sentences = _SENTENCE_END.split(toolset.instructions)
    said = [sentence for sentence in sentences if not any(_names(sentence, tool) for tool in absent)]
    changing = {tool.name for tool in toolset.tools if not tool.read_only}
    if changing and not changing & served:
        said.append(READS_ONLY)
    if toolset.skills:
        said.append(SKILLS)
    return " ".join(filter(None, said))


def _names(sentence: str, tool: str) -> bool:
    return re.search(rf"\b{re.escape(tool)}\b", sentence) is not None
