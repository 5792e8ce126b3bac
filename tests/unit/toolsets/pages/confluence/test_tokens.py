"""Tokens are nested and tidy."""

from __future__ import annotations

import pytest

from commonplace.toolsets.pages.confluence.tokens import Token, blocks_of, pair, tidied, words


def test_spaces_stand_only_between_words() -> None:
    tokens = [Token("open", "p"), *words(" a  b "), Token("leaf", "break"), *words(" c "), Token("close", "p")]
    kinds = [token.kind for token in tidied(tokens)]
    assert kinds == ["open", "word", "space", "word", "leaf", "word", "close"]
    assert [len(block.tokens) for block in blocks_of([*tokens, Token("leaf", "rule")])] == [len(tokens), 1]


def test_ends_have_starts() -> None:
    for tokens in ([Token("open", "p")], [Token("close", "p")], [Token("open", "p"), Token("close", "li")]):
        with pytest.raises(ValueError, match="line"):
            pair(tokens)
