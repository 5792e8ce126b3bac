"""Serves any dialect over the official SDK."""

from __future__ import annotations

from mcp.server import Server
from mcp.server.caching import CacheHint

from commonplace import __version__
from commonplace.faces.mcp.dialect import Dialect, Tier
from commonplace.faces.mcp.offers import Completions, PromptOffer, ResourceOffer
from commonplace.faces.mcp.running import McpServer, Runner, State
from commonplace.faces.mcp.tools import Tools
from commonplace.services.services import Services

LIST_FRESH_MS = 60_000
"""How long a client may take the lists of tools, prompts and templates for current: they change with a restart."""


def build_server(dialect: Dialect, services: Services, tier: Tier) -> McpServer:
    """An SDK server that speaks a dialect over the services at one tier.

    Raises:
        ConfigError: there is no such tier.
    """
    runner = Runner(services, tier)
    tools = Tools(dialect, runner)
    resources = ResourceOffer(dialect.resources, runner) if dialect.resources else None
    prompts = PromptOffer(dialect.prompts, runner) if dialect.prompts else None
    completions = Completions(resources, prompts, runner) if resources or prompts else None
    lasting = CacheHint(LIST_FRESH_MS, "private")
    return Server[State](
        dialect.server_name,
        version=__version__,
        instructions=dialect.instructions or None,
        cache_hints={"tools/list": lasting, "prompts/list": lasting, "resources/templates/list": lasting},
        on_list_tools=tools.list,
        on_call_tool=tools.call,
        on_list_resources=resources.list if resources else None,
        on_list_resource_templates=resources.templates if resources else None,
        on_read_resource=resources.read if resources else None,
        on_list_prompts=prompts.list if prompts else None,
        on_get_prompt=prompts.get if prompts else None,
        on_completion=completions.complete if completions else None,
    )
