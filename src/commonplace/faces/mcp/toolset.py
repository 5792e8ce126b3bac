"""What a toolset is: a value, not a class to inherit from.

A tool is one row: name, description, parameter model, and one function that calls a service and returns what is shown.
Validation, threads, tiers, logging and catching happen once, in `server`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar, cast, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from commonplace.domain.errors import ConfigError, InvalidInputError, KnowledgeError
from commonplace.domain.json import Json, JsonObject
from commonplace.faces.mcp.bad_arguments import bad_arguments
from commonplace.faces.mcp.peers import NULL_CLIENT, Peer
from commonplace.settings import Tier

if TYPE_CHECKING:  # a server answers its client before it loads them
    from commonplace.domain.addresses import Address
    from commonplace.domain.ports import Progress
    from commonplace.services.services import Services
    from commonplace.services.sessions.memory import SessionMemory

TIERS: tuple[Tier, ...] = get_args(Tier)
"""From the least to the most that a caller may do."""


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes as a resource of their own in an answer."""

    uri: str
    mime_type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class ContentBlocks:
    """An answer in the protocol's own content blocks, for what neither text nor JSON can say: pictures, sound."""

    content: Sequence[JsonObject]
    """Each as it stands on the wire, such as `{"type": "image", "data": BASE64, "mimeType": "image/png"}`."""
    structured: JsonObject | None = None


ToolContent: TypeAlias = str | Mapping[str, Json] | list[Json]
"""Text; or an object, shown as JSON and as structured content; or a list, structured as `{"result": [...]}`."""


@dataclass(frozen=True, slots=True)
class ResourceLink:
    """A link to a resource that an answer names."""

    uri: str
    name: str
    mime_type: str = "text/markdown"


@dataclass(frozen=True, slots=True)
class LinkedContent:
    """An answer with links to resources beside it. Its text block is `text`, if that holds less than the content."""

    content: ToolContent
    links: Sequence[ResourceLink]
    text: ToolContent | None = None


ToolResult: TypeAlias = ToolContent | Blob | ContentBlocks | LinkedContent
JsonSchema: TypeAlias = dict[str, Json]
"""A JSON Schema, 2020-12."""


class Parameters(BaseModel):
    """Base of a tool's parameters: types are taken literally and unknown names refused."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)


P = TypeVar("P", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Who calls, on what, and how to tell them that it takes time."""

    services: Services
    tier: Tier
    progress: Progress
    trace: str = ""
    """What the log names the call: 32 hex digits from a secure source."""
    client: str = ""
    """Who calls, as far as calls can be told apart: a session, else a key, else "" for everybody."""
    caller: str = ""
    """Who calls in whichever session: a key, else "" for everybody."""
    session: SessionMemory | None = None
    """What the session was shown; None outside a session. A stdio process is one session."""
    peer: Peer = NULL_CLIENT
    """The client itself, for what asks back in mid-call."""
    go_on: Callable[[], None] = lambda: None
    """Raises `Stopped` once the client has cancelled the call, or has gone."""


@dataclass(frozen=True, slots=True)
class BoundHandler:
    """A function with its parameter model tied to it, so that both ends' types agree."""

    input_schema: Callable[[], JsonSchema]
    run: Callable[[Call, JsonObject], ToolResult]
    """Validates the arguments, then calls.

    Raises:
        InvalidInputError: kind "argument".
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One row of a toolset."""

    name: str
    title: str
    """For people, a few words."""
    description: str
    """For agents: what it does, when to use it, an example where one helps."""
    handler: BoundHandler
    output_schema: JsonSchema | None = None
    """Of the structured content; None for a tool that answers with text."""
    tier: Tier = "read"
    """The least tier that may call it."""
    destructive: bool = False
    """Whether a call can take away what was there."""
    repeatable: bool = False
    """Whether a second equal call changes nothing more, for a tool that writes."""
    asks: bool = False
    """Whether it may turn to the client in mid-call."""

    @property
    def read_only(self) -> bool:
        """Whether a call changes nothing."""
        return self.tier == "read"

    @property
    def idempotent(self) -> bool:
        """Whether a second equal call changes nothing more."""
        return self.read_only or self.repeatable


Completer: TypeAlias = Callable[[Call, str, Mapping[str, str]], Sequence[str]]
"""From what is typed so far, and the other arguments given, to what it may become, best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """Something that a client can read by its URI."""

    uri: str
    name: str
    title: str = ""
    description: str = ""
    mime_type: str = "text/markdown"
    size: int | None = None
    """Bytes, where it is known without reading."""
    last_modified: str = ""
    """ISO 8601, or ""."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceTemplate:
    """A family of resources whose URIs differ in named parts."""

    uri_template: str
    name: str
    title: str = ""
    description: str = ""
    mime_type: str = "text/markdown"
    complete: Mapping[str, Completer] = field(default_factory=dict[str, Completer])
    """By the template's variable."""


@dataclass(frozen=True, slots=True)
class ResourceContents:
    """What a resource holds: text, or bytes where it is not text."""

    content: str | bytes
    mime_type: str = "text/markdown"


@dataclass(frozen=True, slots=True)
class ResourceSource:
    """What a resource is made of, so that it changes when that does."""

    collection: str | None = None
    """The name of a collection; None for all of them."""
    address: Address | None = None
    """One document of it; None for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """The resources of a toolset."""

    templates: tuple[ResourceTemplate, ...]
    list: Callable[[Call, int, int], tuple[Sequence[Resource], bool]]
    """From offset and limit to a page of the listed resources, and whether there are more behind it."""
    read: Callable[[Call, str], ResourceContents]
    """What a URI holds.

    Raises:
        NotFoundError: no such resource.
    """
    source_of: Callable[[Call, str], ResourceSource | None] | None = None
    """What a URI's resource is made of; None while it is made of no document."""
    changes: Callable[[Callable[[str], None]], None] | None = None
    """Calls a listener, from any thread, with the URI of each resource made of no document that changes from now on."""

    @property
    def can_subscribe(self) -> bool:
        """Whether anybody notices when one changes."""
        return self.source_of is not None or self.changes is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptArgument:
    """One argument of a prompt; a prompt's arguments are texts."""

    name: str
    description: str
    required: bool = False
    complete: Completer | None = None


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message of a prompt, for what is more than one text of the user's."""

    role: Literal["user", "assistant"]
    content: JsonObject
    """A content block as it stands on the wire."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A message that a person starts with; offered in every tier."""

    name: str
    title: str
    description: str
    arguments: tuple[PromptArgument, ...]
    render: Callable[[Call, Mapping[str, str]], str | Sequence[PromptMessage]]
    """The user's message, or several messages, for these arguments; the required ones are there.

    Raises:
        InvalidInputError: an argument is not what it must be.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolset:
    """One toolset as the outside sees it."""

    name: str
    server_name: str
    instructions: str
    """What an agent is told of the whole toolset; under 2,000 characters."""
    tools: tuple[Tool, ...]
    show_error: Callable[[KnowledgeError], ToolContent]
    errors_as: Literal["result", "protocol"] = "result"
    default_tier: Tier = "read"
    resources: Resources | None = None
    prompts: tuple[Prompt, ...] = ()
    skills: bool = False
    """Whether folders with a `SKILL.md` are served as skills, beside the resources."""
    asks: bool = False
    """Whether a call may turn to the client: ask it, or send it log messages."""
    indent: int | None = None
    """Spaces of the JSON in text blocks; None for compact."""


def bind(params: type[P], run: Callable[[Call, P], ToolResult]) -> BoundHandler:
    """Tie a parameter model to the function that takes its values, calls a service and returns what is shown."""

    def validated(call: Call, arguments: JsonObject) -> ToolResult:
        try:
            parsed = params.model_validate(arguments)
        except ValidationError as error:
            raise bad_arguments(error, params) from error
        return run(call, parsed)

    return BoundHandler(lambda: input_schema(params), validated)


def allowed_tools(tools: Sequence[Tool], tier: str) -> tuple[Tool, ...]:
    """The tools that a tier may call.

    Raises:
        ConfigError: there is no such tier.
    """
    if tier not in TIERS:
        raise ConfigError(
            f"Invalid tier {tier!r}: expected one of {', '.join(TIERS)}.", kind="tier", hint="Use --tier read."
        )
    return tuple(row for row in tools if TIERS.index(row.tier) <= TIERS.index(tier))


def require_text(value: object) -> None:
    """Refuse half a surrogate pair anywhere in what a client sent: JSON can spell it, and it is no text.

    Raises:
        InvalidInputError: kind "argument".
    """
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InvalidInputError(
                "Invalid argument: it holds half a surrogate pair, which is no text.",
                kind="argument",
                hint="Send Unicode text.",
            ) from None
    elif isinstance(value, Mapping):
        for key, part in cast("Mapping[object, object]", value).items():
            require_text(key)
            require_text(part)
    elif isinstance(value, list):
        for part in cast("list[object]", value):
            require_text(part)


@cache
def input_schema(params: type[BaseModel]) -> JsonSchema:
    """The model's schema, made once, without what only costs tokens: titles, `null` beside an optional value's type."""
    schema: JsonSchema = {"properties": dict[str, Json](), **_slim(params.model_json_schema())}
    schema.pop("description", None)
    return schema


def result_schema(*required: str, **types: str) -> JsonSchema:
    """The schema of an object with these keys.

    Args:
        required: Keys that are always there.
        types: JSON type by key, for keys whose type is worth stating; those not in `required` are optional.
    """
    properties: dict[str, Json] = {name: {"type": types[name]} if name in types else {} for name in [*required, *types]}
    return {"type": "object", "properties": properties, "required": list(required)}


def _slim(node: JsonSchema) -> JsonSchema:
    slim = {key: _slim_value(value) for key, value in node.items() if not _is_padding(key, value)}
    options = slim.pop("anyOf", None)
    if isinstance(options, list):
        kept = [option for option in options if option != {"type": "null"}]
        alone = kept[0] if len(kept) == 1 else {"anyOf": kept}
        slim = {**cast("JsonSchema", alone), **slim}
    return slim


def _slim_value(value: Json) -> Json:
    if isinstance(value, dict):
        return _slim(value)
    return [_slim_value(item) for item in value] if isinstance(value, list) else value


def _is_padding(key: str, value: Json) -> bool:
    """A model's or field's title repeats its name (a property that is named `title` is an object), null its absence."""
    return (key == "title" and isinstance(value, str)) or (key == "default" and value is None)
