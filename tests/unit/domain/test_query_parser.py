"""Taking a search apart and folding text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import each_case
from commonplace.domain.query_parser import PhraseTerms, count_each, parse_query
from commonplace.domain.words.scripts import accented_words, fold_text

ARABIC = re.compile("[\u0600-\u06ff\ufb50-\ufdff\ufe70-\ufeff]")
"""Letters of words that lose their article and endings, which may uncover others."""


def words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


def test_words_are_taken_in_order_and_as_often_as_written() -> None:
    question = parse_query("red Blue red", words)
    assert question.words == ("red", "blue", "red")
    assert count_each(question.words) == {"red": 2, "blue": 1}


def test_quotations_are_phrases_and_a_minus_excludes() -> None:
    question = parse_query('find "two words" -not -"that one" rest', words)
    assert question.words == ("find", "rest")
    assert question.phrases == (PhraseTerms(("two", "words")),)
    assert question.excluded == (PhraseTerms(("not",)), PhraseTerms(("that", "one")))


@each_case(
    "quotes",
    [
        "“two words”", "„two words“", "„two words”", "”two words”", "«two words»", "»two words«", "« two words »",
        "\u2039two words\u203a", "「two words」", "『two words』", "｢two words｣", "《two words》", "〝two words〟",
        "\uff02two words\uff02",
    ],
)  # fmt: skip
def test_quotation_marks_of_all_languages_quote(quotes: str) -> None:
    assert parse_query(quotes, words).phrases == (PhraseTerms(("two", "words")),)


def test_a_phrase_is_demanded_in_a_short_query_and_a_wish_in_a_long_question() -> None:
    short = parse_query('"fatal error" in git push', words)
    assert short.phrases == (PhraseTerms(("fatal", "error")),)
    assert short.words == ("in", "git", "push")
    long = parse_query('why does git say "fatal error" when I push', words)
    assert long.phrases == ()
    assert long.optional_phrases == (PhraseTerms(("fatal", "error")),)
    assert set(long.words) == {"why", "does", "git", "say", "when", "i", "push", "fatal", "error"}


def test_characters_of_a_script_without_blanks_count_as_words() -> None:
    assert parse_query("「二手」 书店", words).phrases
    assert parse_query("请问哪里有卖「二手」 书的书店呢", words).optional_phrases


def test_no_phrase_is_demanded_if_the_caller_says_so() -> None:
    question = parse_query('"two words"', words, demand=False)
    assert (question.phrases, question.optional_phrases) == ((), (PhraseTerms(("two", "words")),))
    assert question.words == ("two", "words")


def test_words_with_accents_are_known_beside_the_folded_ones() -> None:
    assert accented_words("muốn uống cà_phê đen, không cafe") == ["muốn", "uống", "cà", "phê", "đen", "không"]
    assert parse_query("Größe und Maß", words).accented == ("größe", "maß")


def test_accents_stay_where_the_text_has_other_scripts_too() -> None:
    assert fold_text("Tiếng Việt и й, ἄνθρωπος") == "tiếng việt и й, ανθρωποσ"


def test_a_quotation_mark_without_its_partner_is_ignored() -> None:
    assert parse_query('one "two three', words).words == ("one", "two", "three")
    assert parse_query('"one two" three"', words) == parse_query('"one two" three ', words)


@each_case("text", ["a-b", "- a", "--", "a -", "e-mail 1-2"])
def test_a_minus_elsewhere_excludes_nothing(text: str) -> None:
    assert parse_query(text, words).excluded == ()


def test_parts_written_as_one_word_are_a_compound() -> None:
    assert parse_query("use std::vector now", words).compounds == (("std", "vector"),)


@each_case(
    ("text", "parted"),
    [
        ("utf8 files", (("utf", "8"),)),
        ("getUserName()", (("get", "user", "name"),)),
        ("a.readFile", (("read", "file"),)),
        ("mRNA HTTP Word", ()),
        ("a1b2c3d4", ()),
        ("第3章", ()),
    ],
)
def test_words_with_edges_within_are_also_taken_apart(text: str, parted: tuple[tuple[str, ...], ...]) -> None:
    assert parse_query(text, words).parted == parted


@each_case(
    ("text", "unfinished"),
    [("one tw", {"tw"}), ("one two ", set()), ("one two?", set()), ('"one two"', set()), ("on* two ", {"on"})],
)
def test_the_last_word_and_words_with_a_star_are_unfinished(text: str, unfinished: set[str]) -> None:
    assert parse_query(text, words).unfinished == unfinished


def test_nothing_is_unfinished_when_prefixes_are_not_wanted() -> None:
    question = parse_query("one two", words, prefix=False)
    assert (question.unfinished, question.exact) == (frozenset(), True)


def test_a_search_of_signs_is_empty_and_one_of_exclusions_is_not() -> None:
    assert parse_query("?? ()", words).empty
    assert not parse_query("-this", words).empty
    assert not parse_query("-this", words).has_terms


@each_case(
    ("text", "folded"),
    [
        ("plain", "plain"),
        ("e\u0301", "é"),
        ("Ёж", "еж"),
        ("й и\u0306 Й", "й й й"),
        ("ΟΔΟΣ οδος", "οδοσ οδοσ"),
        ("\u0130stanbul", "istanbul"),
        ("\u0130stanbul \u2460", "istanbul 1"),
        ("Élan \u1e9e", "élan ß"),
        ("أَلْكِتَاب", "كتاب"),
        ("\uff21\uff22", "ab"),
        ("が", "が"),
        ("हिन्दी", "हिन्दी"),
        ("한국어", "한국어"),
        ("C++ and C#", "cplusplus and csharp"),
        ("i++ # heading", "iplusplus # heading"),
        ("page.md#part ## C", "page.md#part ## c"),
    ],
)  # fmt: skip
def test_folding_drops_what_readers_leave_out(text: str, folded: str) -> None:
    assert fold_text(text) == folded


@given(st.text().filter(lambda text: not ARABIC.search(text)))
def test_folding_twice_changes_nothing_more(text: str) -> None:
    once = fold_text(text)
    assert fold_text(once) == once


@given(st.text(max_size=300))
def test_no_search_raises(text: str) -> None:
    question = parse_query(text, words)
    assert all(phrase.words or phrase.grams or True for phrase in question.phrases)
    assert question.unfinished <= set(question.words)


@each_case(
    "text",
    [
        "git log --oneline",
        "restore --before now --to there",
        "usage:\n  -d database\n  -x",
        "steps:\n- first\n-second",
        "one AND two\nthree NOT four",
    ],
)
def test_flags_and_pasted_lists_exclude_nothing(text: str) -> None:
    parsed = parse_query(text, words)
    assert (parsed.excluded, parsed.expression) == ((), None)
    assert parse_query("restore -database\n", words).excluded


@each_case(
    "text",
    [
        "why is my vpn NOT working",
        "how to restore AND what then",
        "set up vpn connection now OR later",
        "wie stelle ich die Datenbank OR Sicherung wieder her",
        "TERMS AND CONDITIONS",
        "",
        "a",
        " AND ".join(["word word word word"] * 2500),
    ],
)
def test_a_question_has_no_operators(text: str) -> None:
    assert parse_query(text, words).expression is None


@pytest.mark.parametrize(
    "text", ["restore AND database backup", "vpn NOT dns", '"how do I do it" OR vpn', "备份 OR vpn"]
)
def test_operands_of_few_words_without_stop_words_are_an_expression(text: str) -> None:
    assert parse_query(text, words).expression is not None
    assert parse_query(text, words, demand=False).expression is None


@pytest.mark.parametrize("text", ["terms and conditions", "how do i set up the vpn or dns", "что и как", "stop not go"])
def test_a_text_in_capitals_is_read_as_in_lower_case(text: str) -> None:
    assert parse_query(text.upper(), words) == parse_query(text, words)
