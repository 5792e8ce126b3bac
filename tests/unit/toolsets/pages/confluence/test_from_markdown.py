"""Edited Markdown as tokens."""

from __future__ import annotations

import pytest

from commonplace.toolsets.pages.confluence.from_markdown import EditError, read_markdown


def names(text: str) -> list[str]:
    return [token.name for token in read_markdown(text, ()) if token.kind in {"open", "leaf"}]


def test_markdown_of_any_hand_is_read() -> None:
    assert names("Title\n===\n\n* a\n* b\n\n1) c") == ["heading", "ul", "li", "p", "li", "p", "ol", "li", "p"]
    assert names("> [!NOTE]\n> a\n>\n> - b") == ["panel", "p", "ul", "li", "p"]
    assert names("> [!nothing]\n> a") == ["quote", "p"]
    assert names("<details>\n<summary>S</summary>\n\na\n\n</details>") == ["expand", "p"]
    assert names("a  \nb <br> `c` <https://x.y>") == ["p", "break", "break", "code_text", "link"]
    assert names("<table><tr><td>a</td></tr></table>") == ["table", "tr", "td", "p"]
    assert names("    code\n\n***") == ["code", "rule"]


def test_what_cannot_be_stored_names_its_line() -> None:
    for text, line in (
        ("a\n\n<iframe>\n", 3),
        ("a <blink>b</blink>", 1),
        ("<!-- layout -->\n\na", 1),
        ("\n\n<table><tr>\n", 3),
    ):
        with pytest.raises(EditError, match=f"^Line {line}: "):
            read_markdown(text, ())
