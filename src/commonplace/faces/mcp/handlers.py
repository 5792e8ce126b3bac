"""The handlers of prompts, resources and skills, and what all handlers share: pagination and protocol errors."""

from __future__ import annotations

import base64
import binascii
import mimetypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import quote, unquote

import mcp_types as types
from mcp import MCPError

from commonplace.domain.addresses import parse_address
from commonplace.domain.errors import InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.json import Json
from commonplace.faces.errors import ERROR_MAPPINGS
from commonplace.faces.mcp.connected_peer import input_required, is_modern, unable
from commonplace.faces.mcp.peers import InputNeeded, UnableError
from commonplace.faces.mcp.runner import Runner
from commonplace.faces.mcp.sdk import Context
from commonplace.faces.mcp.tools import content_block
from commonplace.faces.mcp.toolset import (
    Call,
    Completer,
    Prompt,
    PromptMessage,
    Resource,
    ResourceContents,
    Resources,
    ResourceSource,
)
from commonplace.services.collections import Collection
from commonplace.services.skills import SKILL_FILE, Skill, SkillFile, Skills

# Listing and rendering the prompts of a toolset, and completions for arguments of prompts and resources.


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
        arguments = params.arguments or {}
        _check_names(prompt, arguments)
        try:
            messages = await protocol(
                self._runner, context, "prompts/get", lambda call: _wire_messages(prompt.render(call, arguments))
            )
        except InputNeeded as needed:
            return input_required(needed)
        return types.GetPromptResult(description=prompt.description, messages=messages)

    def completer(self, name: str, argument: str) -> Completer | None:
        """The completer for an argument of a prompt; None if the argument has none."""
        prompt = self._prompts.get(name)
        arguments = (
            [prompt_argument for prompt_argument in prompt.arguments if prompt_argument.name == argument]
            if prompt
            else []
        )
        return arguments[0].complete if arguments else None


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


def _check_names(prompt: Prompt, arguments: dict[str, str]) -> None:
    names = {argument.name for argument in prompt.arguments}
    missing = [
        argument.name
        for argument in prompt.arguments
        if argument.required and not arguments.get(argument.name, "").strip()
    ]
    unknown = sorted(set(arguments) - names)
    if missing or unknown:
        problem = f"missing {', '.join(missing)}" if missing else f"unknown {', '.join(unknown)[:MAX_SHOWN]}"
        raise MCPError(
            code=types.INVALID_PARAMS,
            message=f"Invalid arguments of {prompt.name}: {problem}. It takes {', '.join(sorted(names)) or 'none'}.",
        )


def _wire_messages(said: str | Sequence[PromptMessage]) -> list[types.PromptMessage]:
    if isinstance(said, str):
        return [types.PromptMessage(role="user", content=types.TextContent(text=said))]
    return [types.PromptMessage(role=message.role, content=content_block(message.content)) for message in said]


def _wire_prompt(prompt: Prompt) -> types.Prompt:
    arguments = [
        types.PromptArgument(name=argument.name, description=argument.description, required=argument.required)
        for argument in prompt.arguments
    ]
    return types.Prompt(name=prompt.name, title=prompt.title, description=prompt.description, arguments=arguments)


# Listing and reading the resources of a toolset.


RESOURCE_NOT_FOUND = -32002
"""JSON-RPC error code for an unknown resource in the older era; the newer era uses -32602."""


class ResourceHandlers:
    """Listing and reading the resources of a toolset."""

    def __init__(self, resources: Resources, runner: Runner) -> None:
        self._resources = resources
        self._runner = runner

    async def list(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        """One page of the resources."""
        offset = offset_of(params.cursor if params else None)
        page, more = await protocol(
            self._runner, context, "resources/list", lambda call: self._resources.list(call, offset, PAGE_SIZE)
        )
        cursor = cursor_of(offset + PAGE_SIZE) if more else None
        return types.ListResourcesResult(resources=[wire(resource) for resource in page], next_cursor=cursor)

    async def templates(
        self, _: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """All resource templates, on one page."""
        if params and params.cursor is not None:
            raise MCPError(code=types.INVALID_PARAMS, message="Invalid cursor: the list of templates has one page.")
        shown = [
            types.ResourceTemplate(
                uri_template=template.uri_template,
                name=template.name,
                title=template.title or None,
                description=template.description or None,
                mime_type=template.mime_type,
            )
            for template in self._resources.templates
        ]
        return types.ListResourceTemplatesResult(resource_templates=shown)

    async def read(self, context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """The content of a resource."""
        uri = str(params.uri)
        content = await protocol(self._runner, context, "resources/read", lambda call: self._found(call, uri))
        if content is None:
            code = types.INVALID_PARAMS if is_modern(context) else RESOURCE_NOT_FOUND
            raise MCPError(code=code, message="Resource not found.", data={"uri": uri})
        return types.ReadResourceResult(contents=[wire_content(uri, content)])

    def _found(self, call: Call, uri: str) -> ResourceContents | None:
        try:
            return self._resources.read(call, uri)
        except NotFoundError:
            return None

    def completer(self, uri_template: str, argument: str) -> Completer | None:
        """The completer for a variable of a template; None if the variable has none."""
        templates = [template for template in self._resources.templates if template.uri_template == uri_template]
        return templates[0].complete.get(argument) if templates else None


def wire(resource: Resource) -> types.Resource:
    """A resource in the form used by lists."""
    return types.Resource(
        uri=resource.uri,
        name=resource.name,
        title=resource.title or None,
        description=resource.description or None,
        mime_type=resource.mime_type,
        size=resource.size,
        annotations=types.Annotations(last_modified=resource.last_modified) if resource.last_modified else None,
    )


def wire_content(uri: str, content: ResourceContents) -> types.TextResourceContents | types.BlobResourceContents:
    """The content of a resource, as text or bytes."""
    if isinstance(content.content, str):
        return types.TextResourceContents(uri=uri, mime_type=content.mime_type, text=content.content)
    blob = base64.b64encode(content.content).decode()
    return types.BlobResourceContents(uri=uri, mime_type=content.mime_type, blob=blob)


# The Skills extension (SEP-2640): folders of instructions, listed with a digest of each file.
#
# Built to the specification `io.modelcontextprotocol/skills` as it became final on 2026-09-13, `specification/stable`
# of the extension's own repository. A skill's URI is `skill://COLLECTION/FOLDER/SKILL.md`, each part percent-encoded.


EXTENSION = "io.modelcontextprotocol/skills"
SETTINGS: dict[str, Any] = {"directoryRead": True}
SKILL_SCHEME = "skill://"
DIRECTORY = "inode/directory"
MARKDOWN = "text/markdown"
SkillResult = dict[str, Any]
T = TypeVar("T")


class SkillParams(types.RequestParams):
    """The requested skill."""

    uri: str


class DirectoryParams(types.PaginatedRequestParams):
    """The requested directory, and the start position."""

    uri: str


@dataclass(frozen=True, slots=True)
class SkillHandlers:
    """The methods of the extension, and the resources that skills are made of."""

    runner: Runner
    skills: Skills

    async def list(self, context: Context, params: types.PaginatedRequestParams) -> SkillResult:
        """One page of the skills, each with its whole manifest."""
        offset = offset_of(params.cursor)
        shown = await protocol(self.runner, context, "skills/list", partial(self._page, offset))
        more = {"nextCursor": cursor_of(offset + PAGE_SIZE)} if len(shown) > PAGE_SIZE else {}
        return {"skills": shown[:PAGE_SIZE], **more, **_caching(context)}

    async def get(self, context: Context, params: SkillParams) -> SkillResult:
        """One skill."""
        return {"skill": await self._known(context, "skills/get", params.uri, self._named), **_caching(context)}

    async def directory(self, context: Context, params: DirectoryParams) -> SkillResult:
        """The entries directly in a folder of a skill."""
        offset = offset_of(params.cursor)
        resources = await self._known(context, "resources/directory/read", params.uri, self._children)
        page = resources[offset : offset + PAGE_SIZE]
        more = {"nextCursor": cursor_of(offset + PAGE_SIZE)} if len(resources) > offset + PAGE_SIZE else {}
        shown = [wire(resource).model_dump(by_alias=True, mode="json", exclude_none=True) for resource in page]
        return {"resources": shown, **more}

    def read(self, call: Call, uri: str) -> ResourceContents:
        """The content of a file of a skill: text if its media type is text and its bytes are UTF-8, else bytes.

        Raises:
            NotFoundError: there is no such skill, or it has no such file.
        """
        try:
            skill, rest = self._skill(call, uri)
        except InvalidInputError as error:
            raise NotFoundError(str(error), kind="skill") from error
        file = _file(skill, rest)
        if file is None:
            raise NotFoundError(f"The skill {skill.name!r} has no file {rest[:200]!r}.", kind="skill")
        raw = skill.collection.store.read(file.address)
        kind = _mime_type(file)
        try:
            return ResourceContents(raw.decode() if _is_text(kind) else raw, kind)
        except UnicodeDecodeError:
            return ResourceContents(raw, kind)

    def source_of(self, call: Call, uri: str) -> ResourceSource | None:
        """The document behind a skill's file; None if the URI names no file of a skill."""
        try:
            skill, rest = self._skill(call, uri)
        except (NotFoundError, InvalidInputError):
            return None
        file = _file(skill, rest)
        return ResourceSource(skill.collection.name, file.address) if file else None

    def _page(self, offset: int, call: Call) -> list[Json]:
        skills = self.skills.all(call.services.collections.members)
        return [_entry(skill) for skill in islice(skills, offset, offset + PAGE_SIZE + 1)]

    def _named(self, call: Call, uri: str) -> Json:
        skill, rest = self._skill(call, uri)
        if rest != SKILL_FILE:
            raise NotFoundError(f"{uri[:200]} is not a skill's {SKILL_FILE}.", kind="skill")
        return _entry(skill)

    async def _known(self, context: Context, verb: str, uri: str, function: Callable[[Call, str], T]) -> T:
        def result_or_error(call: Call) -> T | KnowledgeError:
            try:
                return function(call, uri)
            except (NotFoundError, InvalidInputError) as error:
                return error

        answer = await protocol(self.runner, context, verb, result_or_error)
        if isinstance(answer, KnowledgeError):
            raise MCPError(code=types.INVALID_PARAMS, message=str(answer), data={"uri": uri})
        return answer

    def _skill(self, call: Call, uri: str) -> tuple[Skill, str]:
        """The innermost skill that contains a URI, and the path within the skill; "" for the skill's own folder.

        Raises:
            NotFoundError: no skill contains the URI.
            InvalidInputError: the folder with the `SKILL.md` is not a valid skill.
        """
        parts = (
            [unquote(part) for part in uri.removeprefix(SKILL_SCHEME).split("/")]
            if uri.startswith(SKILL_SCHEME)
            else []
        )
        problem: KnowledgeError = NotFoundError(f"No skill is served at {uri[:200]}.", kind="skill")
        if not parts or "" in parts:
            raise problem
        collection = call.services.collections.get(parts[0])
        path = "/".join(parts[1:])
        folders = [
            folder for folder in self.skills.folders(collection) if not folder or f"{path}/".startswith(f"{folder}/")
        ]
        # Files in a folder with an invalid `SKILL.md` belong to the enclosing skill.
        for folder in sorted(folders, key=len, reverse=True):
            try:
                return self.skills.get(collection, folder), path.removeprefix(folder).removeprefix("/")
            except (NotFoundError, InvalidInputError) as error:
                problem = error
        raise problem

    def _children(self, call: Call, uri: str) -> list[Resource]:
        skill, rest = self._skill(call, uri)
        folder = "/".join(part for part in (skill.folder, rest) if part)
        store = skill.collection.store
        if rest and folder not in store.folders(folder.rpartition("/")[0]):
            raise NotFoundError(f"{uri[:200]} is not a directory resource.", kind="skill")
        here = [file for file in skill.files if file.address.folder == folder]
        folders = [
            Resource(uri=_uri(skill.collection, path), name=path.rpartition("/")[2], mime_type=DIRECTORY)
            for path in store.folders(folder)
        ]
        return sorted([*(_resource(skill, file) for file in here), *folders], key=lambda resource: resource.uri)


def _entry(skill: Skill) -> Json:
    return {
        "uri": _uri(skill.collection, f"{skill.folder}/{SKILL_FILE}" if skill.folder else SKILL_FILE),
        "frontmatter": skill.frontmatter,
        "resources": [
            {"uri": _uri(skill.collection, file.address.path), "digest": file.digest, "size": file.size}
            for file in skill.files
        ],
    }


def _resource(skill: Skill, file: SkillFile) -> Resource:
    is_main = file.address.name == SKILL_FILE and file.address.folder == skill.folder
    return Resource(
        uri=_uri(skill.collection, file.address.path),
        name=skill.name if is_main else file.address.name,
        description=str(skill.frontmatter["description"]) if is_main else "",
        mime_type=_mime_type(file),
        size=file.size,
    )


def _file(skill: Skill, rest: str) -> SkillFile | None:
    try:
        address = parse_address("/".join(part for part in (skill.folder, rest) if part))
    except InvalidInputError:
        return None
    return next((file for file in skill.files if file.address == address), None)


def _uri(collection: Collection, path: str) -> str:
    return SKILL_SCHEME + "/".join(quote(part, safe="") for part in (collection.name, *path.split("/")) if part)


def _mime_type(file: SkillFile) -> str:
    if file.address.is_document:
        return MARKDOWN
    return mimetypes.guess_type(file.address.name)[0] or "application/octet-stream"


def _is_text(mime_type: str) -> bool:
    return mime_type.startswith("text/") or mime_type in {"application/json", "application/x-sh", "application/xml"}


def _caching(context: Context) -> SkillResult:
    """Caching fields that the newer era requires in lists: time to live and scope."""
    return {"ttlMs": 0, "cacheScope": "private"} if is_modern(context) else {}


# Pagination with opaque cursors, and the conversion of errors to protocol errors; shared by all handlers.


PAGE_SIZE = 100
"""Maximum number of resources on one page of a list, and of completions in one answer."""

MAX_OFFSET = 10**9
"""Upper limit of the offset in a cursor."""


async def protocol(runner: Runner, context: Context, verb: str, function: Callable[[Call], T]) -> T:
    """Run a function and convert its errors to protocol errors."""
    try:
        return await runner.run(context, verb, function)
    except UnableError as error:
        raise unable(error) from error
    except KnowledgeError as error:
        raise MCPError(code=ERROR_MAPPINGS[error.code].jsonrpc, message=f"{error} {error.hint}".strip()) from error


def cursor_of(offset: int) -> str:
    """An opaque cursor for an offset in a list."""
    return base64.urlsafe_b64encode(f"offset:{offset}".encode()).decode()


def offset_of(cursor: str | None) -> int:
    """The offset in a cursor; 0 without a cursor.

    Raises:
        MCPError: the cursor is not valid.
    """
    if cursor is None:
        return 0
    try:
        label, _, number = base64.urlsafe_b64decode(cursor.encode()).decode().partition(":")
        if label == "offset" and number.isdecimal() and int(number) <= MAX_OFFSET:
            return int(number)
    except (binascii.Error, ValueError):
        pass
    raise MCPError(code=types.INVALID_PARAMS, message="Invalid cursor: use the one that the last page gave.")
