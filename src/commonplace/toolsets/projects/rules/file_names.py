"""Names of files and folders from titles and ids."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from hashlib import sha256

from commonplace.domain import slugs
from commonplace.domain.addresses import MAX_COMPONENT_BYTES
from commonplace.domain.errors import InvalidInputError

DOCUMENT_SUFFIX = ".md"
_MAX_SLUG_BYTES = MAX_COMPONENT_BYTES - len(DOCUMENT_SUFFIX)
_MAX_TASK_SLUG_BYTES = 100
_HASH_DIGITS = 8

_WORDS = str.maketrans({"&": "and", "$": "dollar", "+": "plus", "#": "sharp"})
_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "þ": "th", "ħ": "h", "\u0131": "i"}
)
_BLANKS = re.compile(r"[\s\-]+")


def file_slug(filename: str) -> str:
    """The file name of a new document: `User's Guide & FAQ` becomes `users-guide-and-faq.md`."""
    stem = filename.strip()
    if stem.lower().endswith(DOCUMENT_SUFFIX):
        stem = stem[: -len(DOCUMENT_SUFFIX)]
    return ascii_slug(stem) + DOCUMENT_SUFFIX


def folder_slug(project_id: str, taken: Callable[[str], bool]) -> str:
    """The folder name of a new project: its slug; if that is taken, with the first free number."""
    base = ascii_slug(project_id)
    if not taken(base):
        return base
    number = 2
    while taken(f"{base[: _MAX_SLUG_BYTES // 4]}-{number}"):
        number += 1
    return f"{base[: _MAX_SLUG_BYTES // 4]}-{number}"


def task_slug(title: str) -> str:
    """The slug of a task's title in its file name."""
    return ascii_slug(title, _MAX_TASK_SLUG_BYTES)


def ascii_slug(text: str, most: int = _MAX_SLUG_BYTES) -> str:
    """A slug: lower case, Latin accents removed, named signs spelled out, other marks dropped, blanks as `-`.

    Letters of other scripts stay. A text of symbols only gets their Unicode names. A text of punctuation only gets a
    name
    from its hash. A name that is too long is truncated and ends with that hash.

    Args:
        text: The text, not empty.
        most: Maximum length in bytes of UTF-8.
    """
    plain = unicodedata.normalize("NFC", text).lower().translate(_WORDS)
    kept_text = "".join(_latin(character) for character in plain)
    result = _BLANKS.sub("-", "".join(filter(_is_kept, unicodedata.normalize("NFC", kept_text)))).strip("-")
    if not any(character.isalnum() for character in result):
        result = _named(text)
    if len(result.encode()) <= most:
        return result
    cut = result.encode()[: most - _HASH_DIGITS - 1].decode("utf-8", "ignore").rstrip("-")
    return f"{cut}-{_hash(text)}"


def _latin(character: str) -> str:
    """A Latin letter without accents; "" for a combining accent; any other character unchanged."""
    if character.isascii():
        return character
    if character in "\u0300\u0301\u0302\u0303\u0308\u030a\u0327\u0328\u030c":
        return ""
    decomposed = unicodedata.normalize("NFKD", character.translate(_LETTERS))
    bare = "".join(c for c in decomposed if not unicodedata.combining(c))
    return bare.lower() if bare.isascii() and bare.isalnum() else character


def _is_kept(character: str) -> bool:
    return character in " -" or character.isspace() or unicodedata.category(character)[0] in "LMN"


def _named(text: str) -> str:
    try:
        return slugs.slug(text)
    except InvalidInputError:
        return f"x{_hash(text)}"


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:_HASH_DIGITS]
