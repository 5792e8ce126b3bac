"""Snippets and sentences."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import each_case
from commonplace.domain.snippets import HighlightTerms, marked_spans, sentence_round, snippet, strip_markdown
from ways.linear import assert_linear


def wanted(*words: str, grams: tuple[str, ...] = ()) -> HighlightTerms:
    return HighlightTerms({word: frozenset({word}) for word in words}, grams)


@each_case(
    ("markdown", "plain"),
    [
        ("**bold** and *slanted* and _so_ and __so__", "bold and slanted and so and so"),
        ('a [link](../x/y.md "t") and ![image](i.png)', "a link and image"),
        ("a [link][ref] here\n\n[ref]: http://x.y", "a link here"),
        ("a[0], [1], [^1] and *[sic]* in a [link](x)", "a[0], [1], and [sic] in a link"),
        ("- [ ] open\n- [x] done\n[not] (a link)", "open done [not] (a link)"),
        ("[![build](a.svg)](https://x.y) here", "build here"),
        ("see [[Page]] and [[page|shown]]", "see Page and shown"),
        ("# Heading\n> quoted\n- item\n1. first", "Heading quoted item first"),
        ("| a | b |\n|---|---|\n| c | d |", "a b c d"),
        ("```cpp\n#include <vector>\nint *p = a * b;\n```", "#include <vector> int *p = a * b;"),
        ("`__declspec` of foo_bar_baz", "__declspec of foo_bar_baz"),
        ("<p>text<br/>more</p><!-- not this -->", "text more"),
        ("1 \\* 2 \\_ 3", "1 * 2 _ 3"),
        ("one\\\ntwo\\\r\n  three\\\n> four", "one two three four"),
        ("**one\\\ntwo** and `a\\`\nb", "one two and a\\ b"),
        ("C:\\temp\\\n\nthen D:\\x\\", "C:\\temp\\ then D:\\x\\"),
        ("one\\\\\ntwo", "one\\ two"),
        ("\\*so\\* and \\_so\\_, *a \\* b*, c\\|d", "*so* and _so_, a * b, c|d"),
        ("a_b_c and 2 * 3 * 4 and std::vector<int>", "a_b_c and 2 * 3 * 4 and std::vector<int>"),
        ("```ps\n[int][Math]::Round(5, [M]::Z)\na | b *c*\n```", "[int][Math]::Round(5, [M]::Z) a | b *c*"),
        ('Run `"..\\S\\*\\init.txt"` or `D\\.x.json`', 'Run "..\\S\\*\\init.txt" or D\\.x.json'),
        ("| `*a` | `b*` |\n|---|---|\n| `$_.CPU` | `&lt;` |", "*a b* $_.CPU &lt;"),
        ("text\n\n    [x](y) **z**\n", "text [x](y) **z**"),
        ("**Run `a*b` now**, [`x[0]`](y)", "Run a*b now, x[0]"),
        ("**[[Settings]]**, _[a](b)_, **![[x.png]]**", "Settings, a,"),
        ("Open ![[lucide-cog.svg#icon]] now", "Open now"),
        ("as **an\nadmin** and _a\nb_, not *a\n\nb* or *a\n* b*", "as an admin and a b, not *a b* or *a b*"),
        ("![[Properties#^templates]] and [[#Sync history]]", "Properties and Sync history"),
        ("| ![[E.jpg\\|100]] | ![[E.jpg\\|a face]] | [[Page\\|shown]] |", "a face shown"),
        ("[[Page#Part|**shown**]] and [[Page#Part#Sub]]", "shown and Page > Part > Sub"),
        ("[a](<b c.md>) and [d](e 'f')", "a and d"),
        ("a \0 b\0001 `c`", "a \ufffd b\ufffd1 c"),
        ("see [[1]](page.md) and [[`x`]](a/b), a [[Dog]](s)", "see [1] and [x], a Dog(s)"),
        ("see [[1]][ref] and `[[2]](b.md)`\n\n[ref]: b.md", "see [1] and [[2]](b.md)"),
    ],
)  # fmt: skip
def test_plain_text_has_no_markup_and_all_of_the_words(markdown: str, plain: str) -> None:
    assert strip_markdown(markdown) == plain


def test_a_short_text_is_shown_whole() -> None:
    assert snippet("A *short* text.", wanted("short"), 100) == "A short text."


def test_a_long_text_is_cut_between_words_round_the_match() -> None:
    shown = snippet("before " * 50 + "the needle here " + "behind " * 50, wanted("needle"), 60)
    assert shown.startswith("…before")
    assert shown.endswith("behind…")
    assert "needle" in shown
    assert len(shown) <= 60


def test_the_place_with_most_different_words_is_shown() -> None:
    text = "alpha " + "x " * 200 + "alpha beta " + "y " * 200 + "beta beta beta"
    assert "alpha beta" in snippet(text, wanted("alpha", "beta"), 80)


def test_a_match_inside_a_link_target_is_no_match() -> None:
    text = "[page](needle.md) " + "x " * 300 + "the needle itself"
    assert "the needle itself" in snippet(text, wanted("needle"), 80)


@pytest.mark.parametrize("limit", range(20, 120, 7))
@pytest.mark.parametrize(
    "atom", ["[[Basic formatting syntax|it]]", "[it](https://far.example/a-long-way-to-it)", "`[[a|b]] *c*`"]
)
def test_a_cut_leaves_no_part_of_a_link_or_of_code_marks(atom: str, limit: int) -> None:
    text = f"needle {atom} " + f"{atom} in the text " * 100
    plain = strip_markdown(text)

    for query in (wanted("needle"), wanted("nothing")):
        shown = snippet(text, query, limit).rstrip("…")
        assert shown
        assert plain.startswith(shown)


def test_code_that_begins_before_the_window_is_code() -> None:
    text = "```ps\n" + "$x = a | b *c*\n" * 100 + "[int][Math]::Round(needle) | *out*\n" + "$y *z*\n" * 100 + "```\n"

    assert "[int][Math]::Round(needle) | *out*" in snippet(text, wanted("needle"), 120)


def test_accents_do_not_hide_a_match() -> None:
    text = "x " * 300 + "das Café dort"
    assert "Café" in snippet(text, wanted("cafe"), 40)


def test_pairs_of_characters_are_shown_in_their_surroundings() -> None:
    text = "知识" * 200 + "数据库的备份"
    assert "数据库" in snippet(text, wanted(grams=("数据", "据库")), 30)


def test_without_a_match_the_beginning_is_shown() -> None:
    assert snippet("one two three four five", wanted("nothing"), 12) == "one two…"


@given(
    text=st.text(alphabet="ab \n*_`[]()<>|#-+!\\知识é", max_size=400),
    limit=st.integers(min_value=0, max_value=60),
)  # fmt: skip
def test_a_snippet_is_never_longer_than_asked(text: str, limit: int) -> None:
    assert len(snippet(text, wanted("ab", "a", grams=("知识",)), limit)) <= limit


@given(before=st.text(alphabet="xy .\n", max_size=600), behind=st.text(alphabet="xy .\n", max_size=600))
def test_a_snippet_contains_the_match_wherever_it_stands(before: str, behind: str) -> None:
    assert "needle" in snippet(f"{before} needle {behind}", wanted("needle"), 50)


@pytest.mark.parametrize(
    "piece",
    [
        "[",
        "![",
        "[[",
        "*a",
        "_a",
        "<",
        "<a ",
        "> ",
        "- ",
        "1.",
        "`",
        "](",
        "](a ",
        "|",
        "\\",
        "\\\n",
        "*\\",
        "**",
        "<!--",
        "[!",
        "[^",
        "==",
        "==a",
        "~~a",
        "{{<",
        "{%",
        "%%",
        ":::",
        "$$",
        "&a",
        "<http:",
        " ^a",
        "[ ] ",
    ],
)
@pytest.mark.soak
def test_plain_text_takes_time_in_proportion_to_the_text(piece: str) -> None:
    assert_linear(lambda size: partial(strip_markdown, piece * (size // len(piece))), 50_000)


def test_the_sentence_round_a_link_is_plain_and_whole() -> None:
    raw = b"One sentence. The *second* has a [link](x.md) in it. A third.\n\nMore.\n"
    start = raw.index(b"[link]")
    assert sentence_round(raw, start, start + len(b"[link](x.md)")) == "The second has a link in it."


def test_the_sentence_of_a_list_item_ends_with_its_line() -> None:
    raw = b"- first\n- see [[Page]] for more\n- third\n"
    start = raw.index(b"[[")
    assert sentence_round(raw, start, start + len(b"[[Page]]")) == "see Page for more"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("    Open **[[Settings]]**. More.", "Open Settings."),
        ("See `a. *b*` and [[Settings]] ![[cog.svg#icon]]. More.", "See a. *b* and Settings ."),
        ("[[No. One]], [x. Y](y.md) or [[Settings#^id]]! More.", "No. One, x. Y or Settings!"),
        ("Open [[Settings]] here\\\nand there", "Open Settings here"),
        ("Open [[Settings]] here\\\r\nand there", "Open Settings here"),
        ("Open [[Settings]] in D:\\\n\nMore", "Open Settings in D:\\"),
    ],
)
def test_the_sentence_shows_code_as_it_stands_and_links_as_text(line: str, sentence: str) -> None:
    raw = line.encode()
    start = raw.index(b"[[Settings")
    assert sentence_round(raw, start, raw.index(b"]]", start) + 2) == sentence


def test_an_abbreviation_before_a_small_letter_ends_no_sentence() -> None:
    raw = b"Use e.g. the [tool](x.md), etc. when needed. Next.\n"
    start = raw.index(b"[tool]")
    assert sentence_round(raw, start, start + len(b"[tool](x.md)")) == "Use e.g. the tool, etc. when needed."


@each_case(
    ("markdown", "plain"),
    [
        ("> [!note]+ Call\n> text", "Call text"),
        ("- [x] done\n- [ ] open", "done open"),
        ("text[^1] and\n[^1]: a foot note", "text and a foot note"),
        ("a ==high light== b, x==1 and y==2", "a high light b, x==1 and y==2"),
        ("a %%comment%% b, 100%%", "a comment b, 100"),
        ("line ^block-1\n- next ^b2", "line next"),
        ("2^10 and x ^ y", "2^10 and x ^ y"),
        ("{{< ref page >}} a {{% x %}} b {% link c.md %}", "a b"),
        (":::note Title\nbody\n:::", "Title body"),
        ("$$\nx + y\n$$", "x + y"),
        ("~~gone~~ ~/home ~5", "gone ~/home ~5"),
        ("<https://a.example/b> &amp; &lt;b&gt; R&D; a[0] [1]", "https://a.example/b & <b> R&D; a[0] [1]"),
    ],
)
def test_markup_of_notes_and_sites_is_no_text(markdown: str, plain: str) -> None:
    assert strip_markdown(markdown) == plain


@each_case(
    ("query", "text", "marked"),
    [
        ("a", "a cat and A", ["a", "A"]),
        ('"a"', "a cat", ["a"]),
        ('what does "a plan" mean for all of us', "a plan of us", ["a", "plan"]),
        ("使用Python编写", "使用Python编写", ["使用", "Python", "编写"]),
        ("python", "使用Python编写", ["Python"]),
        ("", "a", []),
        ("שלך 数据", "שלך数据x", ["שלך", "数据"]),
    ],
)
def test_the_words_of_a_query_are_marked(query: str, text: str, marked: list[str]) -> None:
    assert [text[start:end] for start, end in marked_spans(query)(text)] == marked
