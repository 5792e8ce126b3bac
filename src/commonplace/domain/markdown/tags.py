"""`#tags` in a body, by Obsidian's rules: any script, nested by `/`, not only digits, not in code or links."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence

# The mark must follow nothing, a blank or an opening bracket. \x80 may end an ideographic space, which is checked
# afterwards.
_CANDIDATE = re.compile(rb"#(?<![^\s(|>*\x80]#)([^\x00-\x20!-,.:-@\[-^`{-~\x7f]++)")
_END = re.compile(
    r"[\s\u0080-\u00bf\u2000-\u200b\u200e-\u206f\u3000-\u303f\ufe30-\ufe4f\uff00-\uff0f\uff1a-\uff20\ufffd]"
)
_WIDE_BLANK = "\u3000".encode()


def body_tags(
    body: bytes, hidden: Sequence[tuple[int, int]], definitions: Callable[[], Iterable[tuple[int, int]]]
) -> Iterator[str]:
    """The tags of a body in order, duplicates included, without `#`.

    Args:
        body: The text after the frontmatter.
        hidden: Ranges without tags (code, links), not overlapping.
        definitions: Returns the ranges of link reference definitions; called only if there may be tags.
    """
    candidates = _outside(list(_CANDIDATE.finditer(body)), hidden)
    # Definitions are only parsed if there are candidates, because this costs more than all other steps.
    for match in _outside(candidates, definitions()) if candidates else ():
        at = match.start()
        if body[at - 1 : at] == b"\x80" and not body.endswith(_WIDE_BLANK, 0, at):
            continue
        if body.endswith(b"](", 0, at):  # a link's target, where a table's `|` or an escape hides the link
            continue
        tag = _END.split(match[1].decode("utf-8", "replace"), maxsplit=1)[0].strip("/")
        if not all(c.isdigit() or c in "/-_" for c in tag):
            yield tag


def _outside(candidates: list[re.Match[bytes]], hidden: Iterable[tuple[int, int]]) -> list[re.Match[bytes]]:
    """The candidates that begin outside of these ranges, which do not overlap."""
    if not candidates:
        return []
    ranges = sorted(hidden)
    starts = [start for start, _ in ranges]
    befores = [bisect_right(starts, match.start()) - 1 for match in candidates]
    return [
        match
        for match, before in zip(candidates, befores, strict=True)
        if before < 0 or match.start() >= ranges[before][1]
    ]
