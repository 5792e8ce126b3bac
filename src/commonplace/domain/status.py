"""The status of pages and sections: whether they hold, in the forms in which people declare it.

A page declares it in its front matter (`status`, `superseded_by`, `deprecated`, `expires`, `review_by`,
`last_reviewed_on` with `review_in`, in any spelling of the key) or, as decision records do, in a section `Status`, a
row of a table or a line `Status: …`. A section declares it in the attributes of its heading:
`## Port {#port status=superseded by=network#port}`. A tombstone of layers, `## Port {#port override=none}`, is retired.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from commonplace.domain.documents import Document, Section
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.link_brackets import with_marked_brackets
from commonplace.domain.words.moments import normal_date, normal_day


class Status(StrEnum):
    """Whether a text holds."""

    DRAFT = "draft"
    CURRENT = "current"
    SUPERSEDED = "superseded"
    RETIRED = "retired"
    EXPIRED = "expired"


LAPSED = frozenset({Status.SUPERSEDED, Status.RETIRED, Status.EXPIRED})
"""The statuses of a text that does not hold any more."""


@dataclass(frozen=True, slots=True)
class TextStatus:
    """The status of a page or section on one day, as answers show it."""

    status: Status
    by: str = ""
    """The place that replaces it: `path#anchor`, or the reference as written if it leads nowhere; "" for nothing."""
    resolved: bool = True
    """Whether the reference leads to a page, or is a URL."""

    @property
    def is_lapsed(self) -> bool:
        """Whether the text does not hold any more."""
        return self.status in LAPSED

    @property
    def mark(self) -> str:
        """The mark that an answer has beside the text: `SUPERSEDED by adr/0005.md`; "" if it holds."""
        if not self.is_lapsed:
            return "DRAFT" if self.status is Status.DRAFT else ""
        return f"{self.status.upper()}{f' by {self.by}' if self.by else ''}"


def marked(text: str, status: TextStatus | None) -> str:
    """A text that an answer shows, after the mark of its status if it lapsed: `[SUPERSEDED by new.md] …`."""
    return f"[{status.mark}] {text}".rstrip() if status is not None and status.is_lapsed else text


BUILT_IN_NAMES: Mapping[str, Status] = {
    **dict.fromkeys(("draft", "wip", "proposed", "proposal"), Status.DRAFT),
    **dict.fromkeys(("current", "accepted", "active", "approved", "final", "published", "stable"), Status.CURRENT),
    **dict.fromkeys(("superseded", "superceded", "replaced", "obsoleted"), Status.SUPERSEDED),
    **dict.fromkeys(("retired", "deprecated", "obsolete", "withdrawn", "rejected", "archived"), Status.RETIRED),
    "tombstone": Status.RETIRED,
    "expired": Status.EXPIRED,
}
"""Statuses by the names that need no setting."""

EXPIRY_KEYS = ("expires", "expiry", "expires_on", "expiry_date", "valid_until")
"""Front-matter keys of the last day on which a page holds. All keys are read in any case, with `-`, `_` or none."""
REVIEW_KEYS = ("review_by", "review_on", "review_due", "next_review")
"""Front-matter keys of the day by which a page is to be reviewed."""
REVIEWED_KEYS = ("last_reviewed_on", "last_reviewed", "reviewed_on", "reviewed")
"""Front-matter keys of the day of the last review, from which `review_in` counts."""
REPLACED_KEYS = ("superseded_by", "superceded_by", "replaced_by", "obsoleted_by")
"""Front-matter keys of what replaces a page."""
RETIRED_KEYS = ("superseded", "superceded", "deprecated", "retired", "archived", "obsolete", "tombstone")
"""Front-matter keys by which a page does not hold any more, unless their value is `false`."""
MAX_REFERENCE = 300
"""Maximum number of characters of a reference to what replaces a text; longer ones are ignored."""

_VERBS = r"(super(?:sc|s|c)e{0,2}ded|replaced|obsoleted|deprecated|retired)"
_REPLACED = re.compile(
    r"(?is)(?:\A|[,;|/(]|[.]\s|\s[-\u2013\u2014]\s)[\s*_`>]*(?:(?:(?:it|this)(?:\s\w+)?\s)?(?:has been|was|is|now)\s+)?"
    rf"{_VERBS}[\s*_`-]+(?:by|in favou?r of)\b[\s:|*_`]*(.*)\Z"
)
"""A mention of what replaces a text, at the beginning of a clause."""
_LINK = re.compile(r"\[\[([^\[\]|]+)(?:\|[^\[\]]*)?\]\]|\[[^\[\]]*\]\(<?([^()<>\s]+)>?[^()]*\)|\[([^\[\]]+)\]")
_PERIOD = re.compile(r"(?i)\A\s*(\d{1,4})\s*(day|week|month|year)s?\s*\Z")
_ATTRIBUTE = re.compile(r"""(?<!\S)([\w-]+)=(?:"([^"]*)"|'([^']*)'|(\S*))""")
_STATUS_OR_FENCE = re.compile(
    rb"(?mi)^(?:(?:[*+>-][ \t]+|\|[ \t]*)?\**(Status|(?:Super[cs]eded|Replaced)[ _-]by)"
    rb"(?:\**:\**[ \t]+|\**[ \t]*\|[ \t]*)([^\r\n]{2,200})| {0,3}(`{3,}+|~{3,}+)([^\r\n]*))"
)
"""A line or row with the status or what replaces the page, or a line that opens or closes a block of code."""
_STATUS_HEADING = re.compile(r"(?i)(?:\d{1,3}(?:\.\d{1,3}){0,3}\.?\s+)?status(?:\s*[:\u2013\u2014-]\s*(\S.*)|\s*)\Z")
_CLAUSE = re.compile(r"[,;|/()\n]|[.]\s|\s[-\u2013\u2014]\s")
_CLAUSE_TAIL = re.compile(
    r"(?::|\s+(?:on|since|as of|from|in|at|by|with|for|because|due|until|after|v?\d[\d.-]*)\b).*\Z", re.DOTALL
)
"""The words behind the name of a status in its clause: `deprecated since 2.0`, `Superseded: see below`."""
_DATE_TAIL = re.compile(r"[\s,]*\(?\s*(?:(?:on|since|at)\s+)?\d{4}-\d\d-\d\d\s*\)?\.?\Z")
_STRUCK = re.compile(r"~~[^~\n]{0,200}~~")
_LINE_MARK = re.compile(r"\A(?:[>\s]|[*+-]\s|\d{1,3}[.)]\s)*(?:\[([ xX])\]\s)?")
_NOTHING = frozenset(
    ("", "-", "--", "\u2013", "\u2014", "none", "null", "n/a", "na", "no", "nothing", "false", "tbd", "~")
)
"""References that say that nothing replaces a text."""
MIN_CHOICES = 4
"""Number of statuses in one text, or on bare lines, from which it lists the choices, as a template does."""
_HEAD_BYTES = 1_000
"""Number of bytes of a page's beginning in which a line `Status: …` is looked for."""
_SECTION_BYTES = 4_000
"""Number of bytes of a section `Status` that are read."""
_DECISION_WORDS = (
    "proposed", "accepted", "rejected", "deprecated", "superseded", "superceded", "replaced", "obsoleted", "retired",
    "withdrawn",
)  # fmt: skip
_DECISION_NAMES = {word: BUILT_IN_NAMES[word] for word in _DECISION_WORDS}
"""The words that count in the text of a page; a front matter is read with all names."""
_PLAIN_REPLACED = frozenset(key.replace("_", "") for key in REPLACED_KEYS)
_EXPLAINED = re.compile(r"[^|:]{1,40}[|:](?!.*\b(?:19|20)\d\d\b)", re.DOTALL)
"""The name of a status with a text behind it that has no year, as in a list of what the names mean."""
_MARKS = "*_`\"'.!> \t"


class DeclaredStatus(NamedTuple):
    """The status that a page (ordinal 0) or a section declares, as stored in an index."""

    ordinal: int
    last: int
    """Ordinal of the last section that it is about: a section is declared with its subsections."""
    word: str
    """The status as written, in lower case; "" for none."""
    by: str = ""
    """The reference to what replaces it: a path, title, id, link target or URL; "" for none."""
    expires: str = ""
    """Last day on which it holds, `YYYY-MM-DD`; "" for none."""
    review: str = ""
    """Day by which it is to be reviewed, `YYYY-MM-DD`; "" for none."""

    @property
    def is_blank(self) -> bool:
        """Whether it declares nothing."""
        return not any(self[2:])


def declared_statuses(document: Document) -> tuple[DeclaredStatus, ...]:
    """The statuses that a page and its sections declare, by ordinal. Most pages declare none."""
    statuses = [_page_status(document)]
    statuses += [
        _section_status(section, document.sections) for section in document.sections if "=" in section.attributes
    ]
    return tuple([status for status in statuses if not status.is_blank])


HISTORY_HEADINGS = ("history", "superseded", "former versions", "archive")
"""Headings of the section in which a page keeps what it superseded, regardless of case; the first is the default."""


def lapsed_sections(document: Document) -> list[DeclaredStatus]:
    """The declarations of sections that say that they do not hold, without those that expire on a day."""
    return [status for status in declared_statuses(document) if status.ordinal and status_on(status, "") in LAPSED]


def history_of(document: Document) -> Section | None:
    """The section in which a page keeps what it superseded; None if there is none. None within a kept text counts."""
    headings = [section for section in document.sections if section.heading.casefold() in HISTORY_HEADINGS]
    lapsed = lapsed_sections(document) if headings else ()
    return next((each for each in headings if not any(old.ordinal < each.ordinal <= old.last for old in lapsed)), None)


def kept_texts(document: Document, history: Section) -> list[Section]:
    """The superseded texts in a section of kept texts, each with its subsections."""
    texts: list[Section] = []
    for status in lapsed_sections(document):
        section = document.sections[status.ordinal]
        is_inside = history.content <= section.start < history.tree_end
        if is_inside and (not texts or section.start >= texts[-1].tree_end):
            texts.append(section)
    return texts


def status_on(declared: DeclaredStatus, day: str, names: Mapping[str, Status] = BUILT_IN_NAMES) -> Status:
    """The status on a day. A word that nobody knows means that the text holds.

    Args:
        declared: The declaration of the page or section.
        day: The day, `YYYY-MM-DD`.
        names: Statuses by lower-case name, from `status_names`.
    """
    status = Status.SUPERSEDED if declared.by and not declared.word else status_named(declared.word, names)
    status = status or Status.CURRENT
    if status not in LAPSED and declared.expires and declared.expires < day:
        return Status.EXPIRED
    return status


def status_named(text: str, names: Mapping[str, Status] = BUILT_IN_NAMES) -> Status | None:
    """The status that a text names: alone, in clauses (`draft, superseded`) or with more (`Deprecated since 2.0`).

    Of several, one that does not hold counts, else the last. None if the first clause names none, or if the text lists
    the choices of a template.
    """
    if text in names:
        return names[text]
    clauses = _clauses(text)
    stated = [names[clause] for clause in clauses if clause in names]
    if not stated or clauses[0] not in names or len(stated) >= MIN_CHOICES - bool(re.search(r"[|/]", text)):
        return None
    return Status.SUPERSEDED if Status.SUPERSEDED in stated else next(filter(LAPSED.__contains__, stated), stated[-1])


def _clauses(text: str) -> list[str]:
    """The first words of the clauses of a text, which may name a status, without days."""
    parts = (part.strip(_MARKS) for part in _CLAUSE.split(text.casefold()))
    return [_CLAUSE_TAIL.sub("", part) for part in parts if part and not normal_date(part)]


def status_names(pairs: Sequence[str]) -> Mapping[str, Status]:
    """Statuses by name, from the setting `status_names` (`outdated=superseded`) and the built-in names.

    Raises:
        ValueError: a pair is not of this form; the message is the pair.
    """
    names = dict(BUILT_IN_NAMES)
    for pair in pairs:
        name, equals, status = (part.strip().lower() for part in pair.partition("="))
        if not (name and equals) or status not in set(Status):
            raise ValueError(pair)
        names[name] = Status(status)
    return names


@lru_cache(maxsize=4_096)
def plain_key(key: str) -> str:
    """A key of a front matter without case and separators: `supersededby` of `Superseded by` and `superseded-by`."""
    return re.sub(r"[\s_-]+", "", key).casefold()


def _by_key(values: JsonObject, keys: Iterable[str]) -> Iterator[tuple[str, Json]]:
    """The written keys, with their values, that are these keys in any spelling; in the order of the keys."""
    written: dict[str, list[str]] = {}
    for key in values:
        written.setdefault(plain_key(key), []).append(key)
    return ((spelling, values[spelling]) for key in keys for spelling in written.get(plain_key(key), ()))


def spelled_key(values: JsonObject, *keys: str) -> str:
    """The first of these keys that a front matter has, as it is written there; the first key if it has none."""
    return next((key for key, _ in _by_key(values, keys)), keys[0])


def due_review(values: JsonObject) -> tuple[str, str]:
    """The day by which a page is to be reviewed, and the key that says so; two empty strings if none does."""
    for key, value in _by_key(values, REVIEW_KEYS):
        if day := normal_day(value, end=True):
            return day, key
    period = next((value for _, value in _by_key(values, ("review_in",))), None)
    for key, value in _by_key(values, REVIEWED_KEYS) if period else ():
        last = normal_day(value)
        if last and (day := _later(last, period)):
            return day, f"{key} with review_in"
    return "", ""


def reviewed_fields(values: JsonObject, today: str, by: str = "", until: str = "") -> dict[str, Json]:
    """The front-matter fields of a page that was reviewed.

    Args:
        values: Its front matter.
        today: The day of the review, `YYYY-MM-DD`.
        by: Who reviewed it; "" to name nobody.
        until: The day of the next review; "" for the page's own period, else half a year later.

    Raises:
        InvalidInputError: kind "argument": `until` is no day, or is past.
    """
    if until and (not (day := normal_day(until, end=True)) or day < today):
        raise InvalidInputError(
            f"{until[:40]!r} is no day of a next review.", kind="argument", hint="Give one to come: 2030-01-31."
        )
    fields: dict[str, Json] = {spelled_key(values, *REVIEWED_KEYS): today}
    if by:
        fields["reviewed_by"] = by
    due = due_review(values)[1]
    if until or due in values or not any(_by_key(values, ("review_in",))):
        fields[due if due in values else REVIEW_KEYS[0]] = until or _later(today, "6 months")
    return fields


def reviewed_day(values: JsonObject) -> str:
    """The day of the last review of a page, `YYYY-MM-DD`; "" if its front matter has none."""
    return next((day for _, value in _by_key(values, REVIEWED_KEYS) if (day := normal_day(value))), "")


def expiry_day(values: JsonObject) -> tuple[str, str]:
    """The last day on which a page holds, and the key that says so; two empty strings if none does."""
    for key, value in _by_key(values, EXPIRY_KEYS):
        if day := normal_day(value, end=True):
            return day, key
    return "", ""


_NO_DAY = frozenset(("", "never", "none", "no", "false"))
"""Values of a key of a day that say that there is no day."""


def unread_days(values: JsonObject) -> list[tuple[str, str]]:
    """The keys of an expiry or a review that give no day, with their values, such as `3/4/2027` for two of them.

    A page with such a key holds forever. Placeholders of templates are left out.
    """
    return [
        (key, str(value))
        for key, value in _by_key(values, (*EXPIRY_KEYS, *REVIEW_KEYS))
        if value is not None
        and str(value).strip().casefold() not in _NO_DAY
        and "{{" not in str(value)
        and not normal_day(value)
    ]


def next_review(values: JsonObject) -> str:
    """The day of the next review of a page as words, with an earlier expiry, which a review does not change."""
    due, (expiry, key) = due_review(values)[0], expiry_day(values)
    still = f"; its expiry of {expiry} ({key}) still rules until a later day is set" if expiry and expiry < due else ""
    return f"next review {due}{still}"


def _page_status(document: Document) -> DeclaredStatus:
    values = document.frontmatter.values
    word, by = _declared_word(values)
    if not word and not by and document.body_start < len(document.source):
        word, by = _word_in_text(document)
    last = len(document.sections) - 1
    return DeclaredStatus(0, last, word, by, expiry_day(values)[0], due_review(values)[0])


def _declared_word(values: JsonObject) -> tuple[str, str]:
    """The word of the status in a front matter, and what replaces the page."""
    word, by = _word_and_replacement(next((_every_text_of(value) for _, value in _by_key(values, ("status",))), ""))
    replaced = next(
        (text for _, value in _by_key(values, REPLACED_KEYS) if not _is_nothing(text := _text_of(value))), ""
    )
    if replaced:
        return "superseded", reference_in(replaced)
    if status_named(word) in LAPSED:
        return word, by
    retired = next(((plain_key(key), value) for key, value in _by_key(values, RETIRED_KEYS) if _is_set(value)), None)
    if retired:
        return _retired(*retired, by)
    return word or _draft_word(values), by


def _draft_word(values: JsonObject) -> str:
    return "draft" if any(_is_set(value) for _, value in _by_key(values, ("draft",))) else ""


def _retired(key: str, value: Json, by: str) -> tuple[str, str]:
    """The word of a key such as `deprecated`, and what replaces the page if `superseded` names it."""
    text = _text_of(value)
    is_reference = BUILT_IN_NAMES[key] is Status.SUPERSEDED and "." in text and not normal_date(text)
    return key, by or (reference_in(text) if is_reference or "[" in text else "")


def _word_in_text(document: Document) -> tuple[str, str]:
    """The status in a section `Status`, or in a row or line `Status: …` at the beginning, as decision records have it.

    Of several lines, one that does not hold counts. Lines of bare names are the choices of a template.
    """
    lines = _lines_of_section(document) or _head_lines(document.source, document.body_start)
    stated = _without_explained([statement for statement in map(_stated_in, lines) if statement])
    if sum(word in _DECISION_NAMES and not by for word, by, _ in stated) >= MIN_CHOICES:
        return "", ""
    best = max(stated, key=lambda item: (item[2] in LAPSED, bool(item[1])), default=("", "", Status.CURRENT))
    return best[:2]


def _without_explained(stated: list[tuple[str, str, Status]]) -> list[tuple[str, str, Status]]:
    """The stated ones without the names that a list of several explains, such as `Rejected: by the bank`."""
    explained = [statement for statement in stated if not statement[1] and _EXPLAINED.match(statement[0])]
    return [statement for statement in stated if len(explained) == 1 or statement not in explained]


def _stated_in(line: str) -> tuple[str, str, Status] | None:
    """The status that a line states, and what replaces the page; None for a sentence, or a row that explains a name."""
    word, by = _word_and_replacement(line)
    status = status_named(word, _DECISION_NAMES)
    clauses = _clauses(line)
    if status is None or (not by and "|" in word and _EXPLAINED.match(word)):
        return None
    is_status = clauses[0] in _DECISION_NAMES or bool(_REPLACED.match(line.strip(_MARKS)))
    return (word, by, status) if is_status else None


def _lines_of_section(document: Document) -> list[str]:
    """The lines of the first section `Status`, without marks, code, comments and what is struck out or not ticked."""
    for section in document.sections[1:]:
        heading = _STATUS_HEADING.match(section.heading)
        if heading is None:
            continue
        written = document.source[section.start : section.content].decode("utf-8", "replace")
        text = document.source[section.content : section.end][:_SECTION_BYTES].decode("utf-8", "replace")
        title = re.split("(?i)status", written.strip(), maxsplit=1)[-1].lstrip(" :\u2013\u2014-") if heading[1] else ""
        lines = list(_plain_lines(_without_comments(text)))
        return list(filter(None, (title.rstrip("# "), *lines)))
    return []


def _plain_lines(text: str) -> Iterator[str]:
    fence = ""
    for line in text.splitlines():
        mark = _LINE_MARK.match(line)
        rest = line[mark.end() :].strip() if mark else line.strip()
        if rest.startswith(("```", "~~~")) and (not fence or rest.startswith(fence)):
            fence = "" if fence else rest[:3]
        elif not fence and not (mark and mark[1] == " "):
            yield re.sub(r"(?i)\Astatus\W+", "", _STRUCK.sub("", rest).strip("| \t"))


def _without_comments(text: str) -> str:
    while (start := text.find("<!--")) >= 0:
        end = text.find("-->", start)
        text = text[:start] + (text[end + 3 :] if end >= 0 else "")
    return text


def _head_lines(source: bytes, start: int) -> list[str]:
    """The texts of the lines `Status: …` and `Superseded by: …` at the beginning of a page, outside blocks of code."""
    lines: list[str] = []
    statuses = 0
    for label, text in _labelled_lines(source, start):
        is_status = label.lower() == b"status"
        statuses += is_status
        if not is_status or statuses == 1:
            lines.append(text if is_status else f"superseded by {text}")
    return lines


def _labelled_lines(source: bytes, start: int) -> Iterator[tuple[bytes, str]]:
    fence = b""
    for match in _STATUS_OR_FENCE.finditer(source, start, start + _HEAD_BYTES):
        label, status, mark, info = match.groups()
        if status and not fence:
            yield label, status.decode("utf-8", "replace").rstrip("| \t")
        elif mark and not fence:
            fence = mark
        elif mark and mark.startswith(fence) and not info.strip():
            fence = b""


def is_replacement_key(key: str) -> bool:
    """Whether a key of a front matter names what replaces the page, in any spelling."""
    return plain_key(key) in _PLAIN_REPLACED


def replacement_in(key: str, text: str) -> str:
    """The reference to what replaces a page in a value of its front matter; "" for none."""
    if is_replacement_key(key):
        return "" if _is_nothing(text) else reference_in(text)
    return _word_and_replacement(text)[1] if plain_key(key) == "status" else ""


def _word_and_replacement(text: str) -> tuple[str, str]:
    """The status as lower-case words, and the reference after `superseded by`; the words of a template name none."""
    text = text.strip().strip("*_`").strip()
    if len(text) > MAX_REFERENCE or text.startswith(("{", "<")):
        return "", ""
    replaced = None if _lists_choices(text) else _REPLACED.search(text)
    reference = _reference_after(replaced[2]) if replaced else ""
    if _names_nothing(text, reference if replaced else None):
        return "", ""
    if replaced:
        is_retired = BUILT_IN_NAMES.get(replaced[1].casefold()) is Status.RETIRED
        return "deprecated" if is_retired else "superseded", reference
    word = text.rstrip(".").casefold()
    return word, _linked_in(text) if status_named(word) is Status.SUPERSEDED else ""


def _linked_in(text: str) -> str:
    """The target of the first link in a text; "" for none."""
    link = _LINK.search(with_marked_brackets(text))
    return (link[1] or link[2] or "").strip() if link else ""


def _lists_choices(text: str) -> bool:
    """Whether a text names so many statuses that it is the choices of a template."""
    starts = (part.strip(_MARKS).split(" ", 1)[0] for part in _CLAUSE.split(text.casefold()) if part.strip(_MARKS))
    return sum(start in BUILT_IN_NAMES for start in starts) >= MIN_CHOICES - bool(
        re.search("[|/]", _LINK.sub("", text))
    )


def _reference_after(text: str) -> str:
    """The reference at the beginning of a text, without the day, further cells and clauses behind it."""
    plain = (
        text if _LINK.search(with_marked_brackets(text)) else _DATE_TAIL.sub("", re.split(r"[|;]", text, maxsplit=1)[0])
    )
    return reference_in(plain)


def _is_nothing(text: str) -> bool:
    return text.strip().strip("*_`\"'.").casefold() in _NOTHING


def _names_nothing(text: str, reference: str | None) -> bool:
    """Whether nothing is behind `superseded by` in a text, or only a word such as `none`."""
    return text.casefold().rstrip(" :").endswith(" by") or (reference is not None and _is_nothing(reference))


def reference_in(text: str) -> str:
    """The target of the first link in a text, else the text; "" if it is longer than `MAX_REFERENCE` characters."""
    text = text.strip()
    match = _LINK.search(with_marked_brackets(text))
    reference = next((part for part in match.groups() if part), "") if match else text.strip("*_`\"' ").rstrip(".")
    return reference.strip() if len(reference) <= MAX_REFERENCE else ""


def heading_attributes(attributes: str) -> dict[str, str]:
    """The `key=value` pairs of a heading's attributes, keys in lower case."""
    return {
        name.lower().replace("-", "_"): next((value for value in values if value), "")
        for name, *values in _ATTRIBUTE.findall(attributes)
    }


def _section_status(section: Section, sections: Sequence[Section]) -> DeclaredStatus:
    values = heading_attributes(section.attributes)
    plain: dict[str, Json] = dict(values)
    suppressed = "tombstone" if values.get("override", "").lower() == "none" else ""
    word, by = _word_and_replacement(values.get("status", suppressed))
    replaced = next((_text_of(value) for _, value in _by_key(plain, ("by", *REPLACED_KEYS)) if value), "")
    if replaced:
        word, by = word or "superseded", reference_in(replaced)
    below = takewhile(lambda other_section: other_section.level > section.level, sections[section.ordinal + 1 :])
    last = section.ordinal + sum(1 for _ in below)
    return DeclaredStatus(section.ordinal, last, word, by, expiry_day(plain)[0], due_review(plain)[0])


def _text_of(value: Json) -> str:
    """A text, or the first text of a list; "" for anything else."""
    if isinstance(value, list):
        return _text_of(value[0]) if len(value) else ""
    return value if isinstance(value, str) else ""


def _every_text_of(value: Json) -> str:
    """A text, or the texts of a list with commas between them."""
    listed = value if isinstance(value, (list, tuple)) else [value]
    return ", ".join(text for item in listed if (text := _text_of(item)))


def _is_set(value: Json) -> bool:
    """Whether a key that says yes or no, gives a day or a reason, says yes."""
    return value is True or (isinstance(value, str) and value.strip().casefold() not in {"", "false", "no", "n", "0"})


def _later(day: str, period: Json) -> str:
    """The day after a period such as `6 months`; "" if it is none, or leads beyond the calendar."""
    match = _PERIOD.match(period) if isinstance(period, str) else None
    if match is None:
        return ""
    count, unit = int(match[1]), match[2].lower()
    start = date.fromisoformat(day)
    try:
        if unit in {"day", "week"}:
            return (start + timedelta(days=count * (7 if unit == "week" else 1))).isoformat()
        months = start.year * 12 + start.month - 1 + count * (12 if unit == "year" else 1)
        year, month = divmod(months, 12)
        return date(year, month + 1, min(start.day, monthrange(year, month + 1)[1])).isoformat()
    except (ValueError, OverflowError):
        return ""
