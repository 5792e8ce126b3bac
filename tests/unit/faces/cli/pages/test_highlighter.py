"""The words of a search stand out in what it found."""

from __future__ import annotations

import io

from cases import each_case
from commonplace.faces.cli.output import BOLD, PLAIN, Output, Terminal
from commonplace.faces.cli.pages import highlighter


class Screen(io.TextIOWrapper):
    """A stream that says that a person looks at it."""

    def isatty(self) -> bool:
        return True


def marked(query: str, text: str) -> str:
    """The text as highlighted, with `<` and `>` round what is bold."""
    out = Output(Terminal(Screen(io.BytesIO()), Screen(io.BytesIO()), styles=True), as_json=False)
    return highlighter(out, query)(text).replace(BOLD, "<").replace(PLAIN, ">")


@each_case(
    ("query", "text", "expected"),
    [
        ("tea", "Green tea, and TEA.", "Green <tea>, and <TEA>."),
        ("cafe", "Café and cafés", "<Café> and <cafés>"),
        ("restor", "to restore it", "to <restore> it"),
        ("do", "do doing", "<do> doing"),
        ('"hot water" -cold', "hot cold water", "<hot> cold <water>"),
        ("茶道", "日本の茶道です", "日本の<茶道>です"),
        ("a_b", "a_b c", "<a>_<b> c"),
        ("-x", "x", "x"),
        ("***", "a * b", "a * b"),
        ("tea", "no match\nhere", "no match here"),
        ("x1b", "\x1b[31mred", "\\<x1b>[31mred"),
    ],
)
def test_words_are_marked(query: str, text: str, expected: str) -> None:
    assert marked(query, text) == expected
