"""Language and direction of a document."""

from __future__ import annotations

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.faces.web.markup.code import language_and_direction

ENGLISH = "The quick brown fox jumps over the lazy dog and this is what it was for the people that have been there."
GERMAN = "Der schnelle Fuchs springt über den faulen Hund, und das ist nicht alles, was wir von ihm wissen und sehen."
FRENCH = "Le renard rapide saute par-dessus le chien paresseux, et ce n'est pas tout ce que nous savons dans les bois."


def of(text: str | bytes) -> tuple[str, str]:
    return language_and_direction(read_document(Address("a.md"), text if isinstance(text, bytes) else text.encode()))


@each_case(
    ("text", "expected"),
    [
        ("", ("en", "ltr")),
        ("12 + 3 = 15", ("en", "ltr")),
        (ENGLISH, ("en", "ltr")),
        (GERMAN, ("de", "ltr")),
        (FRENCH, ("fr", "ltr")),
        ("これは日本語の文章です。漢字も混ざる。", ("ja", "ltr")),
        ("这是一个中文句子。", ("zh", "ltr")),
        ("이것은 한국어 문장입니다.", ("ko", "ltr")),
        ("זה משפט בעברית.", ("he", "rtl")),
        ("هذه جملة بالعربية.", ("ar", "rtl")),
        ("Αυτή είναι μια πρόταση.", ("el", "ltr")),
        ("😀 🎉", ("en", "ltr")),
    ],
)
def test_the_language_is_guessed_from_the_text(text: str, expected: tuple[str, str]) -> None:
    assert of(text) == expected


@each_case(
    ("said", "expected"),
    [
        ("lang: de", "de"),
        ("language: pt-BR", "pt-BR"),
        ("lang: 5", "en"),
        ("lang: [de]", "en"),
        ('lang: "de\\"x"', "en"),
    ],
)
def test_what_the_front_matter_says_counts_if_it_is_a_language_tag(said: str, expected: str) -> None:
    assert of(f"---\n{said}\n---\n{ENGLISH}\n")[0] == expected


def test_the_front_matter_is_no_part_of_the_text() -> None:
    assert of(f"---\ntitle: {GERMAN}\n---\nזה משפט בעברית.\n") == ("he", "rtl")


def test_text_that_is_no_utf8_has_a_language_too() -> None:
    assert of(b"\xff\xfe " + ENGLISH.encode()) == ("en", "ltr")
