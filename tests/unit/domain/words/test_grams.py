"""Runs of characters that stand for words in scripts without blanks."""

from __future__ import annotations

import pytest

from commonplace.domain.words.grams import grams, is_whole, sought_grams, without_grams


@pytest.mark.parametrize(
    ("text", "indexed"),
    [
        ("知识库 und 数", ["知识", "识库", "库", "数"]),
        ("한국어", ["한국", "국어", "어"]),
        ("กาแฟ x", ["กาแ", "าแฟ", "แฟ", "ฟ"]),
        ("ខ្មែរ", ["ខ្ម", "្មែ", "មែរ", "ែរ", "រ"]),
        ("plain text \u2013 with dashes", []),
        ("ascii", []),
    ],
)
def test_ideographs_and_syllables_are_indexed_by_two_and_letters_by_three(text: str, indexed: list[str]) -> None:
    assert grams(text) == indexed


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("知识库", ["知识", "识库"]),
        ("库", ["库"]),
        ("กาแฟ", ["กาแ", "าแฟ"]),
        ("กา", ["กา"]),
        ("กา 库", ["กา", "库"]),
        ("กา 知识", ["知识"]),
        ("plain", []),
    ],
)
def test_whole_grams_are_sought_and_only_without_any_the_beginnings_of_some(text: str, wanted: list[str]) -> None:
    assert sought_grams(text) == wanted


@pytest.mark.parametrize("gram", ["知识", "กาแ", "word"])
def test_a_gram_of_its_scripts_length_is_whole(gram: str) -> None:
    assert is_whole(gram)


@pytest.mark.parametrize("gram", ["知", "กา", "ก"])
def test_a_shorter_one_is_the_beginning_of_others(gram: str) -> None:
    assert not is_whole(gram)


def test_what_grams_stand_for_is_no_word() -> None:
    assert without_grams("a知b กา") == "a b  "
