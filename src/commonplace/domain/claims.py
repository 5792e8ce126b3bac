"""Claims: the values that a text states for a subject, by which two pages that state different ones are found.

A claim is a field (`Port: 8080`), a cell of a table, a definition, or a sentence with a number, a date, a version or a
URL. Its key is the subject without the value: two claims of one key with different values contradict each other. Code,
quotations and front matter state nothing here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import NamedTuple, cast

from commonplace.domain.words.grams import SPACELESS, has_runs, without_grams

MAX_CLAIMS = 2_000
"""Maximum number of claims of one page."""
MAX_VALUES = 5
"""Maximum number of values of a sentence; one with more is a list of figures, not a claim."""
MIN_WORDS = 6
"""Minimum number of words of a sentence beside its values."""
MIN_WORDS_BELOW_HEADING = 3
"""The same for a sentence below an equal heading."""
MAX_WORDS = 60
MAX_FIELD_CHARS = 80
"""Maximum number of characters of the value of a field or cell."""
MIN_SUBJECT_WORDS = 3
"""Minimum number of words of heading and field, or of row and column, together."""

_FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
_HEADING = re.compile(r"^ {0,3}(#{1,6})(?:\s+(\S.*)|\s*)$")
_ATTRIBUTES = re.compile(r"\{[^{}]*\}\Z")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_FIELD = re.compile(
    r"^(?:\*\*|__)?([^\W_][\w /()'.-]{1,40}?)(?:\*\*|__)?\s?(?:::?(?:\*\*|__)?\s+|(?<!\d)\uff1a(?:\*\*|__)?\s*)(\S.*)$"
)
_NOTE = re.compile(r"^>\s*\[!\w+\]")
"""The beginning of a note, which is written like a quotation, but says what the page says."""
_DEFINITION = re.compile(r"^:\s+(\S.*)$")
_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS = {word: str(number) for number, word in enumerate(_WORDS, 2)}
_NUMBER_WORDS = rf"\b(?:{'|'.join(_WORDS)})\b"
_OTHER_WORD = rf"[^\W{SPACELESS}]"
"""A letter, digit or underscore of a script with blanks between words; `18℃に` ends its value before the `に`."""
_PREFIXES = dict(zip("pnuµμmcdhkMG", (-12, -9, -6, -6, -6, -3, -2, -1, 2, 3, 6, 9), strict=True))
"""Powers of ten of the prefixes of units; the micro sign and the Greek letter are both written."""
_PREFIXED = {
    "m": "nµμumcdk", "g": "pnµμumk", "l": "nµμumcdh", "L": "nµμumcdh", "mol": "nµμumk", "M": "pnµμum", "Hz": "mkMG",
    "W": "nµμumkMG", "V": "nµμumkM", "A": "pnµμumk", "Pa": "mhkMG", "J": "mkM", "Wh": "kMG", "eV": "mkMG", "bar": "mk",
    "K": "mk", "Ω": "mkM", "N": "mk",
}  # fmt: skip
"""Prefixes of the units that are written with capitals or small letters on purpose; `mM` is not `mm`."""
_OF_MEASURE: Mapping[str, tuple[str, Fraction]] = {
    f"{prefix}{unit}": ("L" if unit == "l" else unit, Fraction(10) ** _PREFIXES.get(prefix, 0))
    for unit, prefixes in _PREFIXED.items()
    for prefix in ("", *prefixes)
}
_SPACELESS_UNITS: tuple[tuple[str, tuple[tuple[str, int | Fraction], ...]], ...] = (
    ("秒 秒間 秒钟 秒鐘", (("s", 1),)),
    ("分 分間 分钟 分鐘", (("s", 60),)),
    ("時間 小时 小時", (("s", 3_600),)),
    ("日間 天", (("s", 86_400),)),
    ("週間 周 週", (("s", 604_800),)),
    ("度", (("度", 1), ("°c", 1), ("°f", 1))),
    ("パーセント", (("%", 1),)),
    ("円 日元", (("jpy", 1),)),
    ("元", (("cny", 1),)),
    ("¥", (("jpy", 1), ("cny", 1))),
    ("毫克 ミリグラム", (("g", Fraction(1, 1000)),)),
    ("克 グラム", (("g", 1),)),
    ("公斤 千克 キログラム", (("g", 1_000),)),
    ("毫升 ミリリットル", (("L", Fraction(1, 1000)),)),
    ("升 リットル", (("L", 1),)),
)
"""The units of Chinese and Japanese texts with their meanings; `度` is a degree of any kind."""
_SPACELESS_NAMES = sorted((name for names, _ in _SPACELESS_UNITS for name in names.split()), key=len, reverse=True)
_OTHER_UNITS = ("rpm", "mph", "ft", "lb", "oz", "ppm", "ppb", "dpi", "EUR", "USD", "GBP", "CHF", "JPY", "t")
_UNIT_NAME = (
    r"(?:%|°C|°F|[\u2103\u2109\uff05]|[kKMGT]i?B|ms|s|m|h|d|px|sec|seconds?|min|minutes?|hrs?|hours?|days?|weeks?"
    rf"|months?|years?|bytes?|bits?|euros?|dollars?|€|\$|(?-i:{'|'.join((*_OF_MEASURE, *_OTHER_UNITS))}|[x\u00d7]\s?g)"
    rf"|{'|'.join(_SPACELESS_NAMES)})"
)
_UNIT = rf"(?:[\s-]?{_UNIT_NAME}(?:/(?:{_UNIT_NAME}|[\u65e5\u56de\u6b21\u4eba])){{0,2}})"
_SIGN = r"(?:[-+\u2212\u2013](?<![^\s(|:=<>~].)|\bminus\s)"
"""A sign before a number; a dash between two words or numbers is none."""
_MONEY = "$€\u00a5\uffe5"
_BEFORE = rf"(?:(?=[\d{_MONEY}])(?<!{_OTHER_WORD})(?<![.#/-])|{_SIGN}(?=[\d{_MONEY}]))"
_AFTER = rf"(?!{_OTHER_WORD}|[/-])"
_AMOUNT = r"\d{1,12}(?:,\d{3}){0,4}(?:\.\d{1,12})?"
"""A number of limited length, so that what follows it is looked for a limited number of times."""
_VALUE = re.compile(
    r"(?P<url>https?://[^\s)>\]\"']+)"
    r"|(?P<date>\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}\s(?:January|February|March|April|May|June|July|August|September"
    r"|October|November|December)\s\d{4}\b)"
    r"|(?P<time>(?<![\w.:/-])\d{1,2}:[0-5]\d(?::[0-5]\d)?(?![\w:/-])(?:\s?[ap]m\b)?)"
    rf"|(?P<quantity>{_BEFORE}[{_MONEY}]?{_AMOUNT}(?:{_UNIT}|(?:-|\s?\u2013\s?){_AMOUNT}(?![:.]\d){_UNIT}?){_AFTER})"
    r"|(?P<version>\bv?\d+(?:\.\d+)+(?:-[\w.]+)?\b|\bv\d+\b)"
    rf"|(?P<number>\b0x[0-9a-f]+\b|{_BEFORE}[{_MONEY}]?\d[\d,]*(?:\.\d+)?{_UNIT}?{_AFTER}|{_NUMBER_WORDS})"
    r"|(?P<bool>\$?\b(?:true|false|enabled|disabled)\b|\b(?:on|off)(?=\sby\sdefault\b)"
    r"|(?<=:\s)(?:yes|no)(?=[\s.!]{0,9}\Z))",
    re.IGNORECASE,
)
_HINT = re.compile(
    rf"\d|https?:|[Tt]rue|[Ff]alse|TRUE|FALSE|[Ee]nabled|[Dd]isabled|by default|{_NUMBER_WORDS}|:\s(?:[Yy]es|[Nn]o)\b"
)
"""A text that may have one of these values; most have none."""
_YES_NO = re.compile(r"(?i)\A\$?(?:yes|no|true|false|on|off|enabled|disabled|none|required|optional)\Z")
_NAME = re.compile(r"\A`?[\w.@/-]+`?(?:\s[\w.@/-]+){0,2}\Z")
_OF_CONTEXT = re.compile(
    r"(?i)(?:its?|this|these|that|those|they|there|here|he|she|we|you|if|when|for example|by default|returns?|in this"
    r"|the (?:default|following|remaining|first|second|last|next|above|below|member|function|method|value|name|return)"
    r"|step)\b|[\u5b83\u8fd9\u9019\u90a3\u5176\u6b64]|[\u3053\u305d][\u306e\u308c\u3053]"
)
"""The beginning of a sentence whose subject is what stands around it."""
_COMMON_HEADING = re.compile(
    r"(?i)(?:parameters?|remarks|requirements|syntax|description|notes?|return value|inputs?|outputs?|overview|usage"
    r"|introduction|options|properties|members|methods|see also|related links|examples?(?: \d+)?|summary"
    r"|(?:long|short) description)\Z"
)
"""A heading that many pages have, whose name says nothing of its subject."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*\[(])|(?<=[\u3002\uff01\uff1f])\s*")
_MARKUP = re.compile(r"[*`]|(?<![^\W_])_+|_+(?![^\W_])|\[\^[^][]*\]|!?\[|\]\([^()\s]*\)|\]\[[^\]]*\]|\]")
_ESCAPED = re.compile(r"\\([!#()+.\-_])")
"""A mark of punctuation that would mean something without the backslash."""
_WORD = re.compile(r"[^\W\d_]{2,}")
_RUN = re.compile(f"[{SPACELESS}]+")
_END = ". \u3002"
_BLANK = re.compile(r"^\s*$")
_BLANKS = re.compile(r"\s+")


class PageClaim(NamedTuple):
    """A value that a page states for a subject."""

    key: str
    """The statement with the kind of the value in its place; equal for all claims about its subject."""
    value: str
    """The stated value as it is written; `is_same_value` compares two."""
    line: int
    """Line from 1, counted from the beginning of the text."""
    subject: str
    """The subject as people read it."""
    heading: str = ""
    """The innermost heading above."""
    is_declared: bool = False
    """Whether the front matter states it, and not the text."""


_BETWEEN = re.compile(r"[_-]+")
_OF_PAGE = re.compile(
    r"(?i)title|subtitle|description|summary|authors?|date|created|updated|modified|last[-_ ]?mod(?:ified)?|published"
    r"|version|revision|u?u?id|slug|permalink|url|uri|link|canonical|online version|redirect\w*|alias(?:es)?|tags?"
    r"|category|type|kind|layout|template|weight|order|rank|priority|position|sidebar\w*|nav\w*|menu\w*|toc|draft|status"
    r"|lang|language|locale|schema|hidden|headless|noindex|search|math|comments|share|featured|pinned|review\w*"
    r"|last_review\w*|expir\w*|valid_until|superseded_by|deprecated|source|path|file|image|cover|icon|help version"
    r"|.*\b(?:link|guid)"
)
"""A field of a front matter that is about the page and not about its subject."""


_SCOPE = re.compile(
    r"(?i)(?:ms[. ])?(?:prod(?:uct)?|service|subservice|component|module|package|app(?:lication)?|library|platform|os"
    r"|operating system|region|country|location|site|environment|env|stage|edition|plan|tier|customer|client|tenant"
    r"|project|team|brand|market|model|device|variant|version|release|language|lang|locale|applies to|scope)s?"
)
"""A field of a front matter that says about which of several things of one kind a page is."""


def have_other_scopes(values: Mapping[str, object], others: Mapping[str, object]) -> bool:
    """Whether two front matters say by one field that their pages are about different things, such as two products."""
    scopes = [
        {name: _texts(value) for key, value in each.items() if _SCOPE.fullmatch(name := _BETWEEN.sub(" ", key))}
        for each in (values, others)
    ]
    return any(texts.isdisjoint(scopes[1][name]) for name, texts in scopes[0].items() if texts and scopes[1].get(name))


def _texts(value: object) -> frozenset[str]:
    listed = cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else (value,)
    return frozenset(str(each).strip().casefold() for each in listed if isinstance(each, (str, int, float)))


_NO_TEXT = ("    ", "\t", ">", "<", ":", "Source: [")
"""Beginnings of lines of code, quotes, HTML, definitions, and of the line that names the file of a source."""


def claims_of(text: str) -> list[PageClaim]:
    """The claims of a body of Markdown, at most `MAX_CLAIMS`, by line."""
    return list(islice(_claims(list(_outside_code(text.split("\n")))), MAX_CLAIMS))


def declared_claims(values: Mapping[str, object], title: str, lines: Mapping[str, int]) -> list[PageClaim]:
    """The claims of a front matter about the subject of its page, as fields below the page's title.

    Left out are names, fields about the page itself (`date`, `author`, `weight`) and those with a dot in their names.

    Args:
        values: The front matter.
        title: The title of the page.
        lines: The line from 1 of each key; 1 for a key without one.
    """
    claims: list[PageClaim] = []
    for key, value in values.items():
        text = str(value).casefold() if isinstance(value, bool) else str(value)
        if isinstance(value, (str, int, float)) and "." not in key and not _OF_PAGE.fullmatch(key):
            stated = _field(title, _BETWEEN.sub(" ", key), text, lines.get(key, 1))
            claims += (claim for claim in stated if "<name>" not in claim.key)
    return [claim._replace(is_declared=True) for claim in claims]


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
    claims = islice(_claims(outside[first:last], _heading_text(title) if title else ""), MAX_CLAIMS)
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
            heading = _heading_text(title)
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


def _heading_text(heading: re.Match[str]) -> str:
    """The words of a heading, without its marks and attributes at the end."""
    return _plain(_ATTRIBUTES.sub("", (heading[2] or "").rstrip().rstrip("#").rstrip()))


def _outside_code(lines: Sequence[str]) -> Iterator[str]:
    """The lines, those of fenced code as blank ones, and those of notes without their marks."""
    fence = ""
    for line in _without_marks_of_notes(lines):
        marker = _FENCE.match(line)
        yield "" if fence or marker else line
        if not fence:
            fence = marker[1] if marker else ""
        elif marker and marker[1].startswith(fence) and not line.strip().strip("`~"):
            fence = ""


def _without_marks_of_notes(lines: Sequence[str]) -> Iterator[str]:
    in_note = False
    for line in lines:
        is_quoted = line.startswith(">")
        is_first = is_quoted and bool(_NOTE.match(line))
        in_note = is_quoted and (is_first or in_note)
        yield "" if is_first else line.lstrip("> ") if in_note else line


def _statements(lines: Sequence[str], began: int, heading: str) -> Iterator[PageClaim]:
    if not lines:
        return
    label = _FIELD.match(lines[0])
    field = label if len(lines) == 1 else None
    if field and _kind(_plain(field[2]).rstrip(".")):
        yield from _field(heading, _plain(field[1]), field[2], began)
        return
    whole = " ".join(lines)
    for sentence in _SENTENCE.split(whole) if _HINT.search(whole) else ():
        if not _HINT.search(sentence):
            continue
        line = began + next((at for at, other_line in enumerate(lines) if sentence[:20] in other_line), 0)
        yield from _sentence(_plain(sentence), line, heading, is_of_context=bool(label))


def _sentence(sentence: str, line: int, heading: str, *, is_of_context: bool) -> Iterator[PageClaim]:
    values = list(_VALUE.finditer(sentence))
    words = count_words(_VALUE.sub(" ", sentence))
    if not values or len(values) > MAX_VALUES or words > MAX_WORDS:
        return
    is_of_context = is_of_context or bool(_OF_CONTEXT.match(sentence)) or words < MIN_WORDS
    if is_of_context and not _names_subject(heading, words):
        return
    above = f"below {heading.casefold()}: " if is_of_context else ""
    for key, value in _each_masked(sentence.rstrip(_END), values):
        yield PageClaim(above + key, value, line, sentence, heading)


def _each_masked(text: str, values: Sequence[re.Match[str]]) -> Iterator[tuple[str, str]]:
    """A text with the kind of one of its values in its place, and this value; for each of its values."""
    for value in values:
        key = f"{text[: value.start()]}<{_group(value)}>{text[value.end() :]}"
        yield key.casefold(), value[0].rstrip(".,;")


def _names_subject(heading: str, words: int) -> bool:
    """Whether a heading says what a sentence of so many words below it is about."""
    if words < MIN_WORDS_BELOW_HEADING:
        return False
    names = count_words(heading)
    return names > 0 and (names > 1 or words >= MIN_WORDS) and not _COMMON_HEADING.match(heading)


def _field(heading: str, name: str, value: str, line: int) -> Iterator[PageClaim]:
    value = _plain(value).rstrip(".")
    kind = _kind(value)
    if kind and count_words(f"{heading} {name}") >= MIN_SUBJECT_WORDS:
        subject = " > ".join(filter(None, (heading, name)))
        yield PageClaim(f"field {subject.casefold()} <{kind}>", value, line, subject, heading)


def _row(header: Sequence[str], cells: Sequence[str], line: int, heading: str) -> Iterator[PageClaim]:
    if set("".join(cells)) <= set("-: "):
        return
    for column, value in list(zip(header, cells, strict=False))[1:]:
        subject, kind = f"{cells[0]} > {column}", _kind(value)
        values = list(_VALUE.finditer(value)) if kind in {"", "name"} and _HINT.search(value) else []
        if kind not in {"", "name"} and count_words(subject) >= MIN_SUBJECT_WORDS:
            yield PageClaim(f"cell {subject.casefold()} <{kind}>", value, line, subject, heading)
        elif 0 < len(values) <= MAX_VALUES and count_words(_VALUE.sub(" ", f"{subject} {value}")) >= MIN_WORDS:
            for key, stated in _each_masked(value, values):
                yield PageClaim(f"cell {subject.casefold()} {key}", stated, line, subject, heading)


def _kind(value: str) -> str:
    """The kind of the value of a field or cell; "" for a text that is no single value."""
    if len(value) > MAX_FIELD_CHARS:
        return ""
    whole = _VALUE.fullmatch(value)
    if whole:
        return _group(whole)
    if _YES_NO.match(value):
        return "bool"
    return "name" if _NAME.match(value) else ""


def count_words(text: str) -> int:
    """The number of words of two letters; where no blanks are between words, two characters count as a word."""
    runs = [match[0] for match in _RUN.finditer(text)] if has_runs(text) else []
    return len(_WORD.findall(without_grams(text) if runs else text)) + sum(map(len, runs)) // 2


def _group(value: re.Match[str]) -> str:
    """The kind of a value; a version, and a number with a unit or a range, is a number like any other."""
    return "number" if value.lastgroup in {"quantity", "version"} else value.lastgroup or ""


def is_same_value(value: str, other: str) -> bool:
    """Whether two values may be the same, such as `1 hour` and `60 minutes`, or `10 MB` and `10,240 kB`."""
    return value == other or not _meanings(value).isdisjoint(_meanings(other))


@lru_cache(maxsize=4_096)
def _meanings(value: str) -> frozenset[str]:
    """The meanings of a value, each in one form; a month has 28 to 31 days, a kB 1,000 or 1,024 bytes."""
    text = _normal(value)
    if text in _YES or text in _NO:
        return frozenset({"yes" if text in _YES else "no"})
    if day := _LONG_DATE.fullmatch(text):
        return frozenset({f"{day[3]}-{_MONTHS.index(day[2]) + 1:02}-{int(day[1]):02}"})
    if time := _TIME.fullmatch(text):
        return frozenset({_time_of_day(time)})
    quantity = _QUANTITY.fullmatch(_joined(value))
    if quantity is None:
        return frozenset({text.removesuffix("/")})
    return frozenset(_amounts(quantity))


def _amounts(quantity: re.Match[str]) -> Iterator[str]:
    """A number or range with each meaning of its unit, in basic units."""
    sign, euro, number, end, name, divisor = quantity.groups(default="")
    numbers = [Fraction(f"{sign}{number}"), *map(Fraction, filter(None, (end,)))]
    unit = name or euro
    for base, factor in _UNITS.get(unit) or _UNITS.get(unit.casefold(), ((unit.casefold(), 1),)):
        yield f"{' to '.join(str(each * factor) for each in numbers)} {base}{divisor}".rstrip()


def _time_of_day(time: re.Match[str]) -> str:
    hour, half = int(time[1]), time[4]
    return f"{hour % 12 + 12 * (half == 'pm') if half else hour}:{time[2]}:{time[3] or '00'}"


def _joined(value: str) -> str:
    """A value without blanks and marks, with one form of each sign and digit."""
    text = _BLANKS.sub("", value if value.isascii() else _in_one_form(value))
    sign = _WRITTEN_SIGN.match(text)
    text = f"-{text[sign.end() :]}" if sign else text.removeprefix("+")
    return text.strip("`").replace("$", "", 1).rstrip(".,;").replace(",", "")


def _in_one_form(value: str) -> str:
    """A value with the digits of all scripts as 0 to 9, and one form of each unit and dash."""
    text = "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in value)
    return _DASH.sub("-", unicodedata.normalize("NFKC", text))


def _normal(value: str) -> str:
    """A value without blanks, case and marks."""
    text = _joined(value).casefold()
    return _NUMBERS.get(text) or (text.removeprefix("v") if text[1:2].isdigit() else text)


_DASH = re.compile("[\u2212\u2013]")
_WRITTEN_SIGN = re.compile(r"(?i)(?:-|minus)(?=[$€\u00a5\d])")
_YES, _NO = frozenset({"yes", "true", "on", "enabled"}), frozenset({"no", "false", "off", "disabled"})
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
           "december")  # fmt: skip
_LONG_DATE = re.compile(rf"(\d{{1,2}})({'|'.join(_MONTHS)})(\d{{4}})")
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?([ap]m)?")
_QUANTITY = re.compile(
    r"[vV]?(-)?([€\u00a5])?(\d{1,30}(?:\.\d{1,30})?)(?:-(\d{1,30}(?:\.\d{1,30})?))?-?([^\W\d]+|[%€$\u00a5]|°[CFcf]|\u00d7g)?(/.+)?"
)
_DAY = 86_400
_UNIT_NAMES: tuple[tuple[str, tuple[tuple[str, int | Fraction], ...]], ...] = (
    ("ms", (("s", Fraction(1, 1000)),)),
    ("s sec second seconds", (("s", 1),)),
    ("m", (("m", 1), ("s", 60))),
    ("min minute minutes", (("s", 60),)),
    ("h hr hrs hour hours", (("s", 3_600),)),
    ("d day days", (("s", _DAY),)),
    ("week weeks", (("s", 7 * _DAY),)),
    ("month months", (("month", 1), *(("s", days * _DAY) for days in (28, 30, 31)))),
    ("year years", (("month", 12), *(("s", days * _DAY) for days in (364, 365, 366)))),
    ("byte bytes", (("byte", 1),)),
    ("bit bits", (("bit", 1),)),
    *((f"{prefix}b", (("byte", 1_000**at), ("byte", 1_024**at))) for at, prefix in enumerate("kmgt", 1)),
    *((f"{prefix}ib", (("byte", 1_024**at),)) for at, prefix in enumerate("kmgt", 1)),
    ("€ euro euros eur", (("euro", 1),)),
    ("$ dollar dollars usd", (("", 1),)),
    ("xg \u00d7g", (("g force", 1),)),
)
_UNITS: Mapping[str, tuple[tuple[str, int | Fraction], ...]] = {
    **{unicodedata.normalize("NFKC", name): (meaning,) for name, meaning in _OF_MEASURE.items()},
    **{name: meanings for names, meanings in (*_UNIT_NAMES, *_SPACELESS_UNITS) for name in names.split()},
}
"""The meanings of each unit: a number of basic units each."""


def _plain(text: str) -> str:
    return _BLANKS.sub(" ", _ESCAPED.sub(r"\1", _MARKUP.sub("", text))).strip()


def contradicting_claims(
    claims: Sequence[PageClaim], others: Sequence[PageClaim], names: Sequence[str] = ()
) -> Iterator[tuple[PageClaim, PageClaim]]:
    """The claims of a page that contradict those of another page, each with the first of these.

    Args:
        claims: The claims of the page.
        others: The claims of the other page.
        names: The names of both files; a value that is part of one says which page it is.
    """
    stated, own = _by_key(others), _by_key(claims)
    for claim in claims:
        places = stated.get(claim.key, [])
        if places and not is_series(own[claim.key]) and not is_series(places) and differs(claim, places[0], names):
            yield claim, places[0]


def _by_key(claims: Sequence[PageClaim]) -> dict[str, list[PageClaim]]:
    places: dict[str, list[PageClaim]] = {}
    for claim in claims:
        places.setdefault(claim.key, []).append(claim)
    return places


def is_series(claims: Sequence[PageClaim]) -> bool:
    """Whether a page states several values for a subject, which is then no subject but a series."""
    return not all(is_same_value(claim.value, claims[0].value) for claim in claims)


def differs(claim: PageClaim, other: PageClaim, names: Sequence[str] = ()) -> bool:
    """Whether two claims of one key state another value; one that is part of a file's name says which file it is."""
    values = {_normal(claim.value), _normal(other.value)}
    return not is_same_value(claim.value, other.value) and not any(
        len(value) >= _MIN_NAME_CHARS and value in name for value in values for name in names
    )


_MIN_NAME_CHARS = 3
