"""The side file of a page's comments: who said what when, in order, with replies below; markup of names is text."""

from __future__ import annotations

from dataclasses import replace

from commonplace.toolsets.pages.confluence.belongings import accounts_of, comments_file
from commonplace.toolsets.pages.confluence.remote import RemoteComment
from confluence.bodies import Links


def test_comments_stand_in_order_with_replies_one_level_below() -> None:
    reply = RemoteComment("bob", "2026-01-03T10:00:00Z", b"<p>Yes.</p>")
    first = RemoteComment(
        "ann", "2026-01-02T10:00:00Z", b"<p>Is it <strong>so</strong>?</p>", "the # tide", "open", (reply,)
    )
    text = comments_file("Tide *table*", [first], Links(), {"ann": ("Ann_B", "")}).decode()
    assert accounts_of([first]) == {"ann", "bob"}
    assert text.splitlines()[0] == "# Comments on Tide \\*table\\*"
    assert "## Ann\\_B, 2026-01-02, open\n\n> the # tide\n\nIs it **so**?\n\n### bob, 2026-01-03\n\nYes.\n" in text


def test_a_comment_without_author_date_and_text_is_somebodys() -> None:
    deep = RemoteComment("", "", b"")
    for _ in range(8):
        deep = replace(deep, replies=(deep,))
    lines = comments_file("T", [deep], Links(), {}).decode().splitlines()
    assert lines[2] == "## Somebody"
    assert lines[-1] == "###### Somebody", "a heading has six levels at most"
