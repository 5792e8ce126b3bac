"""Brackets around the text of a Markdown link, as in `[[1]](page.md)`, which begin no wikilink.

Whatever reads links or removes them first puts marks in the place of these brackets.
"""

from __future__ import annotations

import re
from collections.abc import Collection

_LINK_WITH_BRACKETS = re.compile(
    r"(?<![\[\\])\[\[([^\[\]\x01\x02]+)\]\]"
    r"(?=\[([^\[\]]+)\]|\([ \t]*(?:<[^<>\n]+>|(?=[^\s()<>]*(?:[/#]|\.[A-Za-z]))(?:[^\s()<>]|\([^\s()<>]*\))+)"
    r"(?:[ \t]+[\"'(][^\n]{0,200}?)?[ \t]*\))"
)
"""A link of Markdown whose text is in brackets: `[[1]](page.md)`, `[[1]][label]`.

The destination has a slash, a suffix, a fragment or angle brackets: in `[[Dog]](s)` a word follows a wikilink.
"""
_BRACKETS = str.maketrans("\x01\x02", "[]")


def with_marked_brackets(text: str, labels: Collection[str] = ()) -> str:
    """The text, of the same length, with marks in place of such brackets; the text itself if it has none.

    Args:
        text: The text.
        labels: The labels of its link reference definitions, by `definition_key`: `[[1]][label]` is a link with one.
    """
    if "]](" not in text and not labels:
        return text

    def with_marks(match: re.Match[str]) -> str:
        is_link = match[2] is None or definition_key(match[2]) in labels
        return f"[\x01{match[1]}\x02]" if is_link else match[0]

    marked = _LINK_WITH_BRACKETS.sub(with_marks, text)
    return text if marked == text else marked


def without_marks(text: str) -> str:
    """The text with brackets in place of the marks."""
    return text.translate(_BRACKETS)


def definition_key(label: str) -> str:
    """The normalized form in which labels of reference links are compared."""
    return " ".join(label.split()).casefold()
