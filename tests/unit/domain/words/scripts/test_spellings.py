"""Other spellings of a word."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain.words.scripts import spellings

ENGLISH = (
    ("colour", "color"), ("behaviours", "behaviors"), ("organisation", "organization"), ("analysing", "analyzing"),
    ("centre", "center"), ("catalogue", "catalog"), ("defence", "defense"), ("programmes", "programs"),
    ("cancelled", "canceled"), ("ageing", "aging"), ("judgement", "judgment"), ("sulphur", "sulfur"),
    ("haematology", "hematology"), ("oestrogen", "estrogen"),
)  # fmt: skip


@each_case(("one", "other"), ENGLISH)
def test_british_and_american_spellings_lead_to_each_other(one: str, other: str) -> None:
    assert other in spellings(one, "english")
    assert one in spellings(other, "english")


def test_german_umlauts_may_be_two_letters() -> None:
    assert list(spellings("loeschen", "german")) == ["loschen"]
    assert "loeschen" in spellings("loschen", "german")


@each_case(
    ("word", "other"),
    [("fourth", "forth"), ("source", "sorce"), ("shoes", "shes"), ("prize", "prise"), ("hour", "hor")],
)
def test_common_words_do_not_become_others(word: str, other: str) -> None:
    assert other not in spellings(word, "english")


@pytest.mark.parametrize("word", ["utf8x", "größe", "our", "цвета"])
def test_short_words_and_those_with_other_signs_have_one_spelling(word: str) -> None:
    assert list(spellings(word, "english")) == []


def test_a_language_without_rules_has_one_spelling() -> None:
    assert list(spellings("couleur", "french")) == []
