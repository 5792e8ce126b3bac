"""Checks the statements of an evaluation rubric that a program can check.

An item that names a checker is checked by this checker. Two forms of plain sentences are checked: a minimum ("at least
50 words", "two or more links"), and a required field ("has a summary", "names its owner", "states the date"). All other
sentences are judged by people and agents, and count as fulfilled here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from commonplace.domain.json import Json, JsonObject
from commonplace.domain.query import Record
from commonplace.domain.schema.patterns import compiled
from commonplace.domain.settings_values import list_of, mapping_of, text_of

if TYPE_CHECKING:
    from commonplace.domain.schema import RubricItem

MAX_PATTERN_TEXT = 20_000
"""Maximum number of characters of a body that are searched for a pattern."""
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
_COUNT = re.compile(
    r"\b(?:at least (?P<least>\d{1,6}|an?|one|two|three|four|five)"
    r"|(?P<more>\d{1,6}|one|two|three|four|five) or more) "
    r"(?P<noun>words?|links?|outlinks?|tags?|sources?)\b",
    re.IGNORECASE,
)
_FIELD = re.compile(
    r"\b(?:has|have|names?|states?|gives?|includes?) (?:an? |its |the )?([a-z][a-z_]+)\b", re.IGNORECASE
)
_FIELDS = frozenset(
    {"summary", "description", "date", "owner", "status", "importance", "author", "location", "role", "type", "title"}
)
"""Fields that a sentence can require by name; other words after "has" are ordinary English."""
_GENERIC_TITLES = frozenset(
    {"update", "notes", "note", "todo", "untitled", "new entry", "draft", "temp", "test", "placeholder", "wip"}
)
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
_STUB = re.compile(r"\bstub\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Subject:
    """The data of an entry that checks use."""

    record: Record
    count_links: Callable[[], int]
    """Returns the number of outgoing links; called only for checks of links."""
    body: Callable[[], str]
    """Returns the text after the frontmatter; called only for checks of the text."""

    def value(self, name: str) -> Json:
        """The value of a field at the top level of the frontmatter, otherwise under `metadata`; None if it is empty."""
        values = self.record.frontmatter
        found = values.get(name)
        if found in (None, "", []):
            found = mapping_of(values.get("metadata")).get(name)
        return None if found in ("", []) else found


@dataclass(frozen=True, slots=True)
class Checker:
    """A check that a rubric item can name."""

    meets: Callable[[Subject, JsonObject], bool]
    """Returns whether an entry passes the check with these parameters."""
    field: str = ""
    """The checked field; "" for none."""
    param: str = ""
    """The required parameter; "" for none."""


def _has_section(subject: Subject, params: JsonObject) -> bool:
    heading = re.escape(text_of(params.get("heading")).strip())
    return re.search(rf"^##\s+{heading}", subject.body(), re.IGNORECASE | re.MULTILINE) is not None


def _has_pattern(subject: Subject, params: JsonObject) -> bool:
    pattern = compiled(text_of(params.get("pattern")), by_line=True)
    return pattern is None or pattern.occurs_in(subject.body()[:MAX_PATTERN_TEXT])


CHECKERS: Mapping[str, Checker] = {
    "descriptive_title": Checker(
        lambda subject, _: subject.record.title.strip().casefold() not in _GENERIC_TITLES, "title"
    ),
    "has_tags": Checker(lambda subject, _: bool(subject.record.tags), "tags"),
    "has_outlinks": Checker(
        lambda subject, _: subject.count_links() > 0 or _STUB.search(subject.body()) is not None, "links"
    ),
    "status_present": Checker(lambda subject, _: subject.value("status") is not None, "status"),
    "priority_present": Checker(lambda subject, _: subject.value("priority") is not None, "priority"),
    "has_field": Checker(
        lambda subject, params: subject.value(text_of(params.get("field"))) is not None, param="field"
    ),
    "has_any_field": Checker(
        lambda subject, params: any(subject.value(text_of(n)) is not None for n in list_of(params.get("fields"))),
        param="fields",
    ),
    "body_has_section": Checker(_has_section, "body", "heading"),
    "body_has_pattern": Checker(_has_pattern, "body", "pattern"),
    "body_has_code_block": Checker(lambda subject, _: _FENCE.search(subject.body()) is not None, "body"),
}
"""The checks by name."""


def unmet_field(item: RubricItem, subject: Subject) -> str | None:
    """The field of a failed item, "" for the whole entry; None if the entry passes the item.

    An item with an unknown checker or without the required parameter passes; `schema.problems` lists it.
    """
    if not item.checker:
        return None if _meets_sentence(item.text, subject) else ""
    checker = CHECKERS.get(item.checker)
    if checker is None or (checker.param and not item.params.get(checker.param)):
        return None
    return None if checker.meets(subject, item.params) else checker.field or text_of(item.params.get("field"))


def _meets_sentence(sentence: str, subject: Subject) -> bool:
    """Whether an entry fulfils a sentence; true if a program cannot check the sentence."""
    counted = _COUNT.search(sentence)
    if counted:
        least = _number((counted["least"] or counted["more"]).lower())
        return _count(counted["noun"].lower(), subject) >= least
    named = _FIELD.search(sentence)
    return named is None or named.group(1).lower() not in _FIELDS or _has(subject, named.group(1).lower())


def _number(text: str) -> int:
    return _NUMBERS[text] if text in _NUMBERS else int(text)


def _count(noun: str, subject: Subject) -> int:
    if noun.startswith("word"):
        return subject.record.words
    if noun.startswith("tag"):
        return len(subject.record.tags)
    if noun.startswith("source"):
        sources = subject.record.frontmatter.get("sources")
        return len(sources) if isinstance(sources, list) else int(sources not in (None, ""))
    return subject.count_links()


def _has(subject: Subject, name: str) -> bool:
    record = subject.record
    known = {"summary": record.description, "description": record.description, "title": record.title}
    return bool(known.get(name) or subject.value(name) is not None)
