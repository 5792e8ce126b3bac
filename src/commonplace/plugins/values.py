"""Values that plugins return, checked where they enter and copied: behind this module there is no foreign object.

Each function runs in the thread of the call that it checks, because to walk through a value is to run a plugin's code.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from enum import Enum
from itertools import islice
from typing import TypeAlias, TypeVar, cast

from commonplace.domain.json import Json

MAX_ITEMS = 10_000
"""Items of a mapping or list."""
MAX_DEPTH = 32
"""Mappings and lists within each other."""
MAX_INTEGER = 2**63
MAX_NAME = 200
"""Characters of a name."""
MAX_SHOWN_CHARS = 60
"""Characters of a name that a message repeats."""

_Item = TypeVar("_Item")
FaultSink: TypeAlias = Callable[[str], None]
"""Says that one item is left out, and why."""


class WrongValueError(Exception):
    """A value is not what is expected; the message says what it is, and what is."""


def wrong(value: object, expected: str) -> WrongValueError:
    """The error for a value.

    Args:
        value: What there is.
        expected: What there should be.
    """
    return WrongValueError(f"{kind_of(value)}; expected {expected}")


def kind_of(value: object) -> str:
    """What a value is, in a few words, without asking it."""
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
        WrongValueError: it is none, or too large.
    """
    if not isinstance(value, Mapping):
        raise wrong(value, expected)
    return _few(cast("Mapping[object, object]", value).items())


def items(value: object, expected: str) -> list[object]:
    """The items of a list, tuple, set or generator.

    Raises:
        WrongValueError: it is none, or too large.
    """
    if isinstance(value, (str, bytes, bytearray, Mapping)) or not isinstance(value, Iterable):
        raise wrong(cast("object", value), expected)
    return _few(cast("Iterable[object]", value))


def named(value: object, expected: str, tell: FaultSink) -> list[tuple[str, object]]:
    """The items of a mapping whose keys are names; others are left out.

    Raises:
        WrongValueError: it is no mapping, or too large.
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
    """Whether a value can name something."""
    return isinstance(value, str) and 0 < len(value) <= MAX_NAME and value.isprintable() and bool(value.strip())


def text(value: object, what: str) -> str:
    """A text; "" for None.

    Raises:
        WrongValueError: it is something else.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        raise WrongValueError(f"{what} is {kind_of(value)}; expected a text")
    return _clean(value)


def plain(value: object, depth: int = 0) -> Json:
    """A value as JSON has it, copied; dates become texts, tuples and sets lists, and what is no number nothing.

    Raises:
        WrongValueError: it holds what JSON has not, or is too deep or too large.
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
    """A mapping as JSON has it, copied.

    Raises:
        WrongValueError: as `plain`, or it is no mapping.
    """
    if not isinstance(value, Mapping):
        raise wrong(value, expected)
    return cast("dict[str, Json]", plain(cast("object", value)))


def function(value: object, arguments: int, expected: str) -> Callable[..., object]:
    """Something that can be called with so many arguments.

    Raises:
        WrongValueError: it cannot.
    """
    if not callable(value) or isinstance(value, type):
        raise wrong(value, expected)
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):  # some that are not written in Python do not say what they take
        return value
    try:
        signature.bind(*[None] * arguments)
    except TypeError as error:
        raise WrongValueError(f"a function that takes other arguments ({error}); expected {expected}") from error
    return value


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
    """Text that can be encoded: halves of surrogate pairs are replaced."""
    return str.encode(value, "utf-8", "replace").decode()


def _few(found: Iterable[_Item]) -> list[_Item]:
    kept = list(islice(found, MAX_ITEMS + 1))
    if len(kept) > MAX_ITEMS:
        raise WrongValueError(f"more than {MAX_ITEMS:,} items; expected fewer")
    return kept
