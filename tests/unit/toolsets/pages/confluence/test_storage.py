"""The tokens of a body know their bytes."""

from __future__ import annotations

from commonplace.toolsets.pages.confluence.storage import read_storage
from confluence.bodies import BLOCKS, Links


def test_tokens_are_in_order_and_name_the_bytes_of_their_text() -> None:
    for kind, body in BLOCKS.items():
        raw, at = body.encode(), 0
        for token in read_storage(raw, Links()):
            assert token.start >= at or token.start == token.end, kind
            at = max(at, token.end)
            if (
                token.kind == "word"
                and token.key.isascii()
                and token.start < token.end
                and b"&" not in raw[token.start : token.end]
            ):
                assert raw[token.start : token.end].decode() == token.key
        assert at <= len(raw)


def test_links_are_shown_by_where_they_lead() -> None:
    keys = [
        token.key for token in read_storage(BLOCKS["links"].encode(), Links()) if token.kind == "open" and token.key
    ]
    assert keys[:2] == ["deploy%20%26%20run.md#One-two", "deploy%20%26%20run.md"]
    assert keys[2].startswith("confluence:page/")
    own = b'<p><a href="https://acme.example/wiki/spaces/ENG/pages/77/Title#x">a</a></p>'
    assert "p77.md#x" in [token.key for token in read_storage(own, Links())]
