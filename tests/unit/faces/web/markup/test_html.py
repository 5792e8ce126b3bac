"""Events as HTML, before it is sanitized."""

from __future__ import annotations

from cases import each_case
from commonplace.faces.web.markup.blocks import Footnotes
from commonplace.faces.web.markup.html import HtmlWriter, LinkHtml, Scope
from commonplace.faces.web.markup.links import external_link
from commonplace.faces.web.markup.parser import parse


def html(markdown: str, anchors: dict[int, str] | None = None) -> str:
    scope = Scope(external_link, anchors or {}, Footnotes())
    return HtmlWriter(parse(markdown.encode()), scope, 0 if anchors else -1).run()


@each_case(
    ("markdown", "expected"),
    [
        ("a *b* **c** ~~d~~ `<e>`", "<p>a <em>b</em> <strong>c</strong> <del>d</del> <code>&lt;e&gt;</code></p>\n"),
        ('a<b & "c"', '<p>a&lt;b &amp; "c"</p>\n'),
        ("one  \ntwo\nthree", "<p>one<br>\ntwo\nthree</p>\n"),
        ("3. c\n4. d", '<ol start="3">\n<li>c</li><li>d</li></ol>\n'),
        ("1. a", "<ol>\n<li>a</li></ol>\n"),
        ("- a\n  - b", "<ul>\n<li>a<ul>\n<li>b</li></ul>\n</li></ul>\n"),
        ("---\n", "<hr>\n"),
        ("> a", "<blockquote>\n<p>a</p>\n</blockquote>\n"),
        ("## A *b* ##", "<h2>A <em>b</em></h2>\n"),
        ("![a *b*](https://x.example/y.png)", '<p><a class="external" href="https://x.example/y.png">a b</a></p>\n'),
        (
            "[![a](https://x.example/y.png)](https://z.example)",
            '<p><a class="external" href="https://z.example">a</a></p>\n',
        ),
        (
            "[https://x.example](https://y.example)",
            '<p><a class="external" href="https://y.example">https://x.example</a></p>\n',
        ),
        ("- [ ] to do", '<ul>\n<li><input type="checkbox" disabled aria-label="To do"> to do</li></ul>\n'),
        ("```{.python .x}\nx\n```", '<div class="code-block"><pre tabindex="0"><code>x</code></pre></div>\n'),
    ],
)
def test_an_element_is_written(markdown: str, expected: str) -> None:
    assert html(markdown).replace('<span class="n">x</span>', "x") == expected


def test_a_table_has_a_head_and_its_alignment() -> None:
    written = html("|a|b|c|\n|:-|:-:|-:|\n|1|2|\n")
    assert '<thead><tr><th class="left">a</th><th class="center">b</th><th class="right">c</th></tr></thead>' in written
    assert '<tr><td class="left">1</td><td class="center">2</td><td class="right"></td></tr>' in written
    assert written.endswith("</table></div>\n")


@each_case(
    ("markdown", "title", "body"),
    [
        ("> [!note]\n> b", "Note", "<p>b</p>"),
        ("> [!note] T *x*\n> b", "T <em>x</em>", "<p>b</p>"),
        ("> [!note] T", "T", ""),
        ("> [!note]", "Note", ""),
        ("> [!note]\n> - a", "Note", "<ul>\n<li>a</li></ul>"),
        ("> [!note]\n>\n> b", "Note", "<p>b</p>"),
        ("> [!note] T\n> > inner", "T", "<blockquote>\n<p>inner</p>\n</blockquote>"),
    ],
)
def test_a_callout_has_a_title_and_a_body(markdown: str, title: str, body: str) -> None:
    written = html(markdown)
    assert written.startswith(
        f'<div class="callout callout-note"><p class="callout-title">{title}</p><div class="callout-body">'
    )
    assert body in written
    assert written.count("<div") == written.count("</div>")
    assert written.count("<p") == written.count("</p>")


def test_a_callout_inside_of_a_callout_is_closed_before_it() -> None:
    written = html("> [!warning] Outer\n> > [!tip]- Inner\n> > x\n>\n> y\n")
    assert written.index("</details>") < written.index("<p>y</p>") < written.index("</div></div>\n")


def test_a_heading_has_the_anchor_of_the_section_that_begins_there() -> None:
    markdown = "# A ü\n\n> # In a quote\n"
    assert html(markdown, {0: "a-ü"}).startswith(
        '<h1 id="a-ü">A ü <a class="anchor" href="#a-%C3%BC" aria-label="Link to this section">#</a></h1>'
    )
    assert "id=" not in html(markdown)


def test_attributes_of_a_heading_are_not_its_text() -> None:
    assert html("## Ways *a* {#ways status=superseded by=x/y.md}\n") == "<h2>Ways <em>a</em></h2>\n"
    assert html("## {not attributes}\n\n{#a}\n") == "<h2>{not attributes}</h2>\n<p>{#a}</p>\n"


def test_a_footnote_stands_in_the_list_and_not_in_the_text() -> None:
    notes = Footnotes()
    written = HtmlWriter(parse(b"a[^x]\n\n[^x]: b\n"), Scope(external_link, {}, notes), -1).run()
    assert "b" not in written.replace("sub", "").replace("label", "")
    assert "<p>b" in notes.html()


def test_an_embed_gets_the_label_that_the_text_gives_it() -> None:
    given_pairs: list[tuple[str, str]] = []

    def embed(label: str, title: str) -> str:
        given_pairs.append((label, title))
        return "[E]"

    scope = Scope(lambda _: LinkHtml("", embed), {}, Footnotes())
    for markdown in ("![[a.png]]", "![[a.png|300]]", '![alt](a.png "T")', "![](a.png)"):
        assert "[E]" in HtmlWriter(parse(markdown.encode()), scope, -1).run()
    assert given_pairs == [("", ""), ("300", ""), ("alt", "T"), ("", "")]
