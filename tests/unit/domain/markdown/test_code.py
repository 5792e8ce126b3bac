"""Code in a Markdown text."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import pytest

from commonplace.domain.markdown.code import code_pieces
from ways.linear import assert_linear


@pytest.mark.parametrize(
    ("markdown", "code"),
    [
        ("no code, 1 * 2", []),
        ("a `b*c` d ``e ` f``", ["b*c", "e ` f"]),
        ("a `b\n\nc` d", []),
        ("a \\`b` c", []),
        ("```sh\n*a*\n\n`b`\n```\nc `d`", ["*a*\n\n`b`\n", "d"]),
        ("~~~~\n~~~\n*a*\n~~~~\n*b*", ["~~~\n*a*\n"]),
        ("```\nopen\n", ["open\n"]),
        ("```\n```\nempty", []),
        ("> ```\n> *a*\n> ```\n> b", ["*a*\n"]),
        ("- ```\n  *a*\n  ```\n- b", ["  *a*\n"]),
        ("``` a`b ```", [" a`b "]),
        ("| `a\\|b` |\n|---|\n| `c\\|d` |", ["a|b", "c|d"]),
        ("text\n\n    *a*\n    b\n\ntext", ["*a*\n", "b\n"]),
        ("- item\n\n    *text*\n", []),
        ("\t*ü*\n\nö `ä`", ["*ü*\n", "ä"]),
    ],
)
def test_the_code_of_a_text_is_found_as_it_stands(markdown: str, code: list[str]) -> None:
    pieces = code_pieces(markdown)

    assert [piece.text for piece in pieces if piece.text] == code
    assert all(piece.end <= other.start for piece, other in pairwise(pieces))
    assert all(piece.text.split("\n")[0] in markdown[piece.start : piece.end].replace("\\|", "|") for piece in pieces)


@pytest.mark.parametrize(
    "piece", ["`", "``a", "`a``b```c", "```\n", "~~~a\n", "- ```", "> ", "\\`", "` `` ", "    a\n\n", " ", "\n\n >"]
)
@pytest.mark.soak
def test_code_is_found_in_time_in_proportion_to_the_text(piece: str) -> None:
    assert_linear(lambda size: partial(code_pieces, piece * (size // len(piece))), 50_000)
