"""Tags of the body and of the front matter."""

from __future__ import annotations

from cases import each_case
from pages import page


@each_case(
    ("text", "tags"),
    [
        ("#tag at the start", ("tag",)),
        ("a #tag, #other. (#third) #fourth!", ("tag", "other", "third", "fourth")),
        ("#a/b/c #a/ #/x", ("a/b/c", "a", "x")),
        ("#größe #日本語 #नमस्ते #тег #🚀", ("größe", "日本語", "नमस्ते", "тег", "🚀")),
        ("#标签\uff0c后面 #标签2。", ("标签", "标签2")),
        ("全角\u3000#空白", ("空白",)),
        ("#kebab-case #snake_case #v2", ("kebab-case", "snake_case", "v2")),
        ("# Heading #tagged", ("tagged",)),
        ("> #quoted\n\n- #listed\n\n| #cell |\n|---|\n|#tight|\n", ("quoted", "listed", "cell", "tight")),
        ("**#bold**", ("bold",)),
        ("#Tag #tag #TAG", ("Tag",)),
        ("line\r\n#windows\r\n", ("windows",)),
        (
            "x #\u062e\u0627\u0646\u0647\u200c\u0647\u0627 y",
            ("\u062e\u0627\u0646\u0647\u200c\u0647\u0627",),
        ),  # joined by U+200C
    ],
)
def test_tags_of_the_body(text: str, tags: tuple[str, ...]) -> None:
    assert page(text).tags == tags


@each_case(
    "text",
    [
        "#123 #2024 #1/2 #-- #_",
        "a#b C# word#x",
        "https://x.y/#frag /a#b",
        "`#code`",
        "```\n#fenced\n```",
        "    #indented",
        "<!-- #comment -->",
        "<p>\n#html\n</p>",
        "[x](#anchor) [[#heading]] [[a #b]] [a #b](c.md)",
        "[r]: #anchor\n",
        "| a | b |\n|---|---|\n|[`operator|=`](#op_or_eq)| x |\n",
        "\\[1](#notice)",
        "`[1](#a)` [`x](#notice)",
        "\\#escaped",
        "## Heading ##",
        "# ",
        "##double",
        "&#35; &#x23;",
        "一#二",
    ],
)
def test_what_is_no_tag(text: str) -> None:
    assert page(text).tags == ()


@each_case(
    ("frontmatter", "tags"),
    [
        ("tags: [a, '#b', c/d]", ("a", "b", "c/d")),
        ("tags:\n  - one\n  - two words\n  - 3\n  -\n  - true", ("one", "two words", "3")),
        ("tags: a, b c, d", ("a", "b c", "d")),
        ("tags: a b", ("a", "b")),
        ("tags: '#a #b'", ("a", "b")),
        ("tags: 2024", ("2024",)),
        ("tags:", ()),
        ("tags: {a: b}", ()),
        ("tags: true", ()),
        ("tags: ['', ' ', '#']", ()),
        ("tags: 2026-01-02", ("2026-01-02",)),
    ],
)
def test_tags_of_the_front_matter(frontmatter: str, tags: tuple[str, ...]) -> None:
    assert page(f"---\n{frontmatter}\n---\n").tags == tags


def test_front_matter_comes_first_and_repeats_are_left_out() -> None:
    assert page("---\ntags: [b, A]\n---\n#a #c #B #c\n").tags == ("b", "A", "c")
