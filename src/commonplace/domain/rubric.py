"""Machine-checkable sentences of an evaluation rubric.

Two forms are checked: a minimum ("at least 50 words", "two or more links"), and a required field ("has a summary",
"names its owner", "states the date"). Every other sentence counts as met: people judge it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from commonplace.domain.query import Record

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


def meets(sentence: str, record: Record, count_links: Callable[[], int]) -> bool:
    """Whether an entry meets a sentence, if a machine can check it; otherwise true.

    Args:
        sentence: One item of the rubric.
        record: The entry.
        count_links: Returns the number of outgoing links; called only if the sentence is about links.
    """
    counted = _COUNT.search(sentence)
    if counted:
        least = _number((counted["least"] or counted["more"]).lower())
        return _count(counted["noun"].lower(), record, count_links) >= least
    named = _FIELD.search(sentence)
    return named is None or named.group(1).lower() not in _FIELDS or _has(record, named.group(1).lower())


def _number(text: str) -> int:
    return _NUMBERS[text] if text in _NUMBERS else int(text)


def _count(noun: str, record: Record, count_links: Callable[[], int]) -> int:
    if noun.startswith("word"):
        return record.words
    if noun.startswith("tag"):
        return len(record.tags)
    if noun.startswith("source"):
        sources = record.frontmatter.get("sources")
        return len(sources) if isinstance(sources, list) else int(sources not in (None, ""))
    return count_links()


def _has(record: Record, name: str) -> bool:
    known = {"summary": record.description, "description": record.description, "title": record.title}
    return bool(known.get(name) or record.frontmatter.get(name) not in (None, "", []))
