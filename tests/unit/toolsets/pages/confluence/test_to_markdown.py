"""Markdown that a person reads, and that reads as what it shows."""

from __future__ import annotations

from html import escape

from commonplace.toolsets.pages.confluence.from_markdown import read_markdown
from commonplace.toolsets.pages.confluence.to_storage import view_of
from confluence.bodies import BLOCKS, Links

SHOWN = {
    "paragraph": "It\u2019s a **bold**&nbsp;word, *leaning* text & more.",
    "heading": "## Chapter <u>alpha</u>",
    "list": "- alpha\n  - beta `gamma()`\n- delta",
    "noformat": "```noformat\nalpha  beta\n```",
    "table": "| alpha | beta |\n| --- | --- |\n| gamma \\|<br>x | delta |",
    "panel": "> [!CAUTION] Watch out\n> alpha\n>\n> beta",
    "expand": "<details><summary>Open me</summary>\n\nalpha\n\n</details>",
    "tasks": "- [ ] alpha beta",
    "comment": 'An <span data-comment="r-1">alpha beta</span> gamma.',
    "between": "alpha\n\nbeta",
}


def test_each_block_is_shown_in_its_plainest_form() -> None:
    for kind, markdown in SHOWN.items():
        assert view_of(BLOCKS[kind].encode(), Links()).markdown == markdown + "\n", kind


def test_text_that_looks_like_markdown_stays_text() -> None:
    for text in (
        "# a",
        "1. a",
        "- a",
        "+ a",
        "> a",
        "*a*",
        "_a_",
        "`a`",
        "[a](b)",
        "![a](b)",
        "a|b",
        "---",
        "&amp;lt;",
        "===",
        "~~a~~",
        "<b>",
        "a\\b",
        "\u200b",
        "```",
    ):
        shown = escape(text, quote=False)
        body = f"<p>{shown}</p><p>x<br/>{shown}</p>"
        view = view_of(body.encode(), Links())
        for block in view.blocks:
            tokens = read_markdown(block.markdown, view.leaves)
            assert [token.whole for token in tokens] == [token.whole for token in block.tokens], (text, block.markdown)
