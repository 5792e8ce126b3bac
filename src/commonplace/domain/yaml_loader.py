"""Loads untrusted YAML as JSON values.

The values are built from the parser's events without recursion, so that neither nesting nor repetition costs more than
the length of the text: aliases are not followed, depth and size are limited, and only JSON types are constructed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from yaml import YAMLError
from yaml.cyaml import CBaseLoader
from yaml.error import MarkedYAMLError
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
)
from yaml.reader import ReaderError

from commonplace.domain.json import Json

MAX_YAML_CHARS = 1_048_576
"""Maximum length of a block in characters.

The largest real frontmatter has about 100,000: keywords for every function of a library.
"""
MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class YamlProblem:
    """A problem of a YAML text. Line and column count from 0."""

    rule: str
    """`bad_yaml` (nothing could be read), `duplicate_key` or `yaml_alias`."""
    message: str
    key: str = ""
    """The outermost key with the problem; "" for none."""
    line: int = 0
    column: int = 0


@dataclass(frozen=True, slots=True)
class LoadedYaml:
    """The parsed value of a YAML text, with its problems."""

    value: Json = None
    problems: tuple[YamlProblem, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether the text could not be parsed."""
        return any(problem.rule == "bad_yaml" for problem in self.problems)


def load(text: str) -> LoadedYaml:
    """Load one YAML document. Never raises. The last of repeated keys counts; an alias becomes null."""
    if len(text) > MAX_YAML_CHARS:
        return _failure(f"it is longer than {MAX_YAML_CHARS:,} characters")
    values = read_plain(text)
    return parse(text) if values is None else LoadedYaml(values)


def parse(text: str) -> LoadedYaml:
    """Load one YAML document as `load` does, but always by the parser and without a limit on the length."""
    builder = _Builder()
    try:
        for event in events(text):
            builder.take(event)
    except _RefusedError as error:
        return _failure(error.reason, error.line, error.column)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = str(error.problem or error.context)
        return _failure(reason, mark.line, mark.column) if mark else _failure(reason)
    except ReaderError as error:
        return _failure("it contains a control character", text.encode()[: error.position].count(b"\n"))
    except YAMLError:
        return _failure("it cannot be parsed")
    return LoadedYaml(builder.root, tuple(builder.problems))


def events(text: str) -> Iterator[Event]:
    """The parser's events for a text of one document.

    Raises:
        YAMLError: the text is not YAML, or contains a second document.
    """
    parser = CBaseLoader(text)
    started = False
    while (event := parser.get_event()) is not None:
        if isinstance(event, DocumentStartEvent):
            if started:
                raise _RefusedError("it contains a second document", event)
            started = True
        yield event


class _RefusedError(YAMLError):
    """Valid YAML that is not supported."""

    def __init__(self, reason: str, event: Event) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line, self.column = position(event)


def position(event: Event) -> tuple[int, int]:
    """Line and column, from 0, of an event's start."""
    mark = event.start_mark
    return (mark.line, mark.column) if mark else (0, 0)


def _failure(reason: str, line: int = 0, column: int = 0) -> LoadedYaml:
    return LoadedYaml(None, (YamlProblem("bad_yaml", reason, line=line, column=column),))


@dataclass(slots=True)
class _Frame:
    """An open list or mapping."""

    value: list[Json] | dict[str, Json]
    is_key: bool
    """Whether the value is a mapping's key; JSON has strings there."""
    key: str | None = None
    """The key of the next value; None if a key is next."""
    latest: str = ""
    """The most recent key."""


@dataclass(slots=True)
class _Builder:
    """Builds the value from events; `root` is the whole value after the last event."""

    root: Json = None
    problems: list[YamlProblem] = field(default_factory=list[YamlProblem])
    _stack: list[_Frame] = field(default_factory=list[_Frame])

    def take(self, event: Event) -> None:
        """Add an event to the value."""
        if isinstance(event, ScalarEvent):
            self._add(plain_value(event.value) if event.implicit[0] else event.value, event.value, event)
        elif isinstance(event, CollectionEndEvent):
            frame = self._stack.pop()
            if frame.is_key:
                self._add_key(json.dumps(frame.value, ensure_ascii=False), event)
        elif isinstance(event, CollectionStartEvent):
            self._begin(event)
        elif isinstance(event, AliasEvent):
            text = f"*{event.anchor}"
            self._report("yaml_alias", "an alias is not followed", event, text if self._awaits_key() else "")
            self._add(None, text, event)

    def _begin(self, event: CollectionStartEvent) -> None:
        if len(self._stack) >= MAX_DEPTH:
            raise _RefusedError(f"it is nested deeper than {MAX_DEPTH} levels", event)
        made: list[Json] | dict[str, Json] = {} if isinstance(event, MappingStartEvent) else []
        is_key = self._awaits_key()
        if not is_key:
            self._add(made, "", event)
        self._stack.append(_Frame(made, is_key))

    def _awaits_key(self) -> bool:
        return bool(self._stack) and isinstance(self._stack[-1].value, dict) and self._stack[-1].key is None

    def _add(self, value: Json, text: str, event: NodeEvent) -> None:
        if not self._stack:
            self.root = value
            return
        frame = self._stack[-1]
        if isinstance(frame.value, list):
            frame.value.append(value)
        elif frame.key is None:
            self._add_key(text, event)
        else:
            frame.value[frame.key] = value
            frame.key = None

    def _add_key(self, key: str, event: Event) -> None:
        frame = self._stack[-1]
        if key in frame.value:
            self._report("duplicate_key", f"the key {key[:60]!r} is repeated", event, key)
        frame.key = frame.latest = key

    def _report(self, rule: str, message: str, event: Event, key: str = "") -> None:
        inside = len(self._stack) > 1 or (bool(self._stack) and not key)
        top = self._stack[0].latest if inside else key
        line, column = position(event)
        self.problems.append(YamlProblem(rule, message, top, line, column))


# Parses the most common frontmatter, lines of `key: value`, without a YAML parser.
#
# Nine of ten real blocks have this form, and take a quarter of the time this way. All other blocks are left to the
# parser.


_QUOTED = r"[ !#-\[\]-~\u00a1-\u1fff\u3000-\ud7ff]*+"
"""Text between double quotation marks without escapes, YAML line breaks and characters that YAML rejects."""


def read_plain(text: str) -> dict[str, Json] | None:
    """The values of a block of `key: value` lines with texts, numbers, words or lists of quoted texts; else None."""
    values: dict[str, Json] = {}
    understood = _line().fullmatch
    for line in text.split("\n"):
        stripped = line.rstrip(" \r")
        if not stripped:
            continue
        match = understood(stripped)
        if not match:
            return None
        key, plain, quoted, listed = match.groups()
        if key in values:
            return None
        if plain is not None:
            values[key] = plain_value(plain)
        else:
            values[key] = listed.split('", "') if quoted is None else quoted
    return values or None


@cache
def _line() -> re.Pattern[str]:
    """Pattern of a supported line. Compiled lazily to keep start-up fast.

    Atomic groups, here and elsewhere: Python before 3.11.5 has a bug in `*+` after alternatives.
    """
    return re.compile(
        r"(?P<key>[A-Za-z_](?:[A-Za-z0-9_.\-]| (?=[A-Za-z0-9])){0,100}): +(?:"
        # A colon before a blank, and a blank before `#` (a comment), end a plain scalar.
        r"(?P<plain>[A-Za-z0-9\u00c0-\u1fff\u3040-\ud7ff]"
        r"(?>(?:[!\"$-9;-~\u00a1-\u1fff\u3000-\ud7ff]|:(?! |\Z)|(?<! )\#| (?! |\Z))*))"
        rf'|"(?P<quoted>{_QUOTED})"'
        rf'|\["(?P<list>{_QUOTED}(?>(?:", "{_QUOTED})*))"\])'
    )


# YAML scalars: their values, and a spelling that every YAML reader parses alike.
#
# YAML 1.1 and 1.2 disagree about many plain scalars (`no`, `010`, `12:30`, `0o7`, `1e3`, `1_000`). Only scalars that
# both versions parse alike become null, booleans and numbers. All others, including dates, remain strings.


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
    return _NOT_PRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)
