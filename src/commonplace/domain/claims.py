"""Claims: the values that a text states for a subject, by which two pages that state different ones are found.

A claim is a field (`Port: 8080`), a cell of a table, a definition, or a sentence with a number, a date, a version or a
URL. Its key is the subject without the value: two claims of one key with different values contradict each other. Code,
quotations and front matter state nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

MAX_CLAIMS = 2_000
"""Maximum number of claims of one page."""
MAX_VALUES = 3
"""Maximum number of values of a sentence; one with more is a list of figures, not a claim."""
MIN_WORDS = 5
"""Minimum number of words of a sentence beside its values."""
MAX_WORDS = 40
MAX_FIELD_CHARS = 80
"""Maximum number of characters of the value of a field or cell."""
MIN_SUBJECT_WORDS = 3
"""Minimum number of words of heading and field, or of row and column, together."""

_FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
_HEADING = re.compile(r"^ {0,3}(#{1,6})\s+(.*?)(?:\s*\{[^{}]*\})?\s*#*\s*$")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_FIELD = re.compile(r"^(?:\*\*|__)?([^\W_][\w /()'.-]{1,40}?)(?:\*\*|__)?\s?(?::|::)(?:\*\*|__)?\s+(\S.*)$")
_DEFINITION = re.compile(r"^:\s+(\S.*)$")
_UNIT = (
    r"(?:\s?(?:%|°C|°F|[kKMGT]i?B|ms|s|m|h|d|px|seconds?|minutes?|hours?|days?|weeks?|months?|years?|bytes?"
    r"|euros?|€|\$))?"
)
_VALUE = re.compile(
    r"(?P<url>https?://[^\s)>\]\"']+)"
    r"|(?P<date>\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}\s(?:January|February|March|April|May|June|July|August|September"
    r"|October|November|December)\s\d{4}\b)"
    r"|(?P<version>\bv?\d+(?:\.\d+)+(?:-[\w.]+)?\b)"
    rf"|(?P<number>(?<![\w.#/-])[$€]?\d[\d,]*(?:\.\d+)?{_UNIT}(?![\w/-]))"
    r"|(?P<bool>\b(?:true|false|enabled|disabled)\b)",
    re.IGNORECASE,
)
_HINT = re.compile(r"[0-9]|https?:|(?i:true|false|enabled|disabled)")
"""A text that may have one of these values; most have none."""
_YES_NO = re.compile(r"(?i)\A(?:yes|no|true|false|on|off|enabled|disabled|none|required|optional)\Z")
_NAME = re.compile(r"\A`?[\w.@/-]+`?(?:\s[\w.@/-]+){0,2}\Z")
_OF_CONTEXT = re.compile(
    r"(?i)(?:its?|this|these|that|those|they|there|here|he|she|we|you|if|when|for example|by default|returns?|in this"
    r"|the (?:default|following|remaining|first|second|last|next|above|below|member|function|method|value|name|return)"
    r"|as of|step)\b"
)
"""The beginning of a sentence whose subject is what stands around it."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*\[(])")
_MARKUP = re.compile(r"[*_`]|\[\^[^\]]*\]|!?\[|\]\([^()\s]*\)|\]\[[^\]]*\]|\]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_BLANK = re.compile(r"^\s*$")
_BLANKS = re.compile(r"\s+")


class PageClaim(NamedTuple):
    """A value that a page states for a subject."""

    key: str
    """The subject with the kinds of the values in their places; equal for all claims about it."""
    values: tuple[str, ...]
    """The stated values, in order."""
    line: int
    """Line from 1, counted from the beginning of the text."""
    subject: str
    """The subject as people read it."""
    heading: str = ""
    """The innermost heading above."""


_NO_TEXT = ("    ", "\t", ">", "<", ":")
"""Beginnings of lines of code, quotes, HTML and definitions."""


def claims_of(text: str) -> list[PageClaim]:
    """The claims of a body of Markdown, at most `MAX_CLAIMS`, by line."""
    return list(islice(_claims(list(_outside_code(text.split("\n")))), MAX_CLAIMS))


def claims_of_change(old: str, new: str) -> list[PageClaim]:
    """The claims in the changed part of a body, at most `MAX_CLAIMS`, by line: all that are not in the old body, too.

    A claim depends on the lines from one blank line to the next and on the heading above. So the rest of a long body is
    not read, unless the change begins or ends a block of code. What a changed heading is above belongs to the change.

    Args:
        old: The body before the change.
        new: The body after it.
    """
    lines, before = new.split("\n"), old.split("\n")
    start, same = _in_common(lines, before)
    changed = [*lines[start : len(lines) - same], *before[start : len(before) - same]]
    if any(map(_FENCE.match, changed)):
        return claims_of(new)
    outside = list(_outside_code(lines))
    end = _HEADING if any(map(_HEADING.match, changed)) else _BLANK
    first = next((at + 1 for at in range(start - 1, -1, -1) if _BLANK.match(outside[at])), 0)
    last = next((at for at in range(len(lines) - same, len(lines)) if end.match(outside[at])), len(lines))
    title = next(filter(None, map(_HEADING.match, reversed(outside[:first]))), None)
    claims = islice(_claims(outside[first:last], _plain(title[2]) if title else ""), MAX_CLAIMS)
    return [claim._replace(line=claim.line + first) for claim in claims]


def _in_common(lines: Sequence[str], other: Sequence[str]) -> tuple[int, int]:
    """The number of lines that two texts have in common at the beginning, and of those behind these at the end."""
    shorter = min(len(lines), len(other))
    start = next((at for at in range(shorter) if lines[at] != other[at]), shorter)
    rest = shorter - start
    return start, next((at for at in range(rest) if lines[-1 - at] != other[-1 - at]), rest)


def _claims(lines: Sequence[str], heading: str = "") -> Iterator[PageClaim]:
    """The claims of lines, those of code as blank ones, below a heading."""
    header, pending = list[str](), list[str]()
    began, before = 0, ""
    for number, line in enumerate([*lines, ""], 1):
        title, item, is_table = _HEADING.match(line), _ITEM.match(line), line.lstrip().startswith("|")
        is_text = bool(line.strip()) and not (title or is_table or line.startswith(_NO_TEXT))
        if item or not is_text:
            yield from _statements(pending, began, heading)
            pending = []
        if title:
            heading = _plain(title[2])
        elif is_table:
            cells = [_plain(cell) for cell in line.strip().strip("|").split("|")]
            yield from _row(header, cells, number, heading)
            header = header or cells
        elif is_text:
            began = began if pending else number
            pending.append(line[item.end() :] if item else line.strip())
        elif (definition := _DEFINITION.match(line)) and before:
            yield from _field("", before, definition[1], number)
        header = header if is_table else []
        before = "" if title or item or is_table else line.strip()
    yield from _statements(pending, began, heading)


def _outside_code(lines: Sequence[str]) -> Iterator[str]:
    """The lines, those of fenced code as blank ones."""
    fence = ""
    for line in lines:
        marker = _FENCE.match(line)
        yield "" if fence or marker else line
        if not fence:
            fence = marker[1] if marker else ""
        elif marker and marker[1].startswith(fence) and not line.strip().strip("`~"):
            fence = ""


def _statements(lines: Sequence[str], began: int, heading: str) -> Iterator[PageClaim]:
    if not lines:
        return
    if len(lines) == 1 and (field := _FIELD.match(lines[0])) and len(field[2]) <= MAX_FIELD_CHARS:
        yield from _field(heading, _plain(field[1]), field[2], began)
        return
    whole = " ".join(lines)
    for sentence in _SENTENCE.split(whole) if _HINT.search(whole) else ():
        if not _HINT.search(sentence):
            continue
        line = began + next((at for at, other_line in enumerate(lines) if sentence[:20] in other_line), 0)
        yield from _sentence(_plain(sentence), line, heading)


def _sentence(sentence: str, line: int, heading: str) -> Iterator[PageClaim]:
    values = list(_VALUE.finditer(sentence))
    if not values or len(values) > MAX_VALUES or _OF_CONTEXT.match(sentence):
        return
    words = _WORD.findall(_VALUE.sub(" ", sentence))
    if MIN_WORDS <= len(words) <= MAX_WORDS:
        masked = _VALUE.sub(lambda match: f"<{match.lastgroup}>", sentence)
        yield PageClaim(
            masked.rstrip(". ").casefold(), tuple(_normal(match[0]) for match in values), line, sentence, heading
        )


def _field(heading: str, name: str, value: str, line: int) -> Iterator[PageClaim]:
    value = _plain(value).rstrip(".")
    kind = _kind(value)
    if kind and len(_WORD.findall(f"{heading} {name}")) >= MIN_SUBJECT_WORDS:
        subject = " > ".join(filter(None, (heading, name)))
        yield PageClaim(f"field {subject.casefold()} <{kind}>", (_normal(value),), line, subject, heading)


def _row(header: Sequence[str], cells: Sequence[str], line: int, heading: str) -> Iterator[PageClaim]:
    if set("".join(cells)) <= set("-: "):
        return
    for column, value in list(zip(header, cells, strict=False))[1:]:
        kind = _kind(value)
        if kind not in {"", "name"} and len(_WORD.findall(f"{cells[0]} {column}")) >= MIN_SUBJECT_WORDS:
            subject = f"{cells[0]} > {column}"
            yield PageClaim(f"cell {subject.casefold()} <{kind}>", (_normal(value),), line, subject, heading)


def _kind(value: str) -> str:
    """The kind of the value of a field or cell; "" for a text that is no single value."""
    if len(value) > MAX_FIELD_CHARS:
        return ""
    whole = _VALUE.fullmatch(value)
    if whole:
        return whole.lastgroup or ""
    if _YES_NO.match(value):
        return "bool"
    return "name" if _NAME.match(value) else ""


def _normal(value: str) -> str:
    return _BLANKS.sub("", value).strip("`").rstrip(".,;").replace(",", "").casefold()


def _plain(text: str) -> str:
    return _BLANKS.sub(" ", _MARKUP.sub("", text)).strip()


def differs(claim: PageClaim, other: PageClaim) -> bool:
    """Whether two claims of one key state another value: exactly one of their values differs."""
    return sum(a != b for a, b in zip(claim.values, other.values, strict=False)) == 1
