"""Byte ranges of the values in a YAML text."""

from __future__ import annotations

import pytest

from commonplace.domain.yaml_edits import YamlNode, layout


def root_of(text: str) -> YamlNode:
    node = layout(text)
    assert node is not None
    return node


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
def test_a_text_without_a_value_has_no_root(text: str) -> None:
    assert layout(text) is None


def test_keys_and_values_are_found_by_their_characters() -> None:
    text = "größe: 漢字  # note\nlist: [a, 'b c']\n"
    root = root_of(text)
    assert root.kind == "mapping"
    written = [(text[key.start : key.end], text[value.start : value.end]) for key, value in root.entries]
    assert written == [("größe", "漢字"), ("list", "[a, 'b c']")]
    items = root.entries[1][1]
    assert items.flow
    assert [(item.text, item.style) for item in items.children] == [("a", ""), ("b c", "'")]


@pytest.mark.parametrize(
    ("text", "kind", "style"),
    [
        ("k: a", "scalar", ""),
        ('k: "a"', "scalar", '"'),
        ("k: |\n  a\n", "scalar", "|"),
        ("k: >-\n  a\n", "scalar", ">"),
    ],
)
def test_a_scalar_has_the_style_in_which_it_is_written(text: str, kind: str, style: str) -> None:
    ((_, value),) = root_of(text).entries
    assert (value.kind, value.style, value.text.strip()) == (kind, style, "a")


def test_a_block_ends_where_the_next_key_starts() -> None:
    text = "a:\n  - 1\n  - 2\nb: |\n  text\nc: 3\n"
    (_, items), (key_b, block), (key_c, _) = root_of(text).entries
    assert text[items.start : items.end].split() == ["-", "1", "-", "2"]
    assert items.end <= key_b.start
    assert block.end <= key_c.start


def test_anchors_and_aliases_are_told_apart() -> None:
    (_, anchored), (_, alias) = root_of("a: &x {b: 1}\nc: *x\n").entries
    assert (anchored.kind, anchored.anchored) == ("mapping", True)
    assert (alias.kind, alias.anchored) == ("alias", False)


def test_all_nodes_are_visited_in_the_order_of_the_text() -> None:
    root = root_of("a: [1, {b: 2}]\nc: 3\n")
    nodes = list(root.walk())
    assert [node.text for node in nodes if node.kind == "scalar"] == ["a", "1", "b", "2", "c", "3"]
    assert [node.start for node in nodes] == sorted(node.start for node in nodes)


def test_a_deep_text_is_walked_without_recursion() -> None:
    text = "[" * 60 + "x" + "]" * 60
    assert [node.text for node in root_of(text).walk() if node.kind == "scalar"] == ["x"]
