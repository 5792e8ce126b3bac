"""Text of files whose encoding nobody declares."""

from __future__ import annotations

from cases import each_case
from commonplace.domain.words.text_decoder import decoded


@each_case("text", ["", "Tea\n", "Ärger mit Öfen  “so” €", "知识库", "\ufefföl"])
def test_utf8_is_read_as_it_is(text: str) -> None:
    assert decoded(text.encode()) == text


def test_what_windows_editors_wrote_is_read() -> None:
    text = "# Ärger mit Öfen\r\n\r\n“Größe” 5 €\r\n"
    assert decoded(text.encode("cp1252")) == text


def test_a_file_with_both_is_read_as_well_as_can_be() -> None:
    assert decoded("grün ".encode() + "grün ".encode("cp1252") + "绿".encode()) == "grün grün 绿"


def test_a_byte_that_is_no_character_anywhere_is_replaced() -> None:
    assert decoded(b"a\x81b") == "a\ufffdb"


def test_a_cut_character_loses_nothing_after_it() -> None:
    assert decoded("知".encode()[:2] + b" tea").endswith(" tea")
