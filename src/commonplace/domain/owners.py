"""Owners of pages: `owner` in the front matter, else the last matching line of a CODEOWNERS file."""

from __future__ import annotations

import re
from collections.abc import Sequence

from commonplace.domain.json import Json, JsonObject

CODEOWNERS_FILES = ("CODEOWNERS", ".github/CODEOWNERS", "docs/CODEOWNERS")
OWNER_KEYS = ("owner", "owners", "maintainer", "maintainers")
MAX_LINES = 10_000
"""Maximum number of lines of a CODEOWNERS file that are read."""


def declared_owners(values: JsonObject) -> tuple[str, ...]:
    """The owners that a front matter names; empty if it names none."""
    return next((names for key in OWNER_KEYS if (names := _names(values.get(key)))), ())


def _names(value: Json) -> tuple[str, ...]:
    listed = value if isinstance(value, (list, tuple)) else [value]
    return tuple(element.strip() for element in listed if isinstance(element, str) and element.strip())


class CodeOwners:
    """The rules of a CODEOWNERS file, in the form that code forges read.

    Args:
        text: The file; invalid lines are ignored.
    """

    def __init__(self, text: str) -> None:
        self._rules: list[tuple[re.Pattern[str], tuple[str, ...]]] = []
        for line in text.split("\n", MAX_LINES)[:MAX_LINES]:
            pattern, *owners = line.partition(" #")[0].split() or [""]
            if pattern and not pattern.startswith(("#", "[", "!")):
                self._rules.append((_pattern(pattern), tuple(owners)))

    def of(self, path: str) -> Sequence[str]:
        """The owners of a file; empty for none."""
        return next((owners for pattern, owners in reversed(self._rules) if pattern.match(path)), ())


def _pattern(written: str) -> re.Pattern[str]:
    """A pattern of gitignore(5) without negation and ranges, as a regular expression without backtracking."""
    anchored = "/" in written.rstrip("/")
    bare = written.strip("/")
    parts = [
        {"**": ".*", "*": "[^/]*", "?": "[^/]"}.get(part, re.escape(part)) for part in re.split(r"(\*\*|\*|\?)", bare)
    ]
    below = "/.*" if written.endswith("/") else "(?:/.*)?"
    if bare.endswith("/*"):
        below = ""
    return re.compile(("" if anchored else "(?:.*/)?") + "".join(parts) + below + r"\Z")
