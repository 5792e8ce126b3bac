"""Links of a body that count."""

from __future__ import annotations

import pytest

from commonplace.toolsets.cascade.rules.concepts import body_links


def test_links_are_given_as_written_markdown_first_and_images_not() -> None:
    body = "[[wiki|W]] and [m](a.md#b) ![i](x.png) ![[y.PNG]] ![[embedded]] <https://x.example>\n"
    assert [written for written, _ in body_links(body)] == ["[m](a.md#b)", "[[wiki|W]]", "![[embedded]]"]
    assert [link.target for _, link in body_links(body)] == ["a.md", "wiki", "embedded"]


def test_a_markdown_link_may_name_a_layer_and_is_otherwise_a_url() -> None:
    body = '[x](team:a%20b.md#c) [y](<my own:d/e.md> "t") [z](other:f.md) [u](team://g) [p](a|b.md) `[k](team:h.md)`'
    links = body_links(body, ["team", "my own", "a"])
    assert [(written, link.collection, link.target, link.raw) for written, link in links] == [
        ("[x](team:a%20b.md#c)", "team", "a b.md", "team:a%20b.md#c"),
        ('[y](<my own:d/e.md> "t")', "my own", "d/e.md", "my own:d/e.md"),
        ("[p](a|b.md)", "", "a|b.md", "a|b.md"),
    ]
    assert "[x](team:a%20b.md#c)" not in dict(body_links(body))


def test_a_rule_at_the_beginning_is_no_frontmatter() -> None:
    assert [link.target for _, link in body_links("---\nsee: [[a]]\n---\n[[b]]\n")] == ["a", "b"]


@pytest.mark.parametrize("body", ["", "```\n[[a]]\n```\n", "`[[a]]`", "\\[[a]]"])
def test_code_has_no_links(body: str) -> None:
    assert [link.target for _, link in body_links(body) if body.startswith("`")] == []
    assert body_links("") == []
