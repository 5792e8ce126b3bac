"""Runs of characters that stand for words in scripts without blanks."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain.words.grams import (
    WORD,
    begins_word,
    ends_word,
    grams,
    is_whole,
    parted_names,
    sought_grams,
    sought_tokens,
    tokens,
    without_grams,
)


@each_case(
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


@each_case(
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


@each_case(
    ("text", "whole", "sought"),
    [
        ("使用python编写", "使用 用 python 编写 写", "使用 用 python 编写"),
        ("第3章", "第 3 章", "第 3 章"),
        ("2023年1月に", "2023 年 1 月に に", "2023 年 1 月に"),
        ("บทที่3", "บทท ทที ที่ ี่ ่ 3", "บทท ทที ที่ ี่ ่ 3"),
        ("한국 x", "한국 국 x", "한국 국 x"),
        ("שלך数据x", "שלך 数据 据 x", "שלך 数据 据 x"),
        ("plain", "", ""),
        ("", "", ""),
    ],
)
def test_words_and_grams_stand_in_the_order_of_the_text(text: str, whole: str, sought: str) -> None:
    assert (" ".join(tokens(text, str.split)), " ".join(sought_tokens(text, str.split))) == (whole, sought)


def test_a_word_ends_and_begins_at_the_border_of_scripts() -> None:
    text = "使用Python3编写x"
    assert WORD.findall(text) == ["Python3", "x"]
    assert (begins_word(text, 2), begins_word(text, 3), begins_word(text, 11)) == (True, False, True)
    assert (ends_word(text, 9), ends_word(text, 8), ends_word(text, 12)) == (True, False, True)


def test_ten_thousand_words_of_two_scripts_are_cut_alike() -> None:
    text = "版本2号x" * 10_000
    assert len(tokens(text, str.split)) == len(grams(text)) + 20_000
    assert WORD.findall(text) == ["2", "x"] * 10_000


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Redis7 and redis7", "Redis 7\nredis 7"), ("使用Python3.11写", "Python 3.11"), ("Größe12", "Größe 12"),
        ("v2, a1b2, 8080, 0x1F, abc123def, 第3章", ""), ("x2python3", ""),
    ],
)  # fmt: skip
def test_a_name_with_a_number_is_two_words(text: str, names: str) -> None:
    assert parted_names(text) == names
