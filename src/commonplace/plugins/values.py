"""Validates and copies values that plugins return, so that no other module handles foreign objects.

Each function runs in the thread of the call, because iterating over a value can run a plugin's code.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from enum import Enum
from itertools import islice
from typing import TypeAlias, TypeVar, cast

from commonplace.domain.json import Json
from commonplace.plugins.calls import error_summary, outcome_of

MAX_ITEMS = 10_000
"""Maximum number of items of a mapping or list."""
MAX_DEPTH = 32
"""Maximum nesting depth."""
MAX_INTEGER = 2**63
MAX_NAME = 200
"""Maximum length of a name in characters."""
MAX_SHOWN_CHARS = 60
"""Maximum length of a name in a message, in characters."""

_Item = TypeVar("_Item")
FaultSink: TypeAlias = Callable[[str], None]
"""Callback for a skipped item; its argument is the reason."""


class WrongValueError(Exception):
    """A value is invalid. The message states the value and the valid values."""


def wrong(value: object, expected: str) -> WrongValueError:
    """The error for a value.

    Args:
        value: The value.
        expected: Description of the valid values.
    """
    return WrongValueError(f"{kind_of(value)}; expected {expected}")


def built(make: Callable[[], _Item], what: str, tell: FaultSink) -> list[_Item]:
    """Convert a plugin's value to an item. Returns a list with the item; empty if an exception was raised and reported.

    Args:
        make: Creates the item; may run the plugin's code.
        what: Name of the value in the report.
        tell: Receives the report.
    """
    outcome = outcome_of(make)
    error = outcome.exception()
    if error is None:
        return [outcome.result()]
    tell(f"{what} is {error}" if isinstance(error, WrongValueError) else f"{what} failed: {error_summary(error)}")
    return []


def kind_of(value: object) -> str:
    """A short description of a value, without calling its methods."""
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, type):
        return f"the class {value.__name__[:MAX_SHOWN_CHARS]}"
    if inspect.isroutine(value):
        return "a function"
    return f"a value of type {type(value).__name__[:MAX_SHOWN_CHARS]}"


def shown(value: object) -> str:
    """A name in a message."""
    return repr(value[:MAX_SHOWN_CHARS]) if isinstance(value, str) else kind_of(value)


def pairs(value: object, expected: str) -> list[tuple[object, object]]:
    """The items of a mapping.

    Raises:
        WrongValueError: the value is not a mapping, or too large.
    """
    if not isinstance(value, Mapping):
        raise wrong(value, expected)
    return _few(cast("Mapping[object, object]", value).items())


def items(value: object, expected: str) -> list[object]:
    """The items of a list, tuple, set or generator.

    Raises:
        WrongValueError: the value is none of these, or too large.
    """
    if isinstance(value, (str, bytes, bytearray, Mapping)) or not isinstance(value, Iterable):
        raise wrong(cast("object", value), expected)
    return _few(cast("Iterable[object]", value))


def named(value: object, expected: str, tell: FaultSink) -> list[tuple[str, object]]:
    """The items of a mapping whose keys are names; others are reported and skipped.

    Raises:
        WrongValueError: the value is not a mapping, or too large.
    """
    kept: list[tuple[str, object]] = []
    for key, one in pairs(value, expected):
        if is_name(key):
            kept.append((cast("str", key), one))
        else:
            tell(
                f"the name of an item is {shown(key)}; expected a text of 1 to {MAX_NAME} characters that can be shown"
            )
    return kept


def is_name(value: object) -> bool:
    """Whether a value is a valid name."""
    return isinstance(value, str) and 0 < len(value) <= MAX_NAME and value.isprintable() and bool(value.strip())


def text(value: object, what: str) -> str:
    """A string; "" for None.

    Raises:
        WrongValueError: the value is of another type.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        raise WrongValueError(f"{what} is {kind_of(value)}; expected a text")
    return _clean(value)


def plain(value: object, depth: int = 0) -> Json:
    """A copy as JSON: dates become strings, tuples and sets lists, non-finite numbers None.

    Raises:
        WrongValueError: a value has no JSON form, is nested too deep, or is too large.
    """
    if depth > MAX_DEPTH:
        raise WrongValueError(f"it is deeper than {MAX_DEPTH} levels; expected less")
    if isinstance(value, Enum):
        return plain(value.value, depth + 1)
    if isinstance(value, Mapping):
        found = cast("Mapping[object, object]", value)
        return {_key(key): plain(one, depth + 1) for key, one in _few(found.items())}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(one, depth + 1) for one in _few(cast("Iterable[object]", value))]
    return _scalar(value)


def plain_object(value: object, expected: str) -> dict[str, Json]:
    """A copy of a mapping as JSON.

    Raises:
        WrongValueError: same as `plain`; or the value is not a mapping.
    """
    if not isinstance(value, Mapping):
        raise wrong(value, expected)
    return cast("dict[str, Json]", plain(cast("object", value)))


def function(value: object, arguments: int, expected: str, *, least: int | None = None) -> Callable[..., object]:
    """A callable that accepts this number of arguments, or at least `least`.

    Raises:
        WrongValueError: the value is not such a callable.
    """
    if not callable(value) or isinstance(value, type):
        raise wrong(value, expected)
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):  # some functions not written in Python have no signature
        return value
    taken = len(fitting(value, [None] * arguments)) if least is not None else arguments
    try:
        signature.bind(*[None] * max(taken, least or 0))
    except TypeError as error:
        raise WrongValueError(f"a function that takes other arguments ({error}); expected {expected}") from error
    return value


def fitting(method: Callable[..., object], arguments: Sequence[object]) -> Sequence[object]:
    """The arguments that a plugin's method takes: all, or without the last ones that it does not know."""
    for count in range(len(arguments), -1, -1):
        try:
            inspect.signature(method).bind(*arguments[:count])
        except (TypeError, ValueError):
            continue
        return arguments[:count]
    return arguments


def _scalar(value: object) -> Json:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, int):
        if abs(value) > MAX_INTEGER:
            raise WrongValueError("a whole number of more than 64 bits; expected a smaller one")
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, date):
        return value.isoformat()
    raise wrong(value, "text, numbers, true, false, None, lists and dicts with texts as keys")


def _key(value: object) -> str:
    if not isinstance(value, str):
        raise wrong(value, "a text as key")
    return _clean(value)


def _clean(value: str) -> str:
    """Text that can be encoded: lone surrogates are replaced."""
    return str.encode(value, "utf-8", "replace").decode()


def _few(found: Iterable[_Item]) -> list[_Item]:
    kept = list(islice(found, MAX_ITEMS + 1))
    if len(kept) > MAX_ITEMS:
        raise WrongValueError(f"more than {MAX_ITEMS:,} items; expected fewer")
    return kept
