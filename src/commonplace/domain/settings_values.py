"""Lenient conversions of values in a configuration file: a value of the wrong type counts as missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from commonplace.domain.json import Json


def mapping_of(value: Json) -> Mapping[str, Json]:
    """The value if it is a mapping; otherwise an empty mapping."""
    return value if isinstance(value, Mapping) else {}


def list_of(value: Json) -> Sequence[Json]:
    """The value if it is a list; otherwise an empty list."""
    return value if isinstance(value, (list, tuple)) else ()


def text_of(value: Json) -> str:
    """A scalar as text; "" for null, lists and mappings."""
    if isinstance(value, str):
        return value
    return "" if value is None or isinstance(value, (Mapping, Sequence)) else str(value)


def scalar_text(value: Json) -> str:
    """A scalar as YAML writes it: `true` for a boolean; "" for null, lists and mappings."""
    return str(value).lower() if isinstance(value, bool) else text_of(value)


def number_of(value: Json) -> float | None:
    """The value if it is a number; otherwise None."""
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def bool_of(value: Json) -> bool | None:
    """The value if it is a boolean; otherwise None."""
    return value if isinstance(value, bool) else None
