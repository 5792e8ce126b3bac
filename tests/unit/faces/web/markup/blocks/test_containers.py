"""The containers of site generators: tabs, versions, pictures, includes and directives."""

from __future__ import annotations

import re

from cases import each_case
from commonplace.faces.web.markup.blocks import pieces, version_label
from commonplace.faces.web.messages import ENGLISH_WORDS

TABS = {
    "mkdocs": '=== "One"\n\n    first\n\n=== "Two *b*"\n    second\n',
    "docfx": "## [One](#tab/a)\n\nfirst\n\n## [Two *b*](#tab/b)\n\nsecond\n\n---\n",
    "docfx at the end": "# [One](#tab/a)\nfirst\n# [Two *b*](#tab/b)\nsecond\n",
    "jsx": '<Tabs groupId="os">\n  <TabItem value="one" label="One" default>\n\n  first\n\n  </TabItem>\n'
    "  <TabItem value='Two *b*'>\n\n  second\n\n  </TabItem>\n</Tabs>\n",
    "jsx in one line": '<Tabs>\n<TabItem label="One">first</TabItem>\n'
    '  <TabItem value="Two *b*">\n    second</TabItem>\n</Tabs>\n',
    "myst": "````{tab-set}\n```{tab-item} One\nfirst\n```\n```{tab-item} Two *b*\n:sync: b\nsecond\n```\n````\n",
    "colon fences": "::::{tab-set}\n:::{tab-item} One\nfirst\n:::\n:::{tab-item} Two *b*\nsecond\n:::\n::::\n",
}


@each_case("name", TABS)
def test_tabs_of_every_generator_are_the_same_pieces(name: str) -> None:
    before, tabs = list(pieces(f"before\n\n{TABS[name]}".encode()))
    assert (before.text, before.start, tabs.kind) == (b"before\n\n", 0, "tabs")
    assert [(tab.kind, tab.title, tab.text.decode().strip()) for tab in tabs.parts] == [
        ("tab", "One", "first"),
        ("tab", "Two *b*", "second"),
    ]


def test_a_code_group_has_a_tab_for_each_fence() -> None:
    group = "::: code-group\n\n```js [a.js]\nlet a\n:::\n```\n\n```py\nx\n```\n:::\nafter\n"
    tabs, after = pieces(group.encode())
    assert [(tab.title, tab.text.decode()) for tab in tabs.parts] == [
        ("a.js", "```js [a.js]\nlet a\n:::\n```\n"),
        ("Code", "```py\nx\n```\n"),
    ]
    assert after.text == b"after\n"


def test_a_rule_and_a_tab_in_code_end_no_tab() -> None:
    text = "# [One](#tab/a)\n```yaml\n---\n# [Two](#tab/b)\n```\nlast\n***\nafter\n"
    tabs, after = pieces(text.encode())
    assert [tab.text.decode() for tab in tabs.parts] == ["```yaml\n---\n# [Two](#tab/b)\n```\nlast\n"]
    assert after.text == b"after\n"


@each_case(
    ("opening", "end", "title"),
    [
        ('::: moniker range=">=msvc-160"', "::: moniker-end", ">=msvc-160"),
        (":::moniker range='a || b'", ":::moniker-end", "a || b"),
        ('::: zone pivot="web,app"', "::: zone-end", "web,app"),
    ],
)
def test_a_version_keeps_the_place_of_its_text(opening: str, end: str, title: str) -> None:
    text = f"before\n{opening}\n## Part\n\n::: tip\nx\n:::\n{end}\nafter\n".encode()
    before, version, after = pieces(text)
    assert (version.kind, version.title, version.text) == ("version", title, b"## Part\n\n::: tip\nx\n:::\n")
    assert text[version.start :].startswith(b"## Part")
    assert (before.text, after.text) == (b"before\n", b"after\n")


@each_case(
    ("written", "label"),
    [
        (">=msvc-160", "msvc-160 and later"),
        ("<= msvc-140", "msvc-140 and earlier"),
        ("msvc-150", "msvc-150"),
        ("=msvc-150", "msvc-150"),
        ("> a", "after a"),
        ("< b", "before b"),
        (">=a <=b", "a to b"),
        ("a || >=b", "a or b and later"),
        ("web,app", "web or app"),
        ("", ""),
    ],
)
def test_a_range_is_told_in_words(written: str, label: str) -> None:
    assert version_label(written, ENGLISH_WORDS) == label


@each_case(
    ("line", "shown"),
    [
        (':::image type="content" source="m/a b.png" alt-text="A [pic]":::', "![A  pic ](<m/a b.png>)"),
        ('   :::image source="a.png" alt-text="A: b" lightbox="b.png":::  ', "   ![A: b](<a.png>)"),
        (':::code language="cs" source="x.cs" range="1-3":::', "[x.cs](<x.cs>)"),
        ("[!INCLUDE [Name](../includes/n.md)]", "![Name](../includes/n.md)"),
        ("  [!include[Name](n.md)] ", "  ![Name](n.md)"),
        (":::row:::", ""),
        (":::image-end:::", ""),
    ],
)
def test_a_line_of_docfx_becomes_markdown_of_the_same_length(line: str, shown: str) -> None:
    text = f"1. item\n\n{line}\r\n## After\n".encode()
    (piece,) = pieces(text)
    assert len(piece.text) == len(text)
    assert piece.text.endswith(b"\r\n## After\n")
    written = piece.text.decode().splitlines()[2]
    assert re.sub(r" +\)", ")", written).rstrip() == shown


@each_case(
    ("lines", "shown"),
    [
        ("```{image} a.png\n:alt: A\n```", "![A](<a.png>)"),
        ("```{code-block} py\n:caption: x.py\n:emphasize-lines: 1, 3\n:linenos:\na\n```",
         '```py title="x.py" {1,3} linenos\na\n```'),
    ],
)  # fmt: skip
def test_a_directive_of_myst_becomes_markdown(lines: str, shown: str) -> None:
    (piece,) = pieces(f"{lines}\n".encode())
    assert (piece.text.decode().strip(), piece.start, piece.kind) == (shown, -1, "")


def test_a_table_of_contents_shows_nothing() -> None:
    text = b"a\n```{toctree}\n:maxdepth: 2\n\na\nb\n```\nb\n"
    assert [piece.text for piece in pieces(text)] == [b"a\n", b"b\n"]


@each_case(
    ("text", "kind", "title", "fold"),
    [
        ("```{note} Mind\nx\n```\n", "note", "Mind", ""),
        (":::{warning}\nx\n:::\n", "warning", "", ""),
        ("```{admonition} Own\n:class: dropdown\nx\n```\n", "note", "Own", "-"),
    ],
)
def test_an_admonition_of_myst_is_one(text: str, kind: str, title: str, fold: str) -> None:
    (piece,) = pieces(text.encode())
    assert (piece.kind, piece.title, piece.fold, piece.text) == (kind, title, fold, b"x\n")


@each_case(
    "text",
    [
        '::: moniker range="a"\nnever closed\n',
        "<Tabs>\nno items\n</Tabs>\n",
        "<Tabs>\n<TabItem>\nnever closed\n",
        '<Tabs>\n<TabItem label="x">\na\n</TabItem>\nbetween tabs\n</Tabs>\n',
        "```{eval-rst}\n.. note:: x\n```\n",
        "```\n# [One](#tab/a)\n```\n",
        "text [!INCLUDE [x](y.md)] text\n",
        ":::image source=\n",
    ],
)
def test_what_is_no_container_stays_text(text: str) -> None:
    assert "".join(piece.text.decode() for piece in pieces(text.encode())) == text
