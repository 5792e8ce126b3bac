"""Marks the words of a query in search results."""

from __future__ import annotations

from collections.abc import Callable

from commonplace.domain.snippets import marked_spans
from commonplace.faces.cli.output import BOLD, Output, one_line


def highlighter(out: Output, query: str) -> Callable[[str], str]:
    """A function that returns a text as one safe line, with the words of the query in bold if styles are shown."""
    mark = marker(query, lambda word: out.styled(BOLD, word))
    return lambda text: mark(one_line(text))


def marker(query: str, mark: Callable[[str], str]) -> Callable[[str], str]:
    """A function that marks the words of a query in a safe text.

    Args:
        query: The query as typed.
        mark: Returns a word with styles.
    """
    spans = marked_spans(query)

    def marked(text: str) -> str:
        parts: list[str] = []
        at = 0
        for start, end in spans(text):
            parts += [text[at:start], mark(text[start:end])]
            at = end
        return "".join([*parts, text[at:]])

    return marked
