"""The path of a new entry: the folder and the file pattern of its type, filled with the entry's values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from string import Formatter

from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.schema import EntryType
from commonplace.domain.settings_values import mapping_of, scalar_text, text_of
from commonplace.domain.slugs import slug

ID_NAMES = frozenset({"id", "slug"})
"""Placeholders of the entry's id."""
DATE_PARTS: Mapping[str, slice] = {"date": slice(10), "year": slice(4), "month": slice(5, 7), "day": slice(8, 10)}
"""Placeholders of the entry's `date`, with their part of `YYYY-MM-DD`; the type's own fields take precedence."""
GIVEN_NAMES = frozenset({*ID_NAMES, *DATE_PARTS, "title", "type"})
"""Placeholders that need not be fields of the type."""
MAX_WIDTH = 99
"""Maximum number of characters to which a format pads."""
_NUMBER = re.compile(r"\d+")


def new_entry_path(declared: EntryType, identifier: str, values: JsonObject) -> str:
    """The path of a new entry in its collection.

    Args:
        declared: The type of the entry.
        identifier: The id of the entry.
        values: Frontmatter of the entry.

    Raises:
        InvalidInputError: kind "schema": the entry has no value for a placeholder, or the pattern is invalid.
    """
    pattern = path_pattern(declared)
    try:
        parts = list(placeholders(pattern))
    except ValueError as error:
        raise _invalid(declared, f"{pattern!r} is no pattern: {error}") from error
    return "".join(
        literal + (_filled(declared, identifier, values, name, spec) if name is not None else "")
        for literal, name, spec in parts
    )


def path_pattern(declared: EntryType) -> str:
    """The pattern for paths of new entries: the folder and the file pattern, unless the latter includes the folder."""
    folder, file = declared.subdirectory, declared.file_pattern or "{id}.md"
    return file if not folder or file.startswith(f"{folder}/") else f"{folder}/{file}"


def placeholders(pattern: str) -> Iterator[tuple[str, str | None, str]]:
    """The parts of a pattern: literal text, then the name of a field and its format, such as `04d`.

    Raises:
        ValueError: the braces are unbalanced, a placeholder is not a plain name, or a format has more characters than
            the name of a file can have.
    """
    for literal, name, spec, conversion in Formatter().parse(pattern):
        if name is not None and (not name.isidentifier() or conversion or "{" in (spec or "")):
            raise ValueError(f"{{{name}}} is no name of a field")
        if any(int(number) > MAX_WIDTH for number in _NUMBER.findall(spec or "")):
            raise ValueError(f"{{{name}:{spec}}} is wider than {MAX_WIDTH} characters")
        yield literal, name, spec or ""


def _filled(declared: EntryType, identifier: str, values: JsonObject, name: str, spec: str) -> str:
    if name in ID_NAMES:
        return identifier
    if name == "type":
        return slug(declared.name)
    is_date_part = name in DATE_PARTS and name not in declared.fields
    source = "date" if is_date_part else name
    value = _value(values, source)
    if value in (None, "", [], {}):
        raise InvalidInputError(
            f"Files of the type {declared.name!r} are named by {source!r}, which the entry does not have.",
            kind="schema",
            hint=f"Give {source}.",
        )
    text = scalar_text(value)[DATE_PARTS[name]] if is_date_part else _formatted(declared, name, value, spec)
    try:
        return slug(text)
    except InvalidInputError as error:
        raise _invalid(declared, f"{source} {text[:40]!r} makes no file name", f"Give another {source}.") from error


def _value(values: JsonObject, name: str) -> Json:
    return values.get(name, mapping_of(values.get("metadata")).get(name))


def _formatted(declared: EntryType, name: str, value: Json, spec: str) -> str:
    if not spec:
        return scalar_text(value)
    try:
        return format(value, spec) if isinstance(value, (int, float)) else format(text_of(value), spec)
    except (ValueError, OverflowError) as error:
        message = f"{name} {text_of(value)[:40]!r} does not fit the format {spec!r}"
        raise _invalid(declared, message, f"Give a {name} that fits.") from error


def _invalid(declared: EntryType, message: str, hint: str = "Correct file_pattern in kb.yaml.") -> InvalidInputError:
    return InvalidInputError(
        f"The file of a new {declared.name!r} cannot be named: {message}.", kind="schema", hint=hint
    )
