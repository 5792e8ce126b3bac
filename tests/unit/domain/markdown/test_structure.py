"""Byte ranges of headings, links and code in a Markdown text."""

from __future__ import annotations

from itertools import pairwise

import pytest

from cases import each_case
from commonplace.domain.documents import Section
from commonplace.domain.markdown.structure import MAX_LABEL_PIECES, definition_key, link_definitions, scan
from pages import page


def test_headings_have_their_level_and_their_bytes() -> None:
    text = "Vorwort ü\r\n\r\n# Größe\r\n\r\nText\r\n\r\nSetext 漢字\r\n===\r\n\r\n###### Six ######\r\n"
    raw = text.encode()
    events = scan(text).headings
    assert [heading.level for heading in events] == [1, 1, 6]
    assert [raw[heading.start : heading.end].decode().split("\r\n")[0] for heading in events] == [
        "# Größe",
        "Setext 漢字",
        "###### Six ######",
    ]
    assert ["".join(text for _, text in heading.pieces) for heading in events] == ["Größe", "Setext 漢字", "Six"]


@each_case(
    "text",
    ["> # quoted\n", "- # in a list\n", "1. # in a list\n\n   ## too\n", "[^1]: # footnote\n", "```\n# code\n```\n"],
)
def test_a_heading_within_something_else_is_none(text: str) -> None:
    assert [heading.level for heading in scan(f"{text}\n# After\n").headings] == [1]


@each_case(
    ("text", "kind", "image", "destination", "label"),
    [
        ("[a](b.md)", "Inline", False, "b.md", "a"),
        ("![a](b.png 'title')", "Inline", True, "b.png", "a"),
        ("[a](<b c.md>)", "Inline", False, "b c.md", "a"),
        ("[*a* `b` c](d)", "Inline", False, "d", "a b c"),
        ("[a&amp;b](c&amp;d%20e)", "Inline", False, "c&d%20e", "a&b"),
        ("[[Note]]", "WikiLink", False, "Note", "Note"),
        ("[[Note|shown]]", "WikiLink", False, "Note", "shown"),
        ("![[Note#Part]]", "WikiLink", True, "Note#Part", "Note#Part"),
        ("<https://example.org/>", "Autolink", False, "https://example.org/", "https://example.org/"),
        ("[a][ref]\n\n[ref]: b.md", "Reference", False, "b.md", "a"),
        ("[ref][]\n\n[ref]: b.md", "Collapsed", False, "b.md", "ref"),
        ("[ref]\n\n[ref]: b.md", "Shortcut", False, "b.md", "ref"),
        ("[a\nb](c)", "Inline", False, "c", "a b"),
    ],
)
def test_a_link_has_its_kind_destination_and_label(
    text: str, kind: str, image: bool, destination: str, label: str
) -> None:
    (link,) = scan(text).links
    assert (link.kind, link.image, link.destination, link.label) == (kind, image, destination, label)


@pytest.mark.parametrize("text", ["ü [äö](b.md) z", "ü ![äö](b.md) z"])
def test_the_text_of_a_link_lies_between_its_brackets(text: str) -> None:
    (link,) = scan(text).links
    assert text.encode()[link.text_start : link.label_end].decode() == "äö"
    assert text.encode()[link.end :] == b" z"


def test_links_in_headings_and_images_in_links_are_found_outermost_first() -> None:
    structure = scan("# See [![alt](i.png)](b.md) now\n")
    assert [link.destination for link in structure.links] == ["b.md", "i.png"]
    assert "".join(text for _, text in structure.headings[0].pieces) == "See alt now"


def test_code_html_and_links_are_opaque_and_do_not_overlap() -> None:
    text = "`#a` <b title='#c'> [#d](e)\n\n```\n#f\n```\n\n    #g\n\n<div>#h</div>\n\n#i # `#j`\n"
    ranges = sorted(scan(text).opaque)
    inside = b"".join(text.encode()[start:end] for start, end in ranges).decode()
    assert all(f"#{letter}" in inside for letter in "acdfghj")
    assert "#i" not in inside
    assert all(end <= following for (_, end), (following, _) in pairwise(ranges))


def test_a_label_of_very_many_pieces_is_cut() -> None:
    (link,) = scan(f"[{'*a* ' * 500}](b)").links
    assert len(link.label) <= 2 * MAX_LABEL_PIECES


@each_case("text", ["", "\x00", "\r\n\r\n", "[" * 5000, "![" * 2000 + "](x)" * 2000, "> " * 3000 + "# x"])
def test_odd_texts_are_read_without_an_error(text: str) -> None:
    structure = scan(text)
    assert all(0 <= link.start <= link.end <= len(text.encode()) for link in structure.links)


def test_definitions_are_found_by_the_form_in_which_labels_are_compared() -> None:
    text = "ü\n\n[Fóo\n  BAR]: <b.md> 'title'\n[other]: c.md\n"
    spans = link_definitions(text)
    assert set(spans) == {"fóo bar", "other"}
    start, end, destination = spans["other"]
    assert destination == "c.md"
    assert text.encode()[start:end].decode().strip() == "[other]: c.md"


def test_labels_are_compared_regardless_of_case_and_blanks() -> None:
    assert definition_key(" A \n\t STRASSE ") == definition_key("a straße")


def headings(text: str) -> list[tuple[int, str]]:
    return [(section.level, section.heading) for section in page(text).sections[1:]]


def only(text: str) -> Section:
    (_, section) = page(text).sections
    return section


def test_a_document_without_headings_has_the_section_before_the_first() -> None:
    (section,) = page("Some text.\n").sections
    assert (section.level, section.heading, section.path, section.anchor) == (0, "", (), "")
    assert (section.start, section.content, section.end, section.tree_end) == (0, 0, 11, 11)


def test_an_empty_document_has_an_empty_section() -> None:
    (section,) = page("").sections
    assert (section.start, section.end) == (0, 0)


def test_both_styles_of_headings_are_read() -> None:
    text = "# One\n\nTwo\n===\n\nThree\nlines\n---\n\n###### Six ######\n"
    assert headings(text) == [(1, "One"), (1, "Two"), (2, "Three lines"), (6, "Six")]
    assert [section.atx for section in page(text).sections[1:]] == [True, False, False, True]


@each_case(
    "text",
    [
        "```\n# a\n```\n",
        "~~~ python\n# a\n~~~\n",
        "````\n```\n# a\n````\n",
        "```\n# never closed\n",
        "    # indented\n",
        "\t# indented\n",
        "<!--\n# a\n-->\n",
        "<div>\n# a\n</div>\n",
        "#hashtag\n",
        "####### seven\n",
        "\\# escaped\n",
        "`code\n# `\n"[:6] + "\n",
        "- item\n  ---\n",
    ],
)
def test_what_only_looks_like_a_heading_is_text(text: str) -> None:
    assert headings(text) == []


@pytest.mark.parametrize(
    "text", ["> # quoted\n", "- # listed\n", "1. a\n\n   ## b\n", "[^1]: x\n\n    # footnote\n\n[^1]\n"]
)
def test_a_heading_inside_a_quote_list_or_footnote_starts_no_section(text: str) -> None:
    assert headings(text) == []


def test_a_heading_behind_a_list_starts_a_section() -> None:
    assert headings("- a\n- b\n\n# After\n> q\n\n## Behind the quote\n") == [(1, "After"), (2, "Behind the quote")]


def test_a_heading_loses_its_markup() -> None:
    text = "# The *new* `std::map<K>` and [a link](x.md) of [[Page|this]] <b>wiki</b> &amp; \\* more\n"
    assert headings(text) == [(1, "The new std::map<K> and a link of this wiki & * more")]


def test_paths_follow_the_ranks() -> None:
    paths = [s.path for s in page("# A\n### C\n## B\n# D\n").sections]
    assert paths == [(), ("A",), ("A", "C"), ("A", "B"), ("D",)]


def test_sections_end_at_the_next_heading_and_trees_at_the_next_of_their_rank() -> None:
    text = "intro\n# A\na\n## B\nb\n### C\nc\n## D\nd\n# E\n"
    document = page(text)
    own = [text[s.start : s.end] for s in document.sections]
    assert own == ["intro\n", "# A\na\n", "## B\nb\n", "### C\nc\n", "## D\nd\n", "# E\n"]
    trees = {s.heading: text[s.start : s.tree_end] for s in document.sections[1:]}
    assert trees["A"] == "# A\na\n## B\nb\n### C\nc\n## D\nd\n"
    assert trees["B"] == "## B\nb\n### C\nc\n"
    assert trees["C"] == "### C\nc\n"


@each_case(
    ("text", "content"),
    [
        ("# A\nx\n", "x\n"),
        ("# A\r\nx\r\n", "x\r\n"),
        ("A\n===\nx\n", "x\n"),
        ("A\r\nB\r\n---\r\nx", "x"),
        ("# A", ""),
        ("   # A  \n\nx", "\nx"),
        ("# A\rx", "x"),
    ],
)
def test_content_begins_behind_the_whole_heading(text: str, content: str) -> None:
    document = page(text)
    section = document.sections[-1]
    assert document.raw[section.content : section.end].decode() == content


def test_an_indented_heading_begins_with_its_line() -> None:
    section = page("text\n\n   # A\n").sections[1]
    assert section.start == 6


def test_offsets_count_bytes_behind_frontmatter_and_bom() -> None:
    document = page("\ufeff---\ntitle: Ä\n---\nÄöü\n# Größe\nß\n")
    first, second = document.sections
    assert document.raw[first.start : first.end].decode() == "Äöü\n"
    assert document.raw[second.start : second.end].decode() == "# Größe\nß\n"
    assert document.body_start == first.start


def test_anchors_are_those_of_github() -> None:
    text = (
        "# Hello, World!\n# C++ & *C*\n# Ünïcode Straße\n# 日本語 の見出し\n# नमस्ते दुनिया\n# snake_case-name\n# 🚀 Go\n"
    )
    assert [s.anchor for s in page(text).sections[1:]] == [
        "hello-world",
        "c--c",
        "ünïcode-straße",
        "日本語-の見出し",
        "नमस्ते-दुनिया",
        "snake_case-name",
        "-go",
    ]


def test_repeated_anchors_get_numbers_that_are_free() -> None:
    anchors = [s.anchor for s in page("# A\n# A-1\n# A\n# A\n# !\n# ?\n").sections[1:]]
    assert anchors == ["a", "a-1", "a-2", "a-3", "section", "section-1"]


def test_attributes_are_split_off_the_heading() -> None:
    section = only("## Code Style {#code-style updated=2026-01-02 override=none .big title='a b'}\n")
    assert section.heading == "Code Style"
    assert section.attributes == "#code-style updated=2026-01-02 override=none .big title='a b'"
    assert section.anchor == "code-style"


@each_case(
    ("text", "heading", "attributes"),
    [
        ("## Größe *x* {#k} ##\n", "Größe x", "#k"),
        ("Setext {#k a=1}\n---\n", "Setext", "#k a=1"),
        ("# {#only}\n", "", "#only"),
        ("# A {: #k .c}\n", "A", ": #k .c"),
        ("# a {b} {#c}\n", "a {b}", "#c"),
        ("# A {#k}   \r\n", "A", "#k"),
        ('# A {k="x y"}\n', "A", 'k="x y"'),
    ],
)
def test_attributes_of_many_spellings(text: str, heading: str, attributes: str) -> None:
    section = only(text)
    assert (section.heading, section.attributes) == (heading, attributes)


@each_case(
    "heading",
    ["Set {1, 2}", "JSX {props}", "a{#b}", "Empty {}", "A {#b} c", "Open {#b", "`{#a}`", "f(x) {return}", "A {#b\\}"],
)
def test_braces_that_are_no_attributes_are_text(heading: str) -> None:
    section = only(f"# {heading}\n")
    assert section.attributes == ""
    assert section.heading == heading.replace("`", "").replace("\\", "")


def test_ten_thousand_headings_are_sections() -> None:
    document = page("".join(f"{'#' * (n % 6 + 1)} Heading\n\ntext {n}\n\n" for n in range(10_000)))
    assert len(document.sections) == 10_001
    assert len({section.anchor for section in document.sections}) == 10_001


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
