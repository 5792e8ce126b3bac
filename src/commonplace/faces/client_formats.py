"""Edits of one member in the configuration files of MCP clients: JSON, JSON with comments, and TOML.

An edit changes only the bytes of that member: all other comments, order and layout are preserved. Every edit is
verified by parsing its result; if the result differs from the intended content, `ValueError` is raised.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from commonplace.domain.json import Json

FileFormat: TypeAlias = Literal["json", "toml"]
"""`json` includes JSON with comments and trailing commas, as editors write it."""

_STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_STRING_OR_COMMA = re.compile(r'"(?:\\.|[^"\\\n])*"|,(?=\s*[}\]])')
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class _Member:
    """A member of a JSON object, with its offsets in the text."""

    name: str
    start: int
    value: int
    end: int


def parsed(text: str, kind: FileFormat) -> dict[str, Json]:
    """The content of a file. An empty file, or a file with only comments, is an empty object.

    Raises:
        ValueError: the text is not of this format or is not an object.
    """
    try:
        if kind == "toml":
            return cast("dict[str, Json]", tomllib.loads(text))
        plain = _plain(text)
        held: object = json.loads(plain) if plain.strip() else {}
    except RecursionError as error:
        raise ValueError("too deeply nested") from error
    if not isinstance(held, dict):
        raise ValueError("not an object")  # noqa: TRY004 - the content is wrong, not a type
    return cast("dict[str, Json]", held)


def with_entry(text: str, kind: FileFormat, table: str, name: str, entry: Mapping[str, Json]) -> str:
    """The text with `entry` as the member `name` of the object `table`, added or replaced.

    Raises:
        ValueError: the text cannot be edited without changing something else.
    """
    before = parsed(text, kind)
    known = before.get(table, {})
    if not isinstance(known, dict):
        raise ValueError(f"{table!r} is no object")  # noqa: TRY004
    if known.get(name) == entry:
        return text
    if kind == "toml":
        edited = _toml_without(text, table, name) if name in known else text
        edited = edited.rstrip("\n") + ("\n\n" if edited.strip() else "") + _toml_table(table, name, entry)
    else:
        edited = _json_with(text, table, name, entry)
    return _checked(edited, kind, {**before, table: {**known, name: dict(entry)}})


def without_entry(text: str, kind: FileFormat, table: str, name: str) -> str:
    """The text without the member `name` of the object `table`; unchanged if there is no such member.

    Raises:
        ValueError: the text cannot be edited without changing something else.
    """
    before = parsed(text, kind)
    known = before.get(table)
    if not isinstance(known, dict) or name not in known:
        return text
    rest = {key: value for key, value in known.items() if key != name}
    if kind == "toml":
        edited = _toml_without(text, table, name)
        if not rest and table not in parsed(edited, kind):
            return _checked(edited, kind, {key: value for key, value in before.items() if key != table})
    else:
        edited = _json_without(text, table, name)
    return _checked(edited, kind, {**before, table: rest})


def _checked(text: str, kind: FileFormat, wanted: Mapping[str, Json]) -> str:
    if parsed(text, kind) != wanted:
        raise ValueError("it is laid out in a way that is not edited")
    return text


def _plain(text: str) -> str:
    """The JSON text with comments and trailing commas replaced by blanks, so that all offsets stay the same."""

    def blank(found: re.Match[str]) -> str:
        return found[0] if found[0].startswith('"') else re.sub(r"[^\n]", " ", found[0])

    return _STRING_OR_COMMA.sub(blank, _STRING_OR_COMMENT.sub(blank, text))


def _members(plain: str, brace: int) -> Iterator[_Member]:
    """The members of the object whose opening brace is at this offset."""
    at = _skip(plain, brace + 1)
    while plain[at] != "}":
        name, colon = _DECODER.raw_decode(plain, at)
        value = _skip(plain, _skip(plain, colon) + 1)
        end = _DECODER.raw_decode(plain, value)[1]
        yield _Member(cast("str", name), at, value, end)
        at = _skip(plain, end)
        if plain[at] == ",":
            at = _skip(plain, at + 1)


def _skip(plain: str, at: int) -> int:
    while plain[at].isspace():
        at += 1
    return at


def _json_with(text: str, table: str, name: str, entry: Mapping[str, Json]) -> str:
    plain = _plain(text)
    if not plain.strip():
        comments = f"{text.rstrip()}\n" if text.strip() else ""
        return comments + json.dumps({table: {name: entry}}, ensure_ascii=False, indent=2) + "\n"
    indent = match[1] if (match := re.search(r"(?m)^([ \t]+)\S", plain)) else "  "
    top = _skip(plain, 0)
    container = next((one for one in _members(plain, top) if one.name == table), None)
    if container is None:
        return _inserted(text, plain, top, indent, f"{json.dumps(table)}: {_block({name: entry}, indent, 1)}")
    member = next((one for one in _members(plain, container.value) if one.name == name), None)
    if member is None:
        made = f"{json.dumps(name, ensure_ascii=False)}: {_block(entry, indent, 2)}"
        return _inserted(text, plain, container.value, indent * 2, made, closing=indent)
    return text[: member.value] + _block(entry, indent, 2) + text[member.end :]


def _block(value: Mapping[str, Json], indent: str, depth: int) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent).replace("\n", "\n" + indent * depth)


def _inserted(text: str, plain: str, brace: int, indent: str, member: str, closing: str = "") -> str:
    """The text with a new member: after the last member, or alone in an empty object."""
    members = list(_members(plain, brace))
    if not members:
        end = _skip(plain, brace + 1)
        comments = text[brace + 1 : end].rstrip()
        return f"{text[: brace + 1]}{comments}\n{indent}{member}\n{closing}{text[end:]}"
    last = members[-1].end
    return f"{text[:last]},\n{indent}{member}{text[last:]}"


def _json_without(text: str, table: str, name: str) -> str:
    plain = _plain(text)
    container = next(one for one in _members(plain, _skip(plain, 0)) if one.name == table)
    members = list(_members(plain, container.value))
    place = next(number for number, one in enumerate(members) if one.name == name)
    own = members[place]
    if place + 1 < len(members):
        behind = members[place + 1].start
        return text[: own.start] + _comments(text, plain, own.end, behind).lstrip() + text[behind:]
    start = members[place - 1].end if place else container.value + 1
    return text[:start] + _comments(text, plain, start, own.start).rstrip(" \t") + text[own.end :]


def _comments(text: str, plain: str, start: int, end: int) -> str:
    """The text between two members without their comma; "" if it is blank."""
    comma = plain.find(",", start, end)
    between = text[start:end] if comma < 0 else text[start:comma] + text[comma + 1 : end]
    return between if between.strip() else ""


def _toml_table(table: str, name: str, entry: Mapping[str, Json]) -> str:
    bare = name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()]
    return "\n".join([f"[{table}.{bare}]", *lines]) + "\n"


def _toml_without(text: str, table: str, name: str) -> str:
    """The text without the tables `[table.name]` and `[table.name.…]`, up to the header of the next table."""
    quoted = "|".join(re.escape(form) for form in (name, json.dumps(name, ensure_ascii=False), f"'{name}'"))
    own = re.compile(rf"\s*\[\s*{re.escape(table)}\s*\.\s*(?:{quoted})\s*[.\]]")
    kept: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            inside = own.match(line) is not None
        if not inside:
            kept.append(line)
    return "".join(kept)
