"""The operators of the search box."""

from __future__ import annotations

from cases import each_case
from commonplace.faces.web.query_text import MAX_CHARS, Chip, QueryText, read_query


def test_operators_are_read_from_a_query() -> None:
    query = read_query({"q": 'restore type:runbook tag:"on call" in:docs after:2026-01-31 a:b', "tag": "x"})

    assert query.words == "restore a:b"
    assert [chip.text for chip in query.chips] == [
        "type:runbook", 'tag:"on call"', "in:docs", "after:2026-01-31", "tag:x",
    ]  # fmt: skip
    assert query.filter().prefix == "docs/"
    assert query.filter().updated_from == "2026-01-31"
    assert "type:runbook" not in query.without(query.chips[0])


@each_case(
    ("text", "words", "chips"),
    [
        ("", "", []),
        ("plain  words", "plain words", []),
        ("type:note", "", [("type", "note")]),
        ("type: note", "type: note", []),
        ("xtype:note Type:note", "xtype:note Type:note", []),
        ("tag:a tag:a tag:b", "", [("tag", "a"), ("tag", "b")]),
        ('in:"a b/c" x', "x", [("in", "a b/c")]),
        ('tag:"" x', "x", []),
        ("one\ntype:note\ttwo", "one two", [("type", "note")]),
        ("日本 tag:茶", "日本", [("tag", "茶")]),
    ],
)
def test_a_query_is_taken_apart(text: str, words: str, chips: list[tuple[str, str]]) -> None:
    query = read_query({"q": text})
    assert (query.words, [(chip.operator, chip.value) for chip in query.chips]) == (words, chips)


@each_case("value", ["a", "a b", "a\tb", "茶 道", "x:y"])
def test_a_chip_that_is_typed_again_means_the_same(value: str) -> None:
    text = QueryText("words").with_chip("tag", value)
    again = read_query({"q": text})
    assert again.words == "words"
    assert [" ".join(chip.value.split()) for chip in again.chips] == [" ".join(value.split())]


def test_operators_become_a_filter_and_what_is_no_day_is_none() -> None:
    found_filter = read_query({"q": "tag:#a in:/x/y/ after:yesterday before:2026-01-31"}).filter()
    assert (found_filter.tags, found_filter.prefix, found_filter.updated_from, found_filter.updated_to) == (
        ("a",),
        "x/y/",
        "",
        "2026-01-31",
    )


def test_a_chip_can_be_taken_away_without_the_others() -> None:
    query = read_query({"q": "tag:a tag:b x"})
    assert query.without(Chip("tag", "a")) == "tag:b x"
    assert query.without(Chip("tag", "c")) == query.text()


def test_a_very_long_query_is_cut() -> None:
    assert len(read_query({"q": "x" * 100_000}).words) == MAX_CHARS
