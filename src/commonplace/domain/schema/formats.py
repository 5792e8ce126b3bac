"""Named formats of texts, such as dates and URLs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[T ][0-9]{2}:[0-9]{2}.*)?")
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_EMAIL = re.compile(r"[^\s@]{1,64}@[^\s@.]+(?:\.[^\s@.]+)+")
_ID = re.compile(r"[^\W_](?:[\w./-]*\w)?")


def is_date(text: str) -> bool:
    """Whether a text is a calendar date `YYYY-MM-DD`, optionally followed by a time."""
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    year, month, day = (int(part) for part in match.groups())
    if not 1 <= month <= len(_DAYS) or not 1 <= day <= _DAYS[month - 1]:
        return False
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return (month, day) != (2, 29) or leap


def is_moment(text: str) -> bool:
    """Whether a text is a calendar date with a time, `YYYY-MM-DDTHH:MM` or longer."""
    return is_date(text) and len(text) > len("YYYY-MM-DD")


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme and (parts.netloc or parts.scheme == "mailto") and not re.search(r"\s", text))


FORMATS: Mapping[str, tuple[str, Callable[[str], bool]]] = {
    "iso8601": ("a date YYYY-MM-DD (ISO8601)", is_date),
    "date": ("a date YYYY-MM-DD", is_date),
    "datetime": ("a date and a time YYYY-MM-DDTHH:MM", is_moment),
    "url": ("a URL such as https://example.org/page", _is_url),
    "uri": ("a URI such as https://example.org/page", _is_url),
    "email": ("an email address", lambda text: _EMAIL.fullmatch(text) is not None),
    "id": ("an id such as alpha-beta", lambda text: _ID.fullmatch(text) is not None),
}
"""Named formats, by name in lower case: description of a valid value, and the test."""
