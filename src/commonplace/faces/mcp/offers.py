"""What a dialect offers besides tools: resources, prompts, and completions for their arguments."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import TypeVar

import mcp_types as types
from mcp import MCPError

from commonplace.domain.errors import KnowledgeError, NotFoundError
from commonplace.faces.errors import FORMS
from commonplace.faces.mcp.asking import input_required, is_modern, unable
from commonplace.faces.mcp.dialect import Call, Completer, Content, Message, Prompt, Resource, Resources
from commonplace.faces.mcp.peers import InputNeeded, UnableError
from commonplace.faces.mcp.running import Runner
from commonplace.faces.mcp.sdk import Context
from commonplace.faces.mcp.tools import content_block

PAGE = 100
"""Resources on one page of a list, and completions in one answer."""
RESOURCE_NOT_FOUND = -32002
"""For an unknown resource in the older era; the newer says -32602."""

T = TypeVar("T")
Rendered = types.GetPromptResult | types.InputRequiredResult


class ResourceOffer:
    """Listing and reading the resources of a dialect."""

    def __init__(self, resources: Resources, runner: Runner) -> None:
        self._resources = resources
        self._runner = runner

    async def list(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        """A page of them; the cursor of the next one is opaque."""
        offset = _offset(params.cursor if params else None)
        page, more = await _protocol(
            self._runner, context, "resources/list", lambda call: self._resources.list(call, offset, PAGE)
        )
        cursor = _cursor(offset + PAGE) if more else None
        return types.ListResourcesResult(resources=[_wire(one) for one in page], next_cursor=cursor)

    async def templates(
        self, _: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """All families of resources."""
        if params and params.cursor is not None:
            raise MCPError(code=types.INVALID_PARAMS, message="Invalid cursor: the list of templates has one page.")
        shown = [
            types.ResourceTemplate(
                uri_template=one.uri_template,
                name=one.name,
                title=one.title or None,
                description=one.description or None,
                mime_type=one.mime_type,
            )
            for one in self._resources.templates
        ]
        return types.ListResourceTemplatesResult(resource_templates=shown)

    async def read(self, context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """What one says."""
        uri = str(params.uri)
        content = await _protocol(self._runner, context, "resources/read", lambda call: self._found(call, uri))
        if content is None:
            code = types.INVALID_PARAMS if is_modern(context) else RESOURCE_NOT_FOUND
            raise MCPError(code=code, message="Resource not found.", data={"uri": uri})
        return types.ReadResourceResult(contents=[_wire_content(uri, content)])

    def _found(self, call: Call, uri: str) -> Content | None:
        try:
            return self._resources.read(call, uri)
        except NotFoundError:
            return None

    def completer(self, uri_template: str, argument: str) -> Completer | None:
        """What completes a variable of a template."""
        found = [one for one in self._resources.templates if one.uri_template == uri_template]
        return found[0].complete.get(argument) if found else None


class PromptOffer:
    """Listing and rendering the prompts of a dialect."""

    def __init__(self, prompts: Sequence[Prompt], runner: Runner) -> None:
        self._prompts = {prompt.name: prompt for prompt in prompts}
        self._runner = runner

    async def list(self, _: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        """All of them."""
        if params and params.cursor is not None:
            raise MCPError(code=types.INVALID_PARAMS, message="Invalid cursor: the list of prompts has one page.")
        return types.ListPromptsResult(prompts=[_wire_prompt(prompt) for prompt in self._prompts.values()])

    async def get(self, context: Context, params: types.GetPromptRequestParams) -> Rendered:
        """Its messages, or what it needs to know first."""
        prompt = self._prompts.get(params.name)
        if prompt is None:
            raise MCPError(code=types.INVALID_PARAMS, message=f"Unknown prompt: {params.name}")
        given = params.arguments or {}
        _check_names(prompt, given)
        try:
            messages = await _protocol(
                self._runner, context, "prompts/get", lambda call: _wire_messages(prompt.render(call, given))
            )
        except InputNeeded as needed:
            return input_required(needed)
        return types.GetPromptResult(description=prompt.description, messages=messages)

    def completer(self, name: str, argument: str) -> Completer | None:
        """What completes an argument of a prompt."""
        prompt = self._prompts.get(name)
        found = [one for one in prompt.arguments if one.name == argument] if prompt else []
        return found[0].complete if found else None


class Completions:
    """Completing the arguments of prompts and the variables of templates."""

    def __init__(self, resources: ResourceOffer | None, prompts: PromptOffer | None, runner: Runner) -> None:
        self._resources = resources
        self._prompts = prompts
        self._runner = runner

    async def complete(self, context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        """At most a page of values, how many there are, and whether that is all."""
        completer = self._completer(params)
        if completer is None:
            return types.CompleteResult(completion=types.Completion(values=[], total=0, has_more=False))
        others = (params.context.arguments if params.context else None) or {}
        typed = params.argument.value
        values = await _protocol(
            self._runner, context, "completion/complete", lambda call: completer(call, typed, others)
        )
        shown = types.Completion(values=list(values[:PAGE]), total=len(values), has_more=len(values) > PAGE)
        return types.CompleteResult(completion=shown)

    def _completer(self, params: types.CompleteRequestParams) -> Completer | None:
        if isinstance(params.ref, types.PromptReference):
            return self._prompts.completer(params.ref.name, params.argument.name) if self._prompts else None
        return self._resources.completer(params.ref.uri, params.argument.name) if self._resources else None


async def _protocol(runner: Runner, context: Context, verb: str, function: Callable[[Call], T]) -> T:
    """Run a function whose errors are errors of the protocol."""
    try:
        return await runner.run(context, verb, function)
    except UnableError as error:
        raise unable(error) from error
    except KnowledgeError as error:
        raise MCPError(code=FORMS[error.code].jsonrpc, message=f"{error} {error.hint}".strip()) from error
    except Exception as error:
        # The face is where the unforeseen ends; `observed` has logged it.
        raise MCPError(
            code=types.INTERNAL_ERROR, message="Internal error; the server's log has the details."
        ) from error


def _check_names(prompt: Prompt, given: dict[str, str]) -> None:
    known = {argument.name for argument in prompt.arguments}
    missing = [one.name for one in prompt.arguments if one.required and not given.get(one.name, "").strip()]
    unknown = sorted(set(given) - known)
    if missing or unknown:
        problem = f"missing {', '.join(missing)}" if missing else f"unknown {', '.join(unknown)}"
        raise MCPError(
            code=types.INVALID_PARAMS,
            message=f"Invalid arguments of {prompt.name}: {problem}. It takes {', '.join(sorted(known))}.",
        )


def _cursor(offset: int) -> str:
    return base64.urlsafe_b64encode(f"offset:{offset}".encode()).decode()


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    try:
        label, _, number = base64.urlsafe_b64decode(cursor.encode()).decode().partition(":")
        if label == "offset" and number.isdecimal():
            return int(number)
    except (binascii.Error, ValueError):
        pass
    raise MCPError(code=types.INVALID_PARAMS, message="Invalid cursor: use the one that the last page gave.")


def _wire(one: Resource) -> types.Resource:
    return types.Resource(
        uri=one.uri,
        name=one.name,
        title=one.title or None,
        description=one.description or None,
        mime_type=one.mime_type,
        size=one.size,
        annotations=types.Annotations(last_modified=one.last_modified) if one.last_modified else None,
    )


def _wire_content(uri: str, content: Content) -> types.TextResourceContents | types.BlobResourceContents:
    if isinstance(content.content, str):
        return types.TextResourceContents(uri=uri, mime_type=content.mime_type, text=content.content)
    blob = base64.b64encode(content.content).decode()
    return types.BlobResourceContents(uri=uri, mime_type=content.mime_type, blob=blob)


def _wire_messages(said: str | Sequence[Message]) -> list[types.PromptMessage]:
    if isinstance(said, str):
        return [types.PromptMessage(role="user", content=types.TextContent(text=said))]
    return [types.PromptMessage(role=one.role, content=content_block(one.content)) for one in said]


def _wire_prompt(prompt: Prompt) -> types.Prompt:
    arguments = [
        types.PromptArgument(name=one.name, description=one.description, required=one.required)
        for one in prompt.arguments
    ]
    return types.Prompt(name=prompt.name, title=prompt.title, description=prompt.description, arguments=arguments)
