"""Listing and rendering the prompts of a toolset, and completions for arguments of prompts and resources."""

from __future__ import annotations

from collections.abc import Sequence

import mcp_types as types
from mcp import MCPError

from commonplace.faces.mcp.connected_peer import input_required
from commonplace.faces.mcp.handlers.pagination import PAGE_SIZE, protocol
from commonplace.faces.mcp.handlers.resources import ResourceHandlers
from commonplace.faces.mcp.peers import InputNeeded
from commonplace.faces.mcp.runner import Runner
from commonplace.faces.mcp.sdk import Context
from commonplace.faces.mcp.tools import content_block
from commonplace.faces.mcp.toolset import Completer, Prompt, PromptMessage

MAX_SHOWN = 200
"""Maximum characters of the unknown arguments that an error names."""
Rendered = types.GetPromptResult | types.InputRequiredResult


class PromptHandlers:
    """Listing and rendering the prompts of a toolset."""

    def __init__(self, prompts: Sequence[Prompt], runner: Runner) -> None:
        self._prompts = {prompt.name: prompt for prompt in prompts}
        self._runner = runner

    async def list(self, _: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        """All prompts, on one page."""
        if params and params.cursor is not None:
            raise MCPError(code=types.INVALID_PARAMS, message="Invalid cursor: the list of prompts has one page.")
        return types.ListPromptsResult(prompts=[_wire_prompt(prompt) for prompt in self._prompts.values()])

    async def get(self, context: Context, params: types.GetPromptRequestParams) -> Rendered:
        """The messages of a prompt, or the input that it needs from the client first."""
        prompt = self._prompts.get(params.name)
        if prompt is None:
            raise MCPError(code=types.INVALID_PARAMS, message=f"Unknown prompt: {params.name}")
        given = params.arguments or {}
        _check_names(prompt, given)
        try:
            messages = await protocol(
                self._runner, context, "prompts/get", lambda call: _wire_messages(prompt.render(call, given))
            )
        except InputNeeded as needed:
            return input_required(needed)
        return types.GetPromptResult(description=prompt.description, messages=messages)

    def completer(self, name: str, argument: str) -> Completer | None:
        """The completer for an argument of a prompt; None if the argument has none."""
        prompt = self._prompts.get(name)
        found = [one for one in prompt.arguments if one.name == argument] if prompt else []
        return found[0].complete if found else None


class CompletionHandlers:
    """Completing the arguments of prompts and the variables of templates."""

    def __init__(self, resources: ResourceHandlers | None, prompts: PromptHandlers | None, runner: Runner) -> None:
        self._resources = resources
        self._prompts = prompts
        self._runner = runner

    async def complete(self, context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        """One page of completions, their total number, and whether there are more."""
        completer = self._completer(params)
        if completer is None:
            return types.CompleteResult(completion=types.Completion(values=[], total=0, has_more=False))
        others = (params.context.arguments if params.context else None) or {}
        typed = params.argument.value
        values = await protocol(
            self._runner, context, "completion/complete", lambda call: completer(call, typed, others)
        )
        shown = types.Completion(values=list(values[:PAGE_SIZE]), total=len(values), has_more=len(values) > PAGE_SIZE)
        return types.CompleteResult(completion=shown)

    def _completer(self, params: types.CompleteRequestParams) -> Completer | None:
        if isinstance(params.ref, types.PromptReference):
            return self._prompts.completer(params.ref.name, params.argument.name) if self._prompts else None
        return self._resources.completer(params.ref.uri, params.argument.name) if self._resources else None


def _check_names(prompt: Prompt, given: dict[str, str]) -> None:
    known = {argument.name for argument in prompt.arguments}
    missing = [one.name for one in prompt.arguments if one.required and not given.get(one.name, "").strip()]
    unknown = sorted(set(given) - known)
    if missing or unknown:
        problem = f"missing {', '.join(missing)}" if missing else f"unknown {', '.join(unknown)[:MAX_SHOWN]}"
        raise MCPError(
            code=types.INVALID_PARAMS,
            message=f"Invalid arguments of {prompt.name}: {problem}. It takes {', '.join(sorted(known)) or 'none'}.",
        )


def _wire_messages(said: str | Sequence[PromptMessage]) -> list[types.PromptMessage]:
    if isinstance(said, str):
        return [types.PromptMessage(role="user", content=types.TextContent(text=said))]
    return [types.PromptMessage(role=one.role, content=content_block(one.content)) for one in said]


def _wire_prompt(prompt: Prompt) -> types.Prompt:
    arguments = [
        types.PromptArgument(name=one.name, description=one.description, required=one.required)
        for one in prompt.arguments
    ]
    return types.Prompt(name=prompt.name, title=prompt.title, description=prompt.description, arguments=arguments)
