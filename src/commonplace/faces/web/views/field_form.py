"""The form for the front matter of a page whose type a `kb.yaml` declares: one input for each field of one value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from commonplace.domain.addresses import Address
from commonplace.domain.documents import Frontmatter
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.frontmatter import set_fields
from commonplace.domain.json import Json
from commonplace.domain.schema import FieldRule
from commonplace.services.collections import Collection
from commonplace.services.typed_entries import current_schema
from commonplace.services.writes.documents import read_to_edit

InputKind: TypeAlias = Literal["text", "number", "date", "checkbox", "select"]
FIELD, SHOWN = "field:", "shown:"
"""Beginnings of the names of inputs: the value, and the value that was shown."""
_KINDS: Mapping[str, InputKind] = {
    "text": "text",
    "number": "number",
    "date": "date",
    "checkbox": "checkbox",
    "select": "select",
}
"""The kind of input by type of field. Fields of other types, such as lists, are edited in the text."""
MAX_DIGITS = 30


@dataclass(frozen=True, slots=True)
class FieldInput:
    """An input of the form."""

    name: str
    kind: InputKind
    value: str
    """The value that is shown; "" for none."""
    required: bool
    options: Sequence[str]
    """The values to choose from, the present one among them; empty for any other kind than `select`."""


def inputs_of(collection: Collection, address: Address, text: str) -> tuple[str, Sequence[FieldInput]]:
    """The type of a page and the inputs for its fields.

    "" and none if no `kb.yaml` declares it, if it cannot be read, or if its fields are those of a tiddler.

    Args:
        collection: Collection of the page.
        address: Address of the page.
        text: The text of the page as it is being edited.
    """
    schema = current_schema(collection)
    document = read_to_edit(collection, address, text.encode("utf-8", "replace"))
    values = document.frontmatter.values
    declared = schema.types.get(str(values.get("type") or "")) if schema.values is not None else None
    if declared is None or not _has_form(document.frontmatter):
        return "", ()
    inputs = [_input(name, rule, values.get(name)) for name, rule in declared.fields.items()]
    return declared.name, [field_input for field_input in inputs if field_input is not None]


def _has_form(own: Frontmatter) -> bool:
    """Whether a front matter can be read, and is none of TiddlyWiki's."""
    is_read = all(finding.severity.value != "error" for finding in own.findings)
    return is_read and not (own.is_fields or own.beside)


def _input(name: str, rule: FieldRule, value: Json) -> FieldInput | None:
    """The input for a field; None for a field or a value that has none."""
    kind = _KINDS.get(rule.type)
    if kind is None or isinstance(value, Mapping | list | tuple):
        return None
    shown = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    if kind == "checkbox" and value not in {None, True, False}:
        return None
    present = [shown] if shown and shown not in rule.options else []
    options: Sequence[str] = [*present, *rule.options] if kind == "select" else ()
    return FieldInput(name, "text" if kind == "date" and not _is_date(shown) else kind, shown, rule.required, options)


def _is_date(text: str) -> bool:
    """Whether a browser's input of a date can show a value."""
    parts = text.split("-")
    return not text or ([len(part) for part in parts] == [4, 2, 2] and all(part.isdecimal() for part in parts))


def with_fields(collection: Collection, address: Address, text: str, form: Mapping[str, str]) -> str:
    """The text with the values that were changed in the form; all other bytes of it stay.

    Raises:
        InvalidInputError: a number is none, or the fields cannot be changed, such as those in a file beside the page.
    """
    changes: dict[str, Json] = {}
    for key, shown in form.items():
        name = key.removeprefix(SHOWN)
        if name == key:
            continue
        kind, _, before = shown.partition(":")
        value = form.get(
            f"{FIELD}{name}", "" if kind == "checkbox" else before
        ).strip()  # a box is sent only if checked
        if value != before:
            changes[name] = _value(name, kind, value)
    if not changes:
        return text
    document = read_to_edit(collection, address, text.encode("utf-8", "surrogatepass"))
    return set_fields(document, changes).decode("utf-8", "surrogatepass")


def _value(name: str, kind: str, value: str) -> Json:
    if not value:
        return False if kind == "checkbox" else None
    if kind == "checkbox":
        return True
    if kind != "number":
        return value
    try:
        return int(value) if value.lstrip("-").isdecimal() and len(value) <= MAX_DIGITS else float(value)
    except ValueError as error:
        raise InvalidInputError(f"{name} is no number: {value[:40]!r}.", kind="form", hint="Write digits.") from error
