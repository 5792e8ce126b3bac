"""Emits values as lines of block YAML."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import Json
from commonplace.domain.yamlblock.loader import MAX_DEPTH
from commonplace.domain.yamlblock.scalars import MAX_INTEGER, scalar_text

INDENT = 2

_NOT_LITERAL = re.compile(r"[^\S\n](?:\n|\Z)|\A\s|[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def as_json_types(value: Json, depth: int = 0) -> Json:
    """The value with only dicts and lists as containers.

    Raises:
        InvalidInputError: a number is not finite or over 64 bits, a text is not valid Unicode, the nesting is deeper
            than 64 levels, or the value is not JSON.
    """
    if depth > MAX_DEPTH:
        raise _refused(f"it is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, Mapping):
        return {_checked_text(key): as_json_types(item, depth + 1) for key, item in value.items()}
    if isinstance(value, str):
        return _checked_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise _refused("a number is not finite")
    if isinstance(value, int) and not -MAX_INTEGER - 1 <= value <= MAX_INTEGER:
        raise _refused("a number is over 64 bits")
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [as_json_types(item, depth + 1) for item in value]
    raise _refused("it holds a value that is not JSON")


def entry_lines(key: str, value: Json, indent: int = 0) -> list[str]:
    """A key and its value as lines without line ends."""
    first, rest = value_lines(value, indent)
    return [f"{' ' * indent}{scalar_text(key)}:{first}", *rest]


def value_lines(value: Json, indent: int) -> tuple[str, list[str]]:
    """The text after a key's colon, and the lines below it.

    Args:
        value: A value as returned by `as_json_types`.
        indent: Number of blanks before the key.
    """
    if isinstance(value, Mapping):
        lines = [line for key, item in value.items() for line in entry_lines(key, item, indent + INDENT)]
        return ("", lines) if lines else (" {}", [])
    if isinstance(value, str):
        return _text_lines(value, indent + INDENT)
    if isinstance(value, Sequence):
        lines = [line for item in value for line in item_lines(item, indent + INDENT)]
        return ("", lines) if lines else (" []", [])
    return f" {scalar_text(value)}", []


def item_lines(value: Json, indent: int) -> list[str]:
    """An item of a list as lines, with `indent` blanks before its dash."""
    dash = f"{' ' * indent}-"
    first, rest = value_lines(value, indent)
    if first:
        return [dash + first, *rest]
    return [f"{dash} {rest[0].lstrip()}", *rest[1:]]


def flow_list(values: Sequence[Json]) -> str:
    """A list of scalars in brackets; "" if an item is not a scalar or has several lines."""
    texts: list[str] = []
    for value in values:
        if isinstance(value, (Mapping, list, tuple)) or (isinstance(value, str) and "\n" in value):
            return ""
        if not isinstance(value, (str, int, float, bool)) and value is not None:
            return ""
        texts.append(scalar_text(value, flow=True))
    return f"[{', '.join(texts)}]"


def _text_lines(text: str, indent: int) -> tuple[str, list[str]]:
    """A multi-line text as a literal block if that preserves every character; any other text on one line."""
    body = text.removesuffix("\n")
    if "\n" not in body or body.endswith("\n") or _NOT_LITERAL.search(body):
        return f" {scalar_text(text)}", []
    lines = [f"{' ' * indent}{line}" if line else "" for line in body.split("\n")]
    return " |-" if body == text else " |", lines


def _checked_text(text: Json) -> str:
    if not isinstance(text, str):
        raise _refused("a key is not a text")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _refused("a text contains a lone surrogate") from None
    return text


def _refused(reason: str) -> InvalidInputError:
    return InvalidInputError(f"The value cannot be written as YAML: {reason}.", kind="frontmatter")
