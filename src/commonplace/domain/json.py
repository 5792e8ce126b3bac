"""The type of every JSON value that the product returns."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
"""Any finite JSON value. Floats are never NaN or infinite, integers are at most 2**63 in size, dates are strings."""

JsonObject: TypeAlias = Mapping[str, Json]

_SUSPECT = re.compile(rb"NaN|Infinity|[0-9.][eE]\+?[0-9]{3}|[0-9]{200}")
"""Matches in every text with a non-finite number, which most parsers accept although it is not JSON (RFC 8259, 6)."""


class NotFiniteError(ValueError):
    """JSON text contains NaN or Infinity, or a number beyond the range of a float."""

    def __init__(self, message: str, *, is_json: bool) -> None:
        super().__init__(message)
        self.is_json = is_json
        """Whether the text is valid JSON: true for a number out of range, false for NaN and Infinity."""


def require_finite(raw: bytes) -> None:
    """Reject JSON text with a non-finite number. Text that is invalid for other reasons is accepted.

    Raises:
        NotFiniteError: the text contains such a number.
    """
    if _SUSPECT.search(raw):
        try:
            json.loads(raw, parse_constant=_refused, parse_float=_finite, parse_int=str)
        except NotFiniteError:
            raise
        except (ValueError, RecursionError):
            return


def finite_json(raw: bytes | str) -> object:
    """The value of JSON text from another program.

    Raises:
        ValueError: the text is not JSON, is nested too deeply, or contains a non-finite number.
    """
    try:
        return cast("object", json.loads(raw, parse_constant=_refused, parse_float=_finite))
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def equal_json(element: Json, other: Json) -> bool:
    """Whether two values and their types are equal: 1, 1.0 and true differ. The order of keys does not count."""
    return json.dumps(element, sort_keys=True) == json.dumps(other, sort_keys=True)


def _refused(name: str) -> float:
    raise NotFiniteError(f"{name} is no JSON", is_json=False)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise NotFiniteError("a number in it is too large", is_json=True)
    return value


# Lenient conversions of values in a configuration file: a value of the wrong type counts as missing.


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
