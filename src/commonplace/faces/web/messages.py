"""The words of pages in the language that a base declares: catalogues by their English text, amounts and times.

The catalogues are in `languages/`, one JSON file each, with the texts of pages and those of scripts. A text that has no
translation stays English.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from markupsafe import Markup, escape

from commonplace.domain.json import mapping_of, text_of
from commonplace.domain.site_file import ENGLISH
from commonplace.domain.words import amounts

CATALOGUES = Path(__file__).parent / "languages"
_MINUTE, _HOUR, _DAY, _MONTH = 60, 3_600, 86_400, 30 * 86_400
_UNITS = ((_MONTH * 12, "year"), (_MONTH, "month"), (_DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute"))
_SEPARATORS = {"de": ".", "es": ".", "fr": "\u202f"}
"""Signs between thousands; a comma in other languages."""


@dataclass(frozen=True, slots=True)
class MessageCatalogue:
    """The words of pages in one language."""

    language: str
    pages: Mapping[str, str]
    """Texts of pages by their English text."""
    scripts: Mapping[str, str]
    """Texts that scripts show, by their English text."""

    def text(self, english: str, /, **values: object) -> Markup:
        """A text with its values; values that are not HTML are escaped."""
        return escape(self.pages.get(english, english)).format(**values)

    def plain(self, english: str, /, **values: object) -> str:
        """A text with its values, not escaped."""
        return self.pages.get(english, english).format(**values)

    def amount(self, number: int, noun: str = "page") -> str:
        """A number with its noun: `1 page`, `2,000 pages`."""
        english = f"1 {noun}" if number == 1 else f"{{n}} {noun}s"
        text = self.pages.get(english)
        return text.format(n=self.thousands(number)) if text else amounts.amount(number, noun)

    def ago(self, seconds: int) -> str:
        """The time since a moment, in one unit, such as `3 days ago`."""
        passed = max(int(datetime.now(UTC).timestamp()) - seconds, 0)
        for unit, name in _UNITS:
            if passed >= unit:
                count = passed // unit
                english = f"1 {name} ago" if count == 1 else f"{{n}} {name}s ago"
                return self.pages.get(english, english).format(n=count)
        return self.pages.get("just now", "just now")

    def thousands(self, number: int) -> str:
        """A number with the language's signs between thousands."""
        return f"{number:,}".replace(",", _SEPARATORS.get(self.language, ","))


@cache
def message_catalogue(language: str) -> MessageCatalogue:
    """The words of a language of `site_file.LANGUAGES`."""
    if language == ENGLISH:
        return MessageCatalogue(language, {}, {})
    catalogue = mapping_of(json.loads((CATALOGUES / f"{language}.json").read_text("utf-8")))
    pages, scripts = (
        {key: text_of(value) for key, value in mapping_of(catalogue.get(part)).items()} for part in ("pages", "scripts")
    )
    return MessageCatalogue(language, pages, scripts)


ENGLISH_WORDS = message_catalogue(ENGLISH)
"""The words of pages that are in no other language."""
