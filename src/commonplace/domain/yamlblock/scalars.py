"""YAML scalars: their values, and a spelling that every YAML reader parses alike.

YAML 1.1 and 1.2 disagree about many plain scalars (`no`, `010`, `12:30`, `0o7`, `1e3`, `1_000`). Only scalars that both
versions parse alike become null, booleans and numbers. All others, including dates, remain strings.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping

from commonplace.domain.json import Json

MAX_INTEGER = 2**63 - 1

Scalar = bool | int | float | str | None

_WORDS: Mapping[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,18})")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]+)?")

_RESERVED = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_NUMBER_LIKE = re.compile(r"[-+]?(?:0[xXoObB])?[0-9][0-9a-fA-F_.:]*(?:[eE][-+]?[0-9]*)?")
_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2})?)?"
)
_FIRST = re.compile(r"[^\s\-?:,\[\]{}#&*!|>'\"%@`=<~.]")
_ENDS_PLAIN = re.compile(r":(?:\s|\Z)|\s#|\s\Z|[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_ENDS_FLOW = re.compile(r"[,\[\]{}]")
_NOT_PRINTABLE = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def plain_value(text: str) -> Json:
    """The value of an unquoted scalar: null, a boolean, a finite number of at most 64 bits, otherwise the text."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    if _INTEGER.fullmatch(text):
        integer = int(text)
        return integer if -MAX_INTEGER - 1 <= integer <= MAX_INTEGER else text
    if _FLOAT.fullmatch(text):
        number = float(text)
        return number if math.isfinite(number) else text
    return text


def scalar_text(value: Scalar, *, quote: str = "", flow: bool = False) -> str:
    """A scalar as one line of YAML.

    Args:
        value: A finite number, a boolean, None or a text.
        quote: The quotation mark that a text should have (`"` or `'`); "" to quote only if necessary.
        flow: Whether the scalar is inside brackets.
    """
    if isinstance(value, str):
        if quote == "'" and value.isprintable():
            return "'" + value.replace("'", "''") + "'"
        return value if not quote and is_plain(value, flow=flow) else _double_quoted(value)
    if isinstance(value, float):
        return _float_text(value)
    return json.dumps(value)


def is_plain(text: str, *, flow: bool = False) -> bool:
    """Whether every reader parses the unquoted text as itself (a date stays a date)."""
    if not _FIRST.match(text) or _ENDS_PLAIN.search(text) or (flow and _ENDS_FLOW.search(text)):
        return False
    if text.casefold() in _RESERVED:
        return False
    return not _NUMBER_LIKE.fullmatch(text) or _DATE.fullmatch(text) is not None


def _float_text(value: float) -> str:
    """A float as text with a decimal point, which YAML 1.1 requires before an exponent."""
    mantissa, e, exponent = repr(value).partition("e")
    return f"{mantissa}.0e{exponent}" if e and "." not in mantissa else mantissa + e + exponent


def _double_quoted(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    return _NOT_PRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)
