"""Base models of requests, and the error model, shared by every REST contract."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue

_CONTROL = r"\x00-\x1f\x7f\x85\u2028\u2029"
_INVISIBLE = (
    r"\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_BLANK = r" \xa0\u1680\u2000-\u200a\u202f\u205f\u3000"
_DOT = r".\u2024-\u2026\ufe19\ufe30\ufe52\uff0e"
_FIRST = rf"[^{_CONTROL}{_INVISIBLE}{_BLANK}{_DOT}\\/]"
_INNER = rf"[^{_CONTROL}\\/]"
_LAST = rf"[^{_CONTROL} .\\/]"
_PART = rf"{_FIRST}(?:[^{_CONTROL} .:\\/]|{_INNER}{{1,246}}{_LAST})?"
PATH_PATTERN = rf"^{_PART}(?:/{_PART})*$"
"""Pattern of paths that every endpoint accepts.

`parse_address` accepts slightly more. Here, no part may begin with an invisible character or any kind of dot or blank.
No part of two characters may end in a colon, because the exact rule needs a lookahead.
"""
NAME_PATTERN = rf"^{_PART}$"
"""Pattern of one part of a path."""
REVISION_PATTERN = "^[0-9a-fA-F]{7,40}$"
TAGS_PATTERN = r'^(?:\*|[ \t,]*(?:W/)?"[^"]*"(?:[ \t]*,[ \t,]*(?:W/)?"[^"]*")*[ \t,]*)$'
"""Pattern of `If-Match` and `If-None-Match`."""
MAX_PATH = 1_000
"""Maximum characters of a path. In UTF-8, a path has at most 1,024 bytes and each part at most 255."""
SchemaFacts: TypeAlias = "dict[str, JsonValue]"
PATH_FACTS: SchemaFacts = {
    "minLength": 1,
    "maxLength": MAX_PATH,
    "pattern": PATH_PATTERN,
    "description": "Parts between slashes: none hidden or like git~1; each at most 255 bytes of UTF-8 with its suffix, "
    "all together 1,024",
}
NAME_FACTS: SchemaFacts = {**PATH_FACTS, "maxLength": 255, "pattern": NAME_PATTERN, "description": "One part of a path"}


class RequestBody(BaseModel):
    """Base of request bodies: types are strict, unknown keys are ignored."""

    model_config = ConfigDict(strict=True, frozen=True)


class QueryParameters(BaseModel):
    """Base of query parameters, whose values are all strings."""

    model_config = ConfigDict(frozen=True)


class NoQueryParameters(QueryParameters):
    """No query parameters."""


class Problem(BaseModel):
    """A refusal."""

    error: str
    code: str
    kind: str = ""
    hint: str = ""
    nearest: list[str] = []
    reference: str = ""
    current_revision: str | None = None
    changes: Annotated[list[str], Field(description="Lines that differ from the revision that was named")] = []
