"""Languages of searches and their function words."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain.languages import STOP_WORDS, content_words, language_of


@each_case(
    ("text", "language"),
    [
        ("how do i restore the database", "english"),
        ("wie stelle ich die datenbank wieder her", "german"),
        ("comment restaurer la base de donnees", "french"),
        ("como se restaura la base de datos", "spanish"),
        ("come si ripristina il database", "italian"),
        ("как восстановить базу данных", "russian"),
        ("какой порт", "russian"),
        ("كيف استعيد قاعده من نسخه", "arabic"),
        ("hoe herstel ik de database", "dutch"),
    ],
)
def test_function_words_tell_the_language(text: str, language: str) -> None:
    assert language_of(set(text.split()), lambda _: 0.0) == language


def test_without_function_words_the_language_of_the_documents_counts() -> None:
    german = {"der": 0.9, "und": 0.9, "ist": 0.8}
    assert language_of({"datenbank", "sicherung"}, lambda word: german.get(word, 0.0)) == "german"
    assert language_of({"datenbank", "sicherung"}, lambda _: 0.0) == "english"


def test_long_questions_lose_their_function_words() -> None:
    words = ["how", "do", "i", "restore", "the", "database"]
    assert content_words(words, "english") == ["restore", "database"]


@pytest.mark.parametrize("text", ["to be or not to be", "the who", "what is it"])
def test_a_search_of_function_words_keeps_them(text: str) -> None:
    assert content_words(text.split(), "english") == text.split()


def test_stop_words_are_in_the_folded_form_of_the_index() -> None:
    for name, stops in STOP_WORDS.items():
        assert all(word == word.lower() and (word.isascii() or name in {"russian", "arabic"}) for word in stops)
