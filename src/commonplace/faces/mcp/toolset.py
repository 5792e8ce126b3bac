"""The description of a toolset as a value, not a base class.

A tool is one row: name, description, parameter model, and one function that calls a service and returns the result.
Validation, threads, tiers, logging and error handling are done once, in `server`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

from commonplace.domain.errors import ConfigError, InvalidInputError, KnowledgeError
from commonplace.domain.json import Json, JsonObject
from commonplace.faces.access.callers import TIERS, allows
from commonplace.faces.mcp.peers import NULL_CLIENT, Peer
from commonplace.settings import Tier

if TYPE_CHECKING:
    from commonplace.domain.activity import Actor
    from commonplace.domain.addresses import Address
    from commonplace.domain.changes import Author
    from commonplace.domain.ports import Progress
    from commonplace.domain.proposals import Proposal, Proposer
    from commonplace.services.services import Services
    from commonplace.services.sessions import SessionMemory


PROPOSE: Tier = "propose"
"""The tier whose writes are proposals."""
DECIDING = frozenset({PROPOSE, "write", "admin"})
"""Tiers at which a caller has to do with proposals."""


@dataclass(frozen=True, slots=True)
class Blob:
    """Binary content of an answer, sent as an embedded resource."""

    uri: str
    mime_type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class ContentBlocks:
    """An answer in content blocks of the protocol, for images, sound and other content besides text and JSON."""

    content: Sequence[JsonObject]
    """Blocks in the protocol's form, such as `{"type": "image", "data": BASE64, "mimeType": "image/png"}`."""
    structured: JsonObject | None = None


ToolContent: TypeAlias = str | Mapping[str, Json] | list[Json]
"""Text; an object, sent as JSON text and as structured content; or a list, structured as `{"result": [...]}`."""


@dataclass(frozen=True, slots=True)
class ResourceLink:
    """A link from an answer to a resource."""

    uri: str
    name: str
    mime_type: str = "text/markdown"


@dataclass(frozen=True, slots=True)
class LinkedContent:
    """An answer with links to resources. Its text block is `text` if given, else `content`."""

    content: ToolContent
    links: Sequence[ResourceLink]
    text: ToolContent | Callable[[ToolContent], str] | None = None
    """The text block, or what makes it from the final content; None for the content itself."""


ToolResult: TypeAlias = ToolContent | Blob | ContentBlocks | LinkedContent
JsonSchema: TypeAlias = dict[str, Json]
"""A JSON Schema, 2020-12."""


class Parameters(BaseModel):
    """Base of a tool's parameters: types are taken literally and unknown names refused."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)


P = TypeVar("P", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Context of one call: the services, the caller's permissions, progress and the client."""

    services: Services
    tier: Tier
    progress: Progress
    trace: str = ""
    """Id of the call in the log: 32 hex digits from a secure source."""
    client: str = ""
    """Identifies the client: the session id; without a session, the caller's id; else ""."""
    caller: str = ""
    """The caller's id, the same in all sessions; "" without a key."""
    person: Author | None = None
    """The person to whom the caller's key belongs; None without a key."""
    actor: Actor | None = None
    """The caller as it is recorded; None if nothing is."""
    proposer: Proposer | None = None
    """The caller as a proposer; None without proposals."""
    served: Services | None = None
    """The services of what is served, to be read only, at the tier `propose`; `services` has the caller's proposals."""
    proposals: Mapping[str, Proposal] = field(default_factory=dict["str", "Proposal"])
    """The caller's open proposals that the answers show, by name of the collection."""
    session: SessionMemory | None = None
    """The revisions that the session has seen; None without a session. A stdio process is one session."""
    peer: Peer = NULL_CLIENT
    """The client, for log messages and requests during the call."""
    go_on: Callable[[], None] = lambda: None
    """Raises `Stopped` after the client has cancelled the call or disconnected."""


@dataclass(frozen=True, slots=True)
class BoundHandler:
    """A function bound to its parameter model, so that the types of both agree."""

    input_schema: Callable[[], JsonSchema]
    run: Callable[[Call, JsonObject], ToolResult]
    """Validate the arguments and run the function.

    Raises:
        InvalidInputError: kind "argument".
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One row of a toolset."""

    name: str
    title: str
    """Display name for people: a few words."""
    description: str
    """Description for agents: purpose, when to use the tool, and an example if useful."""
    handler: BoundHandler
    output_schema: JsonSchema | None = None
    """Schema of the structured content; None for a tool that answers with text."""
    tier: Tier = "read"
    """The lowest tier that may call the tool."""
    proposes: bool = True
    """Whether a tool of the tier `write` may be called at the tier `propose`, because all its writes are proposals."""
    destructive: bool = False
    """Whether a call can delete or replace content."""
    repeatable: bool = False
    """Whether a second identical call of a writing tool has no further effect."""
    asks: bool = False
    """Whether the tool may send requests to the client during a call."""
    only_reads: bool = False
    """Whether a tool above the tier `read` changes nothing."""
    open_world: bool = False
    """Whether a call sends requests to another system."""
    needs_index: bool = True
    """Whether a call waits until the first index is ready; otherwise the tool itself decides what it waits for."""
    answers_unfinished: bool = False
    """Whether a call soon answers with what the first index has so far; one that asks for progress waits."""

    @property
    def read_only(self) -> bool:
        """Whether calls change nothing."""
        return self.tier == "read" or self.only_reads

    @property
    def idempotent(self) -> bool:
        """Whether a second identical call has no further effect."""
        return self.read_only or self.repeatable


Completer: TypeAlias = Callable[[Call, str, Mapping[str, str]], Sequence[str]]
"""Returns completions, best first, for a partial value and the values of the other arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A resource that clients read by its URI."""

    uri: str
    name: str
    title: str = ""
    description: str = ""
    mime_type: str = "text/markdown"
    size: int | None = None
    """Size in bytes; None if unknown without reading."""
    last_modified: str = ""
    """Time of the last modification, ISO 8601; "" if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceTemplate:
    """A family of resources whose URIs differ in named parts."""

    uri_template: str
    name: str
    title: str = ""
    description: str = ""
    mime_type: str = "text/markdown"
    complete: Mapping[str, Completer] = field(default_factory=dict[str, Completer])
    """Completers by variable name of the template."""


@dataclass(frozen=True, slots=True)
class ResourceContents:
    """Content of a resource: text, or bytes if it is not text."""

    content: str | bytes
    mime_type: str = "text/markdown"


@dataclass(frozen=True, slots=True)
class ResourceSource:
    """The documents that a resource depends on; used to detect changes."""

    collection: str | None = None
    """Name of the collection; None for all collections."""
    address: Address | None = None
    """Address of the document in the collection; None for all documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """The resources of a toolset."""

    templates: tuple[ResourceTemplate, ...]
    list: Callable[[Call, int, int], tuple[Sequence[Resource], bool]]
    """Returns one page of the resources, given offset and limit, and whether there are more."""
    read: Callable[[Call, str], ResourceContents]
    """Return the content of a URI.

    Raises:
        NotFoundError: no such resource.
    """
    source_of: Callable[[Call, str], ResourceSource | None] | None = None
    """Returns the source of a URI's resource; None if it has none at present."""
    changes: Callable[[Callable[[str], None]], None] | None = None
    """Registers a listener for changes of resources without a document.

    The listener gets their URIs, from any thread.
    """

    @property
    def can_subscribe(self) -> bool:
        """Whether changes of resources are reported."""
        return self.source_of is not None or self.changes is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptArgument:
    """One argument of a prompt. All arguments are strings."""

    name: str
    description: str
    required: bool = False
    complete: Completer | None = None


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message of a prompt that is more than a single text by the user."""

    role: Literal["user", "assistant"]
    content: JsonObject
    """A content block in the protocol's form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt, offered in every tier."""

    name: str
    title: str
    description: str
    arguments: tuple[PromptArgument, ...]
    render: Callable[[Call, Mapping[str, str]], str | Sequence[PromptMessage]]
    """Returns the user's message, or several messages. Required arguments are present.

    Raises:
        InvalidInputError: an argument is not valid.
    """


@dataclass(frozen=True, slots=True)
class ReadCall:
    """The tool with which agents read one page."""

    tool: str
    arguments: Callable[[str, str, int, str], JsonObject]
    """Returns the tool's arguments.

    Args:
        collection: Name of the page's collection.
        path: Path of the page.
        tokens: Maximum number of tokens; 0 for the tool's default.
        question: The question whose best sections are read; "" for all of them.
    """
    bounded: bool = True
    """Whether the arguments hold the number of tokens and the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolset:
    """A toolset: names, tools, resources and prompts as clients see them."""

    name: str
    server_name: str
    instructions: str
    """Instructions for agents on the whole toolset; under 2,000 characters."""
    tools: tuple[Tool, ...]
    show_error: Callable[[KnowledgeError], ToolContent]
    errors_as: Literal["result", "protocol"] = "result"
    default_tier: Tier = "read"
    proposes: bool = False
    """Whether the toolset can be served at the tier `propose`: its tools use the collections of the call alone."""
    repeats: bool = True
    """Whether a repeated call writes the same bytes, so that a write can be tried to ask the client's person first."""
    resources: Resources | None = None
    prompts: tuple[Prompt, ...] = ()
    skills: bool = False
    """Whether folders with a `SKILL.md` are served as skills, in addition to the resources."""
    asks: bool = False
    """Whether calls may send requests or log messages to the client."""
    description: str | None = None
    """Sentence about the server, beside its name and version; None for nothing."""
    indent: int | None = None
    """Indentation of JSON in text blocks, in spaces; None for compact JSON."""
    read_call: ReadCall | None = None
    """The tool with which agents read one page; None for a toolset without pages."""


def bind(params: type[P], run: Callable[[Call, P], ToolResult]) -> BoundHandler:
    """Bind a parameter model to a function that takes its values and returns the result."""

    def validated(call: Call, arguments: JsonObject) -> ToolResult:
        try:
            parsed = params.model_validate(arguments)
        except ValidationError as error:
            try:  # some clients give lists and objects as JSON text
                parsed = params.model_validate(_from_json_texts(arguments, error))
            except ValidationError:
                raise bad_arguments(error, params) from error
        return run(call, parsed)

    return BoundHandler(lambda: input_schema(params), validated)


def _from_json_texts(arguments: JsonObject, error: ValidationError) -> JsonObject:
    """The arguments; each that was refused and is the JSON text of a list or an object is that list or object."""
    read: dict[str, Json] = {}
    for name in {str(problem["loc"][0]) for problem in error.errors() if problem["loc"]}:
        value = arguments.get(name)
        if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
            with suppress(ValueError, RecursionError):
                read[name] = json.loads(value)
    return {**arguments, **read}


def allowed_tools(tools: Sequence[Tool], tier: str) -> tuple[Tool, ...]:
    """The tools that a tier may call.

    Raises:
        ConfigError: there is no such tier.
    """
    if tier not in TIERS:
        raise ConfigError(
            f"Invalid tier {tier!r}: expected one of {', '.join(TIERS)}.", kind="tier", hint="Use --tier read."
        )
    return tuple(row for row in tools if allows(tier, row.tier, proposes=row.proposes))


def require_text(value: object) -> None:
    """Check that a value from a client contains no lone surrogate, which JSON can express but Unicode text cannot.

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
    """The model's JSON Schema, cached, without titles and `null` alternatives, which only cost tokens."""
    schema: JsonSchema = {"properties": dict[str, Json](), **_slim(params.model_json_schema())}
    schema.pop("description", None)
    return schema


def result_schema(*required: str, **types: str) -> JsonSchema:
    """The schema of an object with these keys.

    Args:
        required: Keys that are always present.
        types: JSON types of keys, if worth stating. Keys that are not in `required` are optional.
    """
    properties: dict[str, Json] = {name: {"type": types[name]} if name in types else {} for name in [*required, *types]}
    return {"type": "object", "properties": properties, "required": list(required)}


def _slim(node: JsonSchema) -> JsonSchema:
    slim = {key: _slim_value(value) for key, value in node.items() if not _is_padding(key, value)}
    options = slim.pop("anyOf", None)
    if isinstance(options, list):
        kept_options = [option for option in options if option != {"type": "null"}]
        alone = kept_options[0] if len(kept_options) == 1 else {"anyOf": kept_options}
        slim = {**cast("JsonSchema", alone), **slim}
    return slim


def _slim_value(value: Json) -> Json:
    if isinstance(value, dict):
        return _slim(value)
    return [_slim_value(item) for item in value] if isinstance(value, list) else value


def _is_padding(key: str, value: Json) -> bool:
    """Whether a schema entry is redundant: a title (always the name), or a default of null.

    A property that is named `title` has an object as its value and is kept.
    """
    return (key == "title" and isinstance(value, str)) or (key == "default" and value is None)


# Error messages for arguments that do not match a tool's parameter model.


MAX_SHOWN_ARGUMENT = 60
"""Maximum characters of a wrong argument that an error message quotes."""
_CHOICE = re.compile(
    r"(?:constrained-)?(?:str|int|float|bool|bytes)"
    r"|(?:list|dict|tuple|set|frozenset|literal|nullable|function-\w+)\[.*\]"
)
"""pydantic's names for the members of a union in an error's location."""


def bad_arguments(error: ValidationError, params: type[BaseModel] | None = None) -> InvalidInputError:
    """An error that names each wrong argument, the expected value and the given value.

    The context's `missing` lists the names of missing arguments. If an argument is unknown, the hint names the valid
    ones, provided that `params` is given.
    """
    unknown = [e["loc"] for e in error.errors() if e["type"] == "extra_forbidden"]
    sentences = [f"Unknown argument {_where(location)}.{_home(params, location)}" for location in unknown]
    valid = "".join(dict.fromkeys(_valid(params, location[:-1]) for location in unknown)) if params else ""
    missing = [_where(e["loc"]) for e in error.errors() if e["type"] == "missing"]
    if missing:
        message = " ".join([f"Missing argument: {', '.join(missing)}.", *sentences])
        hint = f"Give {', '.join(f'{name}{_choices(params, name)}' for name in missing)}."
        return InvalidInputError(message, kind="argument", hint=hint + valid, missing=missing)
    hint = f"Correct the arguments and call again.{valid}"
    return InvalidInputError(" ".join([*sentences, *_wrong_values(error)]), kind="argument", hint=hint)


def _wrong_values(error: ValidationError) -> Iterator[str]:
    """A sentence for each wrong value: what is expected, and what was given."""
    wrong: dict[tuple[str, str], dict[str, None]] = {}
    for problem in error.errors(include_url=False):
        if problem["type"] != "extra_forbidden":
            where, brief = _where(problem["loc"]), _brief(problem["input"])
            wrong.setdefault((where, brief), {})[_lower(problem["msg"])] = None
    for (where, given_text), said in wrong.items():
        if not any(other.startswith(f"{where}.") for other, _ in wrong):  # a nested error is more specific
            yield f"Invalid argument {where}: {' or '.join(said)}; got {given_text}."


def _home(params: type[BaseModel] | None, location: tuple[int | str, ...]) -> str:
    """A sentence that names the argument inside which an unknown one belongs; "" for none."""
    fields = params.model_fields.items() if params and len(location) == 1 else ()
    homes = [
        field.alias or name
        for name, field in fields
        if any(location[0] in model.model_fields for model in _models(field.annotation))
    ]
    return f" It belongs in {homes[0]}." if homes else ""


def _valid(params: type[BaseModel], location: tuple[int | str, ...]) -> str:
    """A sentence that names the valid arguments at a location; "" if more than one model is possible there."""
    models = [params]
    for part in location:
        fields = (
            field_info
            for model in models
            for name, field_info in model.model_fields.items()
            if part in {name, field_info.alias}
        )
        field = next(fields, None)
        models = _models(field.annotation) if field else models
    if len(models) != 1:
        return ""
    names = ", ".join(field_info.alias or name for name, field_info in models[0].model_fields.items())
    inside = f" in {location[0]}" if location else ""
    return f" Valid{inside}: {names}." if names else " There are none."


def _choices(params: type[BaseModel] | None, name: str) -> str:
    """The valid values of an argument in parentheses; "" if it takes others than a few words."""
    fields = params.model_fields.items() if params else ()
    annotation = next((field_info.annotation for key, field_info in fields if name in {key, field_info.alias}), None)
    words = get_args(annotation) if get_origin(annotation) is Literal else ()
    return f" ({', '.join(map(str, words))})" if words else ""


def _models(annotation: object) -> list[type[BaseModel]]:
    """The models in a type annotation such as `list[Model] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for other_annotation in get_args(annotation) for model in _models(other_annotation)]


def _where(location: tuple[int | str, ...]) -> str:
    """The argument's name, without the location parts that only identify a member of a union."""
    parts = [str(part) for part in location if not (isinstance(part, str) and _CHOICE.fullmatch(part))]
    return ".".join(parts) or "(arguments)"


def _lower(message: str) -> str:
    text = message.removeprefix("Value error, ").removeprefix("Input ")
    return text[:1].lower() + text[1:]


def _brief(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MAX_SHOWN_ARGUMENT else f"{text[: MAX_SHOWN_ARGUMENT - 3]}..."
