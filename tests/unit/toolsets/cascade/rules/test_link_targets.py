"""Links of a body that count, and the ids to which they can resolve."""

from __future__ import annotations

import pytest

from commonplace.toolsets.cascade.rules.link_targets import body_links, candidate_ids


@pytest.mark.parametrize(
    ("target", "folder", "ids"),
    [
        ("a", "", ["a"]),
        ("a.md", "", ["a", "a.md"]),
        ("a", "x/y", ["a", "x/y/a"]),
        ("../a", "x/y", ["x/a"]),
        ("/a.md", "x", ["a", "a.md"]),
        ("./a/../b/", "", ["b"]),
        ("a\\b", "", ["a/b"]),
        ("../../a", "x", []),
        ("", "x", []),
        ("/", "x", []),
        (".", "x", ["x"]),
        ("..", "x/y", ["x"]),
        (" 茶 ", "", ["茶"]),
    ],
)
def test_a_target_means_ids_from_the_root_and_then_from_its_folder(target: str, folder: str, ids: list[str]) -> None:
    assert candidate_ids(target, folder) == ids


def test_links_are_given_as_written_markdown_first_and_images_not() -> None:
    body = "[[wiki|W]] and [m](a.md#b) ![i](x.png) ![[y.PNG]] ![[embedded]] <https://x.example>\n"
    assert [written for written, _ in body_links(body)] == ["[m](a.md#b)", "[[wiki|W]]", "![[embedded]]"]
    assert [link.target for _, link in body_links(body)] == ["a.md", "wiki", "embedded"]


def test_a_rule_at_the_beginning_is_no_frontmatter() -> None:
    assert [link.target for _, link in body_links("---\nsee: [[a]]\n---\n[[b]]\n")] == ["a", "b"]


@pytest.mark.parametrize("body", ["", "```\n[[a]]\n```\n", "`[[a]]`", "\\[[a]]"])
def test_code_has_no_links(body: str) -> None:
    assert [link.target for _, link in body_links(body) if body.startswith("`")] == []
    assert body_links("") == []
