"""Front matter read without the parser: the same as with it, or not at all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cases import each_case
from commonplace.domain.yaml_loader import load, parse, read_plain

PIECES = st.sampled_from(
    [
        *(
            "a",
            "B7",
            "true",
            "null",
            "1",
            "-1",
            "1.5",
            "1e3",
            "0x1f",
            "2024-05-01",
            "12:30:45",
            "~",
            "=",
            "<<",
            "é",
            "知",
        ),
        *(" ", "  ", ":", ": ", "#", " #", '"', "'", '", "', "[", "]", "{", "}", ",", "-", "- ", "?", "? ", "&a", "*a"),
        *(
            "!",
            "!!str ",
            "|",
            ">",
            "%",
            "@",
            "`",
            "\\",
            "\t",
            "\r",
            "\n",
            "\x85",
            "\u2028",
            "\ufeff",
            "\x07",
            "...",
            "---",
        ),
    ]
)
KEYS = st.sampled_from(["key", "other", "ms.date", "a b", "k", "1"])
LINES = st.tuples(KEYS, st.lists(PIECES, max_size=4)).map(lambda line: f"{line[0]}: {''.join(line[1])}")
PLAIN = st.tuples(KEYS, st.text("aZ09 .:#\"'-_[],/é知", max_size=12)).map(lambda line: f"{line[0]}: x{line[1]}")
BLOCKS = st.lists(PLAIN | LINES, min_size=1, max_size=2).map("\n".join)


@given(BLOCKS)
def test_what_is_read_is_what_the_parser_reads(text: str) -> None:
    values = read_plain(text)
    if values is not None:
        loaded = parse(text)
        assert loaded.problems == ()
        assert repr(loaded.value) == repr(values)


@each_case(
    "text",
    [
        "title: A page",
        'title: "Learn more about: pages"\r\nms.date: "11/04/2016"\r\n',
        'f1_keywords: ["a", "std::b", "c, d"]\n\ntype: note',
        "external help file: Some.Thing.dll-Help.xml\nonline version: https://example.org/a?b=c#d",
        "count: 12\nratio: 0.5\ndone: true\nnothing: null\ndate: 2024-05-01",
        "title: 知识 é",
    ],
)
def test_common_blocks_need_no_parser(text: str) -> None:
    assert read_plain(text) is not None
    assert load(text) == parse(text)


@each_case(
    "text",
    [
        "",
        "\n",
        "a: b: c",
        "a: b #c",
        "a: [x, y]",
        "a:\n  - b",
        "a: b\na: c",
        "a: 'b'",
        'a: "b\\n"',
        "a: |\n  b",
        "a: b\n  c",
    ],
)
def test_other_blocks_are_left_to_the_parser(text: str) -> None:
    assert read_plain(text) is None
