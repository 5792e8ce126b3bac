"""The status of pages and sections: whether they hold, in the forms in which people declare it.

A page declares it in its front matter (`status`, `superseded_by`, `deprecated`, `expires`, `review_by`,
`last_reviewed_on` with `review_in`) or, as decision records do, in a section `Status` or a line `Status: …`. A section
declares it in the attributes of its heading: `## Port {#port status=superseded by=network#port}`. A tombstone of
layers, `## Port {#port override=none}`, is retired.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from itertools import takewhile
from typing import NamedTuple

from commonplace.domain.documents import Document, Section
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.link_brackets import with_marked_brackets
from commonplace.domain.words.moments import normal_date


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

EXPIRY_KEYS = ("expires", "expiry", "expires_on", "expiry_date", "expiryDate", "valid_until")
"""Front-matter keys of the last day on which a page holds."""
REVIEW_KEYS = ("review_by", "review_on", "review_due", "next_review")
"""Front-matter keys of the day by which a page is to be reviewed."""
REVIEWED_KEYS = ("last_reviewed_on", "last_reviewed", "reviewed_on", "reviewed")
"""Front-matter keys of the day of the last review, from which `review_in` counts."""
REPLACED_KEYS = ("superseded_by", "replaced_by", "obsoleted_by", "supersededBy")
"""Front-matter keys of what replaces a page."""
RETIRED_KEYS = ("deprecated", "retired", "archived", "tombstone")
"""Front-matter keys that retire a page, unless their value is `false`."""
MAX_REFERENCE = 300
"""Maximum number of characters of a reference to what replaces a text; longer ones are ignored."""

_REPLACED = re.compile(r"(?is)\A\W*(superse?c?ded|superseded|replaced|obsoleted)\s+by\b[\s:]*(.*)\Z")
_LINK = re.compile(r"\[\[([^\[\]|]+)(?:\|[^\[\]]*)?\]\]|\[[^\[\]]*\]\(<?([^()<>\s]+)>?[^()]*\)|\[([^\[\]]+)\]")
_PERIOD = re.compile(r"(?i)\A\s*(\d{1,4})\s*(day|week|month|year)s?\s*\Z")
_ATTRIBUTE = re.compile(r"""(?<!\S)([\w-]+)=(?:"([^"]*)"|'([^']*)'|(\S*))""")
_STATUS_OR_FENCE = re.compile(
    rb"(?mi)^(?:(?:[*+-][ \t]+)?\**Status\**:\**[ \t]+([^\r\n]{2,200})| {0,3}(`{3,}+|~{3,}+)([^\r\n]*))"
)
"""A line with the status, or one that opens or closes a block of code."""
_HEAD_BYTES = 1_000
"""Number of bytes of a page's beginning in which a line `Status: …` is looked for."""
_DECISION_WORDS = frozenset(
    ("proposed", "accepted", "rejected", "deprecated", "superseded", "superceded", "replaced", "retired", "withdrawn")
)
"""The words that count in the text of a page; a front matter is read with all names."""


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
    status = Status.SUPERSEDED if declared.by and not declared.word else names.get(declared.word, Status.CURRENT)
    if status not in LAPSED and declared.expires and declared.expires < day:
        return Status.EXPIRED
    return status


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


def due_review(values: JsonObject) -> tuple[str, str]:
    """The day by which a page is to be reviewed, and the key that says so; two empty strings if none does."""
    for key in REVIEW_KEYS:
        for written in (key, key.replace("_", "-")):
            if day := normal_date(values.get(written))[:10]:
                return day, written
    for key in REVIEWED_KEYS:
        last = normal_date(values.get(key))[:10]
        if last and (day := _later(last, values.get("review_in"))):
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
    if until and (not (day := normal_date(until)[:10]) or day < today):
        raise InvalidInputError(
            f"{until[:40]!r} is no day of a next review.", kind="argument", hint="Give one to come: 2030-01-31."
        )
    reviewed = next((key for key in REVIEWED_KEYS if key in values), REVIEWED_KEYS[0])
    fields: dict[str, Json] = {reviewed: today}
    if by:
        fields["reviewed_by"] = by
    due = due_review(values)[1]
    if until or due in values or "review_in" not in values:
        fields[due if due in values else REVIEW_KEYS[0]] = until or _later(today, "6 months")
    return fields


def reviewed_day(values: JsonObject) -> str:
    """The day of the last review of a page, `YYYY-MM-DD`; "" if its front matter has none."""
    return next((day for key in REVIEWED_KEYS if (day := normal_date(values.get(key))[:10])), "")


def expiry_day(values: JsonObject) -> tuple[str, str]:
    """The last day on which a page holds, and the key that says so; two empty strings if none does."""
    for key in EXPIRY_KEYS:
        if day := normal_date(values.get(key))[:10]:
            return day, key
    return "", ""


_NO_DAY = frozenset(("", "never", "none", "no", "false"))
"""Values of a key of a day that say that there is no day."""


def unread_days(values: JsonObject) -> list[tuple[str, str]]:
    """The keys of an expiry or a review, in any case and with `-` or `_`, that give no day, with their values.

    A page with such a key holds forever. Placeholders of templates are left out.
    """
    keys = {key.casefold() for key in (*EXPIRY_KEYS, *REVIEW_KEYS)}
    read = {*EXPIRY_KEYS, *REVIEW_KEYS, *(key.replace("_", "-") for key in REVIEW_KEYS)}
    return [
        (key, str(value))
        for key, value in values.items()
        if key.casefold().replace("-", "_") in keys
        and value is not None
        and str(value).strip().casefold() not in _NO_DAY
        and "{{" not in str(value)
        and not (key in read and normal_date(value))
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
    word, by = _word_and_replacement(_text_of(values.get("status")))
    replaced = next((text for key in REPLACED_KEYS if (text := _text_of(values.get(key)))), "")
    if replaced:
        return "superseded", reference_in(replaced)
    if BUILT_IN_NAMES.get(word) in LAPSED:
        return word, by
    retired = next((key for key in RETIRED_KEYS if _is_set(values.get(key))), "")
    if retired:
        return retired, by
    return (word, by) if word or not _is_set(values.get("draft")) else ("draft", by)


def _word_in_text(document: Document) -> tuple[str, str]:
    """The status in a section `Status` or a line `Status: …`, as decision records have it."""
    source = document.source
    line = b""
    for section in document.sections[1:]:
        if section.heading.casefold() == "status":
            text = source[section.content : section.end].strip()
            line = text.split(b"\n", 1)[0] if len(text) < _HEAD_BYTES else b""
            break
    if not line:
        start = document.body_start
        line = _status_line(source, start)
    word, by = _word_and_replacement(line.decode("utf-8", "replace"))
    return (word, by) if word in _DECISION_WORDS else ("", "")


def _status_line(source: bytes, start: int) -> bytes:
    """The text of the first line `Status: …` at the beginning of a page that is not in a block of code."""
    fence = b""
    for match in _STATUS_OR_FENCE.finditer(source, start, start + _HEAD_BYTES):
        status, mark, info = match.groups()
        if status and not fence:
            return status
        if mark and not fence:
            fence = mark
        elif mark and mark.startswith(fence) and not info.strip():
            fence = b""
    return b""


def replacement_in(key: str, text: str) -> str:
    """The reference to what replaces a page in a value of its front matter; "" for none."""
    if key in REPLACED_KEYS:
        return reference_in(text)
    return _word_and_replacement(text)[1] if key == "status" else ""


def _word_and_replacement(text: str) -> tuple[str, str]:
    """The status as a lower-case word, and the reference after `superseded by`."""
    text = text.strip().strip("*_`").strip()
    if len(text) > MAX_REFERENCE:
        return "", ""
    if match := _REPLACED.match(text):
        return "superseded", reference_in(match[2])
    return text.rstrip(".").casefold(), ""


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
    suppressed = "tombstone" if values.get("override", "").lower() == "none" else ""
    word, by = _word_and_replacement(values.get("status", suppressed))
    replaced = values.get("by") or next((values[key] for key in REPLACED_KEYS if key in values), "")
    if replaced:
        word, by = word or "superseded", reference_in(replaced)
    plain: dict[str, Json] = dict(values)
    below = takewhile(lambda other_section: other_section.level > section.level, sections[section.ordinal + 1 :])
    last = section.ordinal + sum(1 for _ in below)
    return DeclaredStatus(section.ordinal, last, word, by, expiry_day(plain)[0], due_review(plain)[0])


def _text_of(value: Json) -> str:
    """A text, or the first text of a list; "" for anything else."""
    if isinstance(value, list):
        return _text_of(value[0]) if len(value) else ""
    return value if isinstance(value, str) else ""


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
