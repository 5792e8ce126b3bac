"""The words of a query in a page, matched as a search server matches them."""

from __future__ import annotations

import pytest

from commonplace.toolsets.pages.rules.matched_words import QueryWords, page_excerpt, within_typos

FILLER = "Nothing of that kind is said here, only this. " * 20


def excerpt(query: str, text: str) -> str:
    body = f"{FILLER}\n\n{text}\n\n{FILLER}"
    return page_excerpt(body, QueryWords.of(query).in_text(body))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("gateway", "The Gateway is restarted."),
        ("gatway", "The gateway is restarted."),
        ("postmortm", "Write a postmortem soon."),
        ("accesibilty", "Accessibility matters."),
        ("ccessibility", "Accessibility matters."),
        ("postmor", "Write a postmortem soon."),
        ("postnor", "Write a postmortem soon."),
        ("brulee", "Eat a crème brûlée."),
        ("BRÛLÉE", "Eat a creme brulee."),
        ("развёртыванию", "Руководство по развертыванию здесь."),
        ("数据库迁移", "本周讨论了数据库的迁移。"),
        ("API文档", "请看API文档吧。"),
        ("api", "请看API文档吧。"),
        ("database", "It is a data base of old."),
        ("data base", "It is a database of old."),
        ("how do I use snake_case in my program", "Write snake_case everywhere."),
        ("C++ vector", "A vector<int> grows."),
    ],
)
def test_an_excerpt_shows_the_matched_words(query: str, text: str) -> None:
    assert text[:-1] in excerpt(query, text)


@pytest.mark.parametrize("query", ["hat", "sai", "elephant", "kindly", "12345", "!!!", "→", "", "x" * 500])
def test_a_text_without_the_words_shows_its_beginning(query: str) -> None:
    text = "That was all that was said."
    if query == "sai":  # the last word matches as a prefix
        assert "said" in QueryWords.of(query).in_text(text).words
        query = "sai x"
    assert QueryWords.of(query).in_text(text).words == {}


def test_words_that_are_written_out_hide_those_that_resemble_them() -> None:
    text = "The gatway was a typing error; the gateway was meant."
    assert set(QueryWords.of("gateway ").in_text(text).words) == {"gateway"}
    assert set(QueryWords.of("gatewax ").in_text(text).words) == {"gateway"}


def test_stop_words_of_a_question_are_not_looked_for() -> None:
    text = f"How do I get there with my own? {FILLER} The allocator frees memory."
    assert "allocator frees" in page_excerpt(text, QueryWords.of("how do I get the allocator with my").in_text(text))


@pytest.mark.parametrize(
    ("word", "other", "most", "same"),
    [
        ("word", "word", 0, True),
        ("word", "wrod", 1, True),
        ("word", "words", 1, True),
        ("word", "wor", 1, True),
        ("word", "ward", 1, True),
        ("word", "wars", 1, False),
        ("word", "wars", 2, True),
        ("word", "rowd", 1, False),
        ("a", "abcd", 2, False),
    ],
)
def test_typing_errors_are_counted(word: str, other: str, most: int, *, same: bool) -> None:
    assert within_typos(word, other, most) is same
    assert within_typos(other, word, most) is same
