"""The commonest front matter read without a YAML parser: lines of `key: value` and nothing else.

Nine of ten real blocks are such, and cost a quarter so. Whatever is not certainly understood is left to the parser.
"""

from __future__ import annotations

import re
from functools import cache

from commonplace.domain.json import Json
from commonplace.domain.yamlblock.scalars import plain_value

_QUOTED = r"[ !#-\[\]-~\u00a1-\u1fff\u3000-\ud7ff]*+"
"""Between double quotation marks: nothing escaped, nothing that YAML takes for a line break or refuses."""


def read_plain(text: str) -> dict[str, Json] | None:
    """What a block says whose lines all are a key and a text, number, word or list of quoted texts; None for others."""
    values: dict[str, Json] = {}
    understood = _line().fullmatch
    for line in text.split("\n"):
        stripped = line.rstrip(" \r")
        if not stripped:
            continue
        found = understood(stripped)
        if not found:
            return None
        key, plain, quoted, listed = found.groups()
        if key in values:
            return None
        if plain is not None:
            values[key] = plain_value(plain)
        else:
            values[key] = listed.split('", "') if quoted is None else quoted
    return values or None


@cache
def _line() -> re.Pattern[str]:
    """Pattern of a supported line. Compiled lazily to keep start-up fast.

    Atomic groups, here and elsewhere: Python before 3.11.5 matches wrongly where `*+` stands behind alternatives.
    """
    return re.compile(
        r"(?P<key>[A-Za-z_](?:[A-Za-z0-9_.\-]| (?=[A-Za-z0-9])){0,100}): +(?:"
        # A colon before a blank and a mark of a comment behind one end a plain text.
        r"(?P<plain>[A-Za-z0-9\u00c0-\u1fff\u3040-\ud7ff]"
        r"(?>(?:[!\"$-9;-~\u00a1-\u1fff\u3000-\ud7ff]|:(?! |\Z)|(?<! )\#| (?! |\Z))*))"
        rf'|"(?P<quoted>{_QUOTED})"'
        rf'|\["(?P<list>{_QUOTED}(?>(?:", "{_QUOTED})*))"\])'
    )
