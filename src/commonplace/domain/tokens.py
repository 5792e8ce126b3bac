"""The size of a text in tokens of a language model, estimated by the scripts of its characters.

A token is four characters of English, and little more than one of Chinese. The weights were fitted to counts of the
encodings o200k_base and cl100k_base on prose in 15 languages, Markdown, source code and JSON; on texts of a page or
more the estimate is within 10 % of either (`tests/unit/domain/test_tokens.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

Encoding = Literal["o200k", "cl100k"]
"""The vocabulary of a model: o200k_base or cl100k_base."""
QUARTERS: Final = 4
"""Units of `size_of` in a token. A unit is about one character of English."""
_MILLITOKENS = 1_000


def _leads(*ranges: tuple[int, int]) -> bytes:
    return b"".join(bytes(range(first, last + 1)) for first, last in ranges)


_LETTERS = _leads((0x61, 0x7A))
_CAPITALS = _leads((0x41, 0x5A))
_DIGITS = _leads((0x30, 0x39))
_BLANKS = b" \t\n\r"
_PUNCTUATION = bytes(byte for byte in range(0x80) if byte not in _LETTERS + _CAPITALS + _DIGITS + _BLANKS)

# The first byte of a character in UTF-8 tells its script; the others weigh nothing.
_ASCII = (_LETTERS, _BLANKS, _PUNCTUATION, _CAPITALS, _DIGITS)
# Models merge punctuation and digits: `"},{"` is one or two tokens. So each run of them weighs, and its length little.
_RUNS = tuple(bytes(0x78 if byte in kind else 0x20 for byte in range(0x100)) for kind in (_PUNCTUATION, _DIGITS))
_OTHERS = (
    _leads((0x80, 0xBF)),
    _leads((0xE4, 0xE9)),  # Han
    _leads((0xD0, 0xD3)),  # Cyrillic
    _leads((0xD4, 0xDF)),  # Armenian, Hebrew, Arabic and other scripts of the Near East
    b"\xe0",  # scripts of India, Thai, Lao
    b"\xce\xcf",  # Greek
    b"\xe3",  # kana, and punctuation of China and Japan
    _leads((0xEA, 0xED)),  # Hangul
    b"\xc2\xc3",  # Latin of Western Europe
    b"\xc4\xc5\xc8",  # Latin of Central Europe, Romania and Turkey
    b"\xe1\xc6\xc7" + _leads((0xC9, 0xCD)),  # Latin of Vietnam, and combining marks
    b"\xe2",  # punctuation and symbols
    b"\xee\xef",  # wide forms
    _leads((0xF0, 0xF7)),  # emoji and rare characters
)
_THAI = (b"\xe0\xb8", b"\xe0\xb9")
_OF_ASCII: Final[dict[Encoding, tuple[int, ...]]] = {
    "o200k": (203, 50, 50, 379, 512),
    "cl100k": (217, 50, 50, 400, 534),
}
_OF_RUNS: Final[dict[Encoding, tuple[int, int]]] = {"o200k": (943, 900), "cl100k": (740, 900)}
_OF_OTHERS: Final[dict[Encoding, tuple[int, ...]]] = {
    "o200k": (0, 805, 274, 367, 360, 401, 918, 747, 968, 1_316, 300, 1_600, 800, 1_800),
    "cl100k": (0, 1_271, 487, 831, 1_198, 1_049, 1_111, 1_327, 2_900, 2_100, 898, 1_600, 800, 2_500),
}
_OF_THAI: Final[dict[Encoding, int]] = {"o200k": 437, "cl100k": 1_003}


def tokens_of(text: str, encoding: Encoding = "o200k") -> int:
    """The size of a text in tokens, rounded up."""
    return -(-_millitokens(_bytes(text), encoding) // _MILLITOKENS)


def size_of(text: str) -> int:
    """The size of a text in quarters of a token, rounded up: sizes of lines add up to little more than that of all."""
    return -(-_millitokens(_bytes(text), "o200k") * QUARTERS // _MILLITOKENS)


def beginning(text: str, room: int) -> str:
    """A beginning of a text that is no larger than `room` quarters of a token, and hardly smaller."""
    left, end, step = room * _MILLITOKENS // QUARTERS, 0, max(len(text), 1)
    while step:
        while end < len(text) and (size := _millitokens(_bytes(text[end : end + step]), "o200k")) <= left:
            left -= size
            end += step
        step //= 2
    return text[:end]


def fitting(cut: Callable[[int], str], text: str, room: int) -> str:
    """A part of a text that is no larger than `room` quarters of a token; "" if there is none.

    Args:
        cut: Returns the part of the text for a maximum number of characters.
        text: The text.
        room: The budget.
    """
    size, limit = size_of(text), len(text)
    while limit > 0 and room > 0:
        limit = limit if size <= room else min(limit * room // size, limit - 1)
        part = cut(limit)
        size = size_of(part)
        if size <= room:
            return part
    return ""


def _millitokens(encoded: bytes, encoding: Encoding) -> int:
    rest = encoded
    total = sum(
        len(encoded.translate(table).split()) * weight for table, weight in zip(_RUNS, _OF_RUNS[encoding], strict=True)
    )
    for characters, weight in zip(_ASCII, _OF_ASCII[encoding], strict=True):
        left = rest.translate(None, characters)
        total += (len(rest) - len(left)) * weight
        rest = left
    if not rest:
        return total
    total += _thai(rest) * (_OF_THAI[encoding] - _OF_OTHERS[encoding][4])
    for characters, weight in zip(_OTHERS, _OF_OTHERS[encoding], strict=True):
        left = rest.translate(None, characters)
        total += (len(rest) - len(left)) * weight
        if not left:
            break
        rest = left
    return total


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _thai(encoded: bytes) -> int:
    """Number of characters of Thai."""
    return sum(map(encoded.count, _THAI))
