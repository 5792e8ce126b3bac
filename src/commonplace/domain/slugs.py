"""Names made of titles and headings: the id of a new document, the anchor of a heading, its form in comparisons."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from commonplace.domain.addresses import MAX_COMPONENT_BYTES, fold
from commonplace.domain.errors import InvalidInputError

MAX_SLUG_BYTES = MAX_COMPONENT_BYTES - len(".md")

_ASCII_ANCHOR: dict[int, str | None] = {
    code: chr(code) if chr(code).isalnum() or chr(code) in "_-" else "-" if chr(code) == " " else None
    for code in range(128)
}
_NOT_COMPARED = re.compile(r"[!\"#$%&()*+,.:;<=>?@^`{|}~/\[\]\\]")
"""The characters that Obsidian's `stripHeading` replaces by blanks (docs/links.md); not among them: `'`, `-`, `_`."""
_NOT_IN_LINKS = re.compile(r"[:#|^\\]|%%|\[\[|\]\]|[\[\]]")
"""The characters that Obsidian's `stripHeadingForLink` replaces by blanks, and single brackets."""
_NOT_IN_SLUGS = re.compile(r"[^a-z0-9]+")
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")  # variation selectors, which choose a glyph
_ANCHOR_NUMBERS = frozenset({"Nd", "Nl", "Pc"})


@lru_cache(maxsize=4096)
def anchor(heading: str) -> str:
    """The fragment by which GitHub and most renderers link to a heading, before it is made unique in the document.

    The result is in lower case. Letters, marks and digits of any script, `_` and `-` are preserved, blanks become `-`,
    and all other characters are removed. The result can be "".
    """
    text = heading.strip().lower()
    if text.isascii():
        return text.translate(_ASCII_ANCHOR)
    return "".join([c for c in text if _in_anchor(c)]).replace(" ", "-")


def heading_in_link(heading: str) -> str:
    """A heading as Obsidian writes it after the `#` of a link: characters with a meaning in links are blanks."""
    return " ".join(_NOT_IN_LINKS.sub(" ", heading).split())


@lru_cache(maxsize=4096)
def comparable_heading(heading: str) -> str:
    """The form in which Obsidian compares a heading with a link to it: marks and punctuation are blanks.

    Case, width and Unicode normalization are ignored. The result is "" if the heading consists of such characters.
    """
    return fold(" ".join(_NOT_COMPARED.sub(" ", heading).split()))


def slug(title: str) -> str:
    """The id of a new document: letters and digits of any script in lower case; other characters become one `-`.

    The result is NFC and at most 252 bytes of UTF-8, so that `{slug}.md` is a valid file name on every system. If the
    title consists of symbols only, the slug consists of their Unicode names (`rocket` for a rocket).

    Raises:
        InvalidInputError: the title consists of punctuation and blanks, or contains a lone surrogate.
    """
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", title).lower())
    if text.isascii():
        result = _trimmed(_NOT_IN_SLUGS.sub(" ", text))
    else:
        result = _trimmed(_letters(text)) or _trimmed(" ".join(map(_symbol_name, text)))
    if not result:
        raise InvalidInputError(
            "The title contains no letter, digit or symbol to make an id from.",
            kind="title",
            hint="Give a title with at least one letter or digit.",
        )
    return result


def _in_anchor(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] in "LM" or character in "- " or category in _ANCHOR_NUMBERS


def _letters(text: str) -> str:
    """The text with blanks in place of everything but letters, marks and digits; "" if only marks remain."""
    plain = _SELECTORS.sub("", text)
    kept_texts = [c if unicodedata.category(c)[0] in "LMN" else " " for c in plain]
    return "".join(kept_texts) if any(c.isalnum() for c in kept_texts) else ""


def _trimmed(text: str) -> str:
    """The words joined by `-`, cut to `MAX_SLUG_BYTES` after a whole character."""
    return "-".join(text.split()).encode()[:MAX_SLUG_BYTES].decode("utf-8", "ignore").rstrip("-")


def _symbol_name(character: str) -> str:
    if unicodedata.category(character) not in {"So", "Sm", "Sc", "Sk", "Co"}:
        return ""
    name = unicodedata.name(character, f"u{ord(character):x}").lower()
    return _NOT_IN_SLUGS.sub(" ", name)
