"""The rule for one field: its type and limits, declared by a type's `fields` or by `validation.rules`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from commonplace.domain.frontmatter import text_items
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.settings_values import bool_of, list_of, mapping_of, number_of, scalar_text, text_of

FIELD_TYPES = (
    "text",
    "number",
    "date",
    "datetime",
    "checkbox",
    "select",
    "multi-select",
    "object-ref",
    "list",
    "tags",
)
TYPE_ALIASES: Mapping[str, str] = {"string": "text", "str": "text"}
"""Aliases of field types."""
OPTION_KEYS = ("options", "values", "enum")
"""Keys in a declaration that list the valid values of a field."""
_LIMITS = frozenset({"range", "min", "max"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRule:
    """The rule for one field."""

    type: str = "text"
    required: bool = False
    default: Json = None
    options: tuple[str, ...] = ()
    allow_other: bool = False
    """Whether a value outside of the options is only a warning, even if the base enforces its rules."""
    min: float | None = None
    max: float | None = None
    min_length: float | None = None
    max_length: float | None = None
    """Maximum length of a text in characters, or of a list in items; `min_length` is the minimum. None: unlimited."""
    format: str = ""
    """A named format (`formats.FORMATS`, regardless of case) or a regular expression for the whole text; "": none."""
    pattern: str = ""
    """A regular expression that the whole text must match; "" for none."""
    target_types: tuple[str, ...] = ()
    """The types of entries that an `object-ref` may name; empty for all."""
    items: FieldRule | None = None
    """The rule for each item of a list."""
    enforce: bool | None = None
    """Whether violations reject a write; None for the value of `validation.enforce`."""
    message: str = ""
    """Message of the base's owner for a violation; "" for none."""


def field_rule(body: JsonObject, default_type: str = "text") -> FieldRule:
    """The rule of a declaration. Unsupported parts are omitted; `problems` lists them."""
    kind = text_of(body.get("type")) or default_type
    kind = TYPE_ALIASES.get(kind, kind)
    low, high = _range(body)
    declared = next((body[key] for key in OPTION_KEYS if body.get(key)), None)
    items = body.get("items")
    return FieldRule(
        type=kind if kind in FIELD_TYPES else "text",
        required=body.get("required") is True,
        default=body.get("default"),
        options=_options(declared),
        allow_other=body.get("allow_other") is True,
        min=low,
        max=high,
        min_length=number_of(body.get("min_length")),
        max_length=number_of(body.get("max_length")),
        format=text_of(body.get("format")),
        pattern=text_of(body.get("pattern")),
        target_types=text_items(body.get("target_type")),
        items=field_rule(mapping_of(items) or {"type": text_of(items)}) if items else None,
        enforce=bool_of(body.get("enforce")),
        message=text_of(body.get("message")),
    )


def rules_of(value: Json) -> tuple[tuple[str, FieldRule], ...]:
    """The rules of `validation.rules` with their fields, in order; the default type of a rule with bounds is number."""
    return tuple(
        (name, field_rule(body, "number" if body.keys() & _LIMITS else "text"))
        for body in map(mapping_of, list_of(value))
        if (name := text_of(body.get("field")))
    )


def _options(value: Json) -> tuple[str, ...]:
    texts = map(scalar_text, value) if isinstance(value, (list, tuple)) else text_items(value)
    return tuple(text for text in texts if text)


def _range(body: JsonObject) -> tuple[float | None, float | None]:
    """The bounds of a number: `range: [low, high]`, otherwise `min` and `max`."""
    bounds = list_of(body.get("range"))
    if len(bounds) == 2:  # noqa: PLR2004 - a range has two ends
        return number_of(bounds[0]), number_of(bounds[1])
    return number_of(body.get("min")), number_of(body.get("max"))
