"""Line ends: inserted text gets the line ends of its document, even if these are mixed."""

from __future__ import annotations

import re
from itertools import takewhile

from commonplace.domain.errors import InvalidInputError

_LINE_END = re.compile(r"(\r\n|\r|\n)")


def with_unix_line_ends(text: str) -> str:
    r"""The text with every line end as `\n`."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def lines_of(text: str) -> list[str]:
    r"""The lines of a text as in Markdown and Git, without line ends. `str.splitlines` would also split at U+2028."""
    lines = with_unix_line_ends(text).split("\n")
    return lines[:-1] if not lines[-1] else lines


def utf8(text: str) -> bytes:
    """The text as UTF-8.

    Raises:
        InvalidInputError: the text contains a lone surrogate.
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InvalidInputError(
            "The text contains a lone surrogate, which is not valid Unicode.", kind="text"
        ) from None


def is_mixed(raw: bytes) -> bool:
    """Whether a document has several kinds of line ends, or a lone carriage return."""
    windows = raw.count(b"\r\n")
    return len({windows, raw.count(b"\n"), raw.count(b"\r")}) > 1 and bool(windows or b"\r" in raw)


def with_line_ends(text: str, newline: str, replaced: bytes = b"") -> bytes:
    r"""The text encoded, with other line ends.

    Args:
        text: Text with every line end as `\n`.
        newline: The new line end.
        replaced: In a document with mixed line ends, the bytes that the text replaces; unchanged lines preserve their
            line ends, and other lines get the line end of these bytes if all of theirs are the same.

    Raises:
        InvalidInputError: the text contains a lone surrogate.
    """
    if not replaced:
        return utf8(text if newline == "\n" else text.replace("\n", newline))
    pieces = _LINE_END.split(replaced.decode("utf-8", "replace"))
    old = list(zip(pieces[::2], [*pieces[1::2], ""], strict=True))
    kinds = set(pieces[1::2])
    newline = kinds.pop() if kinds in ({"\n"}, {"\r\n"}) else newline
    new = text.split("\n")
    ends = _kept_ends(old, new, newline)
    return utf8("".join([line + end for line, end in zip(new, ends, strict=True)]))


def _kept_ends(old: list[tuple[str, str]], new: list[str], newline: str) -> list[str]:
    """The line end of each new line: that of the same old line, matched by position from either side, or by text."""
    known = dict(old)
    ends = [known.get(line) or newline for line in new]
    same = _in_common([line for line, _ in old], new)
    ends[:same] = [end or newline for _, end in old[:same]]
    rest = min(_in_common([line for line, _ in reversed(old)], list(reversed(new))), len(new) - same)
    if rest:
        ends[-rest:] = [end or newline for _, end in old[-rest:]]
    ends[-1] = ""
    for at in reversed(range(len(ends) - 1)):
        if ends[at] == "\r" and not new[at + 1] and ends[at + 1].startswith("\n"):
            ends[at] = newline  # a carriage return and a line feed would be read as one line end
    return ends


def _in_common(one: list[str], other: list[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
