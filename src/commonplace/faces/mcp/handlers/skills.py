"""The Skills extension (SEP-2640): folders of instructions, listed with a digest of each file.

Built to the specification `io.modelcontextprotocol/skills` as it became final on 2026-09-13, `specification/stable` of
the extension's own repository. A skill's URI is `skill://COLLECTION/FOLDER/SKILL.md`, each part percent-encoded.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Callable
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
from commonplace.faces.mcp.connected_peer import is_modern
from commonplace.faces.mcp.handlers.pagination import PAGE_SIZE, cursor_of, offset_of, protocol
from commonplace.faces.mcp.handlers.resources import wire
from commonplace.faces.mcp.runner import Runner
from commonplace.faces.mcp.sdk import Context
from commonplace.faces.mcp.toolset import Call, Resource, ResourceContents, ResourceSource
from commonplace.services.collections import Collection
from commonplace.services.skills.discovery import SKILL_FILE, Skill, SkillFile, Skills

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
        found = await self._known(context, "resources/directory/read", params.uri, self._children)
        page = found[offset : offset + PAGE_SIZE]
        more = {"nextCursor": cursor_of(offset + PAGE_SIZE)} if len(found) > offset + PAGE_SIZE else {}
        shown = [wire(one).model_dump(by_alias=True, mode="json", exclude_none=True) for one in page]
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
        found = self.skills.all(call.services.collections.members)
        return [_entry(skill) for skill in islice(found, offset, offset + PAGE_SIZE + 1)]

    def _named(self, call: Call, uri: str) -> Json:
        skill, rest = self._skill(call, uri)
        if rest != SKILL_FILE:
            raise NotFoundError(f"{uri[:200]} is not a skill's {SKILL_FILE}.", kind="skill")
        return _entry(skill)

    async def _known(self, context: Context, verb: str, uri: str, function: Callable[[Call, str], T]) -> T:
        def found(call: Call) -> T | KnowledgeError:
            try:
                return function(call, uri)
            except (NotFoundError, InvalidInputError) as error:
                return error

        answer = await protocol(self.runner, context, verb, found)
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
        folders = [one for one in self.skills.folders(collection) if not one or f"{path}/".startswith(f"{one}/")]
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
        return sorted([*(_resource(skill, file) for file in here), *folders], key=lambda one: one.uri)


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
        wanted = parse_address("/".join(part for part in (skill.folder, rest) if part))
    except InvalidInputError:
        return None
    return next((file for file in skill.files if file.address == wanted), None)


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
