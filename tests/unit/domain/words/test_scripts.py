"""Rules of searching for single scripts."""

from __future__ import annotations

from cases import each_case
from commonplace.domain.words.scripts import fold_letters, language_of_script


@each_case(
    ("written", "folded"),
    [
        ("المكتبة", "مكتب"),
        ("والكتاب", "كتاب"),
        ("للمدير", "مدير"),
        ("مكتبات", "مكتب"),
        ("على", "علي"),
        ("کتاب", "كتاب"),
        ("من", "من"),
        ("١٩٢٣", "1923"),
        ("λόγος", "λόγοσ"),
        ("plain é русский", "plain é русский"),
    ],
)
def test_letters_are_written_in_one_way_and_arabic_words_without_articles(written: str, folded: str) -> None:
    assert fold_letters(written) == folded


@each_case(("word", "language"), [("языки", "russian"), ("λογος", "greek"), ("word", ""), ("كتاب", ""), ("数", "")])
def test_some_scripts_tell_whose_rules_words_follow(word: str, language: str) -> None:
    assert language_of_script(word) == language
