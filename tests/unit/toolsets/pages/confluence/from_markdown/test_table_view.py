"""Tables that are more than lines of text, as HTML."""

from __future__ import annotations

import pytest

from commonplace.toolsets.pages.confluence.elements import MalformedBodyError
from commonplace.toolsets.pages.confluence.from_markdown import read_view
from commonplace.toolsets.pages.confluence.to_storage import view_of
from confluence.bodies import BLOCKS, Links


def test_any_block_in_a_cell_reads_as_it_is_shown() -> None:
    for kind, block in BLOCKS.items():
        body = f"<table><tbody><tr><td>{block}</td></tr></tbody></table>"
        view = view_of(body.encode(), Links())
        (shown,) = view.blocks
        assert "\n\n" not in shown.markdown
        assert [token.whole for token in read_view(shown.markdown.encode())] == [
            token.whole for token in shown.tokens
        ], kind


def test_an_element_that_no_page_has_is_refused() -> None:
    with pytest.raises(MalformedBodyError, match="iframe"):
        read_view(b"<table><tr><td><iframe>x</iframe></td></tr></table>")
