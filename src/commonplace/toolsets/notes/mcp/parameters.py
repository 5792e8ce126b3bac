"""The parameters of each tool of `notes`."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, cast

from pydantic import ConfigDict, Field, JsonValue, WithJsonSchema
from pydantic.config import JsonDict

from commonplace.domain.query import StatusChoice
from commonplace.faces.mcp.toolset import Parameters
from commonplace.toolsets.notes.rules.change_kinds import ChangeKind

MIN_TOKENS = 100
"""The least budget in which an answer can say anything."""
MAX_CHANGES = 100
"""Maximum number of changes in one `edit`."""
MAX_STEPS = 100
"""Maximum number of steps in one `transaction`."""
MAX_PAGES = 50
"""Maximum number of pages in one `read`."""


def _without_length(schema: JsonDict) -> None:
    """Leave the maximum length out of the list of tools, where it costs tokens and no caller reaches it."""
    schema.pop("maxLength", None)


def _without_empty_defaults(schema: JsonDict) -> None:
    """Leave out that a parameter which is not required is empty by default; it would cost 4 tokens each time."""
    for values in cast("JsonDict", schema.get("properties", {})).values():
        if isinstance(values, dict) and values.get("default") == "":
            del values["default"]


class NotesParameters(Parameters):
    """Base of the parameters of the tools of `notes`."""

    model_config = ConfigDict(json_schema_extra=_without_empty_defaults)


Page = Annotated[str, Field(min_length=1, max_length=2000, json_schema_extra=_without_length)]
Budget = Annotated[int, Field(ge=MIN_TOKENS)]
Text = Annotated[str, Field(max_length=20_000_000, json_schema_extra=_without_length)]
_AT = "As it was: date, 'yesterday', commit, tag, HEAD~1, 'before <commit>'; in read also a revision in the trash"
At = Annotated[str, Field(max_length=200, json_schema_extra=_without_length, description=_AT)]
ShortAt = Annotated[str, Field(max_length=200, json_schema_extra=_without_length, description="As in read")]


class NotesOverview(NotesParameters):
    """`overview`."""

    folder: str = ""
    at: ShortAt = ""
    max_tokens: Budget = 600


class NotesBrief(NotesParameters):
    """`brief`."""

    task: Annotated[str, Field(max_length=5_000, description="In words")] = ""
    max_tokens: Budget = 1500


class NotesSearch(NotesParameters):
    """`search`."""

    query: Annotated[str, Field(min_length=1)]
    folder: str = ""
    tag: str = ""
    type: str = ""
    fields: Annotated[dict[str, str], Field(description='Front matter, {"status": "open"}')] = Field(
        default_factory=dict[str, str]
    )
    status: StatusChoice = "any"
    since: Annotated[str, Field(description="New in the branch since: date, '7 days', commit")] = ""
    until: str = ""
    at: ShortAt = ""
    max_tokens: Budget = 1000
    cursor: str = ""


class NotesRead(NotesParameters):
    """`read`."""

    page: Annotated[
        Page | list[Page], Field(description="Path, title, alias, [[link#Heading]], page#^block or a hit; or several")
    ]
    section: Annotated[str, Field(description="Heading, 'Outer > Inner', #anchor or ^block")] = ""
    lines: Annotated[str, Field(description="'10-40'")] = ""
    query: Annotated[str, Field(description="Only the sections that answer this")] = ""
    at: At = ""
    max_tokens: Budget = 2000


class NotesLinks(NotesParameters):
    """`links`."""

    page: Annotated[str, Field(description="None: wanted pages of the whole base")] = ""
    kind: Literal["all", "out", "in", "wanted", "mentions"] = "all"
    depth: Annotated[int, Field(ge=1, le=5, description="Over 1: the neighbours within so many links")] = 1
    to: Annotated[str, Field(description="The shortest path to this page")] = ""
    at: ShortAt = ""
    max_tokens: Budget = 1000


class NotesChanges(NotesParameters):
    """`changes`."""

    page: str = ""
    folder: str = ""
    since: Annotated[str, Field(description="Date, 'yesterday', '7 days' or commit")] = ""
    by: Annotated[str, Field(description="Part of a person's, agent's or program's name")] = ""
    diff: bool = False
    sections: Annotated[bool, Field(description="Of a page: who last changed each section")] = False
    deleted: Annotated[bool, Field(description="Deleted pages and how to get them back")] = False
    max_tokens: Budget = 1000
    cursor: str = ""


class WriteArguments(NotesParameters):
    """Parameters of every tool that writes."""

    message: Annotated[str, Field(max_length=10_000, json_schema_extra=_without_length)] = ""
    request_id: Annotated[
        str, Field(max_length=200, json_schema_extra=_without_length, description="Repeated with it, made once")
    ] = ""


Source: TypeAlias = Annotated[str | dict[str, JsonValue], WithJsonSchema({"type": ["string", "object"]})]
"""A source as text, or as an item of `sources` in a front matter."""


class NotesWrite(WriteArguments):
    """`write`."""

    page: Annotated[Page, Field(description="Path, such as 'notes/idea.md'")]
    text: Annotated[Text, Field(description="All of it, front matter included")]
    revision: str = ""
    sources: Annotated[list[Source], Field(description="'a.md#b', 'c.py#L1-L9@commit' or URL, then \"quote\"")] = Field(
        default_factory=list[Source]
    )


class Change(NotesParameters):
    """One change of an `edit`."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, title=None)

    do: ChangeKind
    section: str = ""
    text: Text = ""
    old: str = ""
    block: str = ""
    fields: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    task: str = ""
    done: bool = True
    by: str = ""
    reason: str = ""
    sources: list[Source] = Field(default_factory=list[Source])


class NotesEdit(WriteArguments):
    """`edit`."""

    page: Page
    changes: Annotated[list[Change], Field(min_length=1, max_length=MAX_CHANGES)]
    revision: str = ""


class NotesMove(WriteArguments):
    """`move`."""

    page: Annotated[Page, Field(description="A page, or a folder ('notes/')")]
    to: Annotated[Page, Field(description="New path")]
    dry_run: bool = False


class NotesDelete(WriteArguments):
    """`delete`."""

    page: Page
    revision: str = ""


class NotesAdd(NotesParameters):
    """`add`."""

    source: Annotated[Page, Field(description="URL, or path of a file of the folder")]
    title: str = ""


class NotesRestore(WriteArguments):
    """`restore`."""

    page: str = ""
    section: str = ""
    session: Annotated[str, Field(description="Instead of page: undo all it wrote (`mine`)")] = ""
    at: Annotated[str, Field(description="As in read; not needed for a deleted page")] = ""
    revision: str = ""


class NotesTransaction(WriteArguments):
    """`transaction`."""

    steps: Annotated[
        list[dict[str, JsonValue]],
        Field(min_length=1, max_length=MAX_STEPS, description='Each {"do": "edit", ...its arguments}'),
    ]
