"""The part of a long section that answers a question."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain.ranking import CUT, around, chosen_text, excerpt, paragraph_worths, paragraphs, query_words

HAY = "Hay lies on every field, and nobody asks for it."
TEXT = "\n\n".join([HAY] * 4 + ["The crane lifts forty tonnes."] + [HAY] * 4)


def test_a_text_that_fits_is_returned_without_the_blanks_around_it() -> None:
    assert excerpt("\n  The crane.\n\n", ["crane"], 10) == "The crane."


def test_the_paragraph_with_the_words_is_shown_and_the_cuts_are_marked() -> None:
    shown = excerpt(TEXT, ["crane", "tonnes"], 60)
    assert shown == f"{CUT}\nThe crane lifts forty tonnes.\n{CUT}"


def test_room_that_is_left_is_filled_with_whole_neighbours() -> None:
    shown = excerpt(TEXT, ["crane", "tonnes"], 200)
    assert [line for line in shown.splitlines() if line and line not in {HAY, CUT}] == ["The crane lifts forty tonnes."]
    assert shown.count(HAY) == 3


@pytest.mark.parametrize("ending", ["\n\n", "\r\n\r\n", "\n \t\n", "\r\n \r\n\r\n"])
def test_paragraphs_are_found_whatever_the_line_ends(ending: str) -> None:
    text = ending.join([HAY] * 4 + ["The crane lifts forty tonnes."] + [HAY] * 4)
    assert excerpt(text, ["crane"], 60) == f"{CUT}\nThe crane lifts forty tonnes.\n{CUT}"


@each_case("limit", range(-2, 140, 3))
@each_case("text", [TEXT, "x" * 500, "漢字" * 200, "a\n\n" * 100, "🏗️\n\n" * 60])
def test_the_limit_holds_for_every_text(text: str, limit: int) -> None:
    assert len(excerpt(text, ["crane"], limit)) <= max(limit, 0)


def test_without_a_match_the_beginning_is_shown() -> None:
    shown = excerpt("First things.\n\n" + TEXT, ["absent"], 20)
    assert shown == f"First things.\n{CUT}"


def test_a_paragraph_longer_than_the_limit_is_cut_and_marked() -> None:
    shown = excerpt("word " * 100, ["word"], 50)
    assert shown.startswith("word word")
    assert shown.endswith(f"\n{CUT}")


def test_words_are_found_in_either_case() -> None:
    assert "STRASSE" in excerpt(TEXT + "\n\nDIE STRASSE", query_words("Straße"), 50)


@each_case(
    ("question", "words"),
    [
        ("", set[str]()),
        ("Is it in an ox?", set[str]()),
        ("The CRANE, the crane!", {"the", "crane"}),
        ("Größe der Straße", {"grösse", "der", "strasse"}),
        ("Порт и кран", {"порт", "кран"}),
        ("港の管理者", {"港の", "の管", "管理", "理者"}),
    ],
)
def test_the_words_of_a_question_are_those_that_can_tell(question: str, words: set[str]) -> None:
    assert query_words(question) == words


def test_a_question_without_blanks_between_words_finds_its_paragraph() -> None:
    text = "\n\n".join(["船は港にいる。" * 6] * 5 + ["管理者は毎朝クレーンを点検する。"] + ["船は港にいる。" * 6] * 5)
    assert "クレーン" in excerpt(text, query_words("クレーンの点検"), 60)


def test_a_long_paragraph_counts_as_its_lines_and_others_whole() -> None:
    log = "\n".join(f"line {number} of a log that has no blank lines" for number in range(20))
    text = f"Two\nlines.\n\n{log}\n"
    parts = [text[start:end] for start, end in paragraphs(text)]
    assert parts == ["Two\nlines.", *log.split("\n")]
    assert paragraphs("") == paragraphs(" \n\n ") == []


def test_paragraphs_with_rare_words_of_a_question_and_their_neighbours_are_worth_most() -> None:
    (first, second) = paragraph_worths([["green tea", "a kettle", "nothing"], ["green", "green"]], "a green kettle")
    assert max(first) == first[1] == 1.0
    assert first[0] > first[2] > 0
    assert max(second) < first[0]
    assert paragraph_worths([["x"], []], "zzz") == [[0.0], []]


def test_what_is_left_out_around_chosen_paragraphs_is_marked() -> None:
    text = "a\n\nb\n\nc\n\nd"
    spans = paragraphs(text)
    assert chosen_text(text, spans, {0, 1, 2, 3}) == text
    assert chosen_text(text, spans, {0, 2, 3}) == "a\n…\nc\n\nd"
    assert chosen_text(text, spans, {1}) == "…\nb\n…"
    assert chosen_text(text, spans, ()) == ""


@each_case("limit", [40, 100, 250])
@each_case("place", [0, 1, 700, 1499, 2995])
def test_the_part_of_a_long_line_contains_the_words(place: int, limit: int) -> None:
    line = "".join(chr(0x4E00 + number * 7 % 3000) for number in range(3000))
    line = f"{line[:place]}龘靐齉{line[place:]}"
    for shown in (around(line, query_words("龘靐齉"), limit), excerpt(line, query_words("龘靐齉"), limit)):
        assert "龘靐齉" in shown
        assert len(shown) <= limit


def test_the_part_with_most_of_the_words_is_cut_at_blanks() -> None:
    line = "crane " + "word " * 200 + "the crane lifts tonnes " + "tail " * 200
    assert (
        around(line, {"crane", "tonnes"}, 70)
        == f"{CUT}\nword word word word the crane lifts tonnes tail tail tail tail\n{CUT}"
    )
    assert around(line, (), 30) == f"crane word word word word\n{CUT}"
    assert around("short", (), 30) == "short"
    assert around(line, (), 4) == ""
