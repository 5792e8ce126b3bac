"""Conversion of Markdown to sanitized HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Link
from commonplace.faces.web.markup.html import LinkHtml
from commonplace.faces.web.markup.links import external_link
from commonplace.faces.web.markup.page import CUT, MAX_EMBEDS, Renderer, TextRenderer
from commonplace.faces.web.markup.parser import LinkKey
from commonplace.faces.web.markup.sanitizer import MAX_SECONDS
from commonplace.faces.web.messages import ENGLISH_WORDS
from commonplace.faces.web.urls import Urls
from commonplace.services.collections import Collection, Collections
from indexed import Indexed

FILES = {
    "notes/here.md": "# Here\n",
    "notes/other.md": "---\naliases: [Second]\n---\n# Other\n\nIntro.\n\n"
    "## Part *one*\n\nInside [[here]].\n\n## Part two\n\nEnd.\n",
    "loop.md": "# Loop\n\n![[loop]]\n",
    "host.md": "# Host\n\n## Part\n",
    "self.md": "# Self\n\n## Part\n\n[[#Part]], [[host#Part]] [^n]\n\n[^n]: Of the embedded page.\n",
    "files/pic.png": b"\x89PNG",
    "files/a b.pdf": b"%PDF",
}

Render = Callable[[str], str]


@pytest.fixture(scope="module")
def render(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Render]:
    with Indexed(tmp_path_factory.mktemp("rendered"), FILES) as base:
        collection = Collection("base", base.store, base.index)

        def rendered(markdown: str) -> str:
            document = read_document(Address("notes/here.md"), markdown.encode())
            return Renderer(Collections(lambda: [collection]), collection, Urls("base")).document(document)

        yield rendered


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("[[Other]]", '<a class="page-link" href="/p/notes/other">Other</a>'),
        ("[[Other#Part two|label]]", '<a class="page-link" href="/p/notes/other#part-two">label</a>'),
        ("[[Second]]", 'href="/p/notes/other"'),
        ("<ada@example.org>", '<a class="external" href="mailto:ada@example.org">ada@example.org</a>'),
        ("[t](other.md#part-one)", 'href="/p/notes/other#part-one"'),
        ("[[No such page]]", '<a class="wanted" href="/wanted/No%20such%20page" title="This page does not exist yet">'),
        ("![[pic.png|120]]", '<img src="/files/files/pic.png" alt="pic" width="120" loading="lazy">'),
        (
            "|a|\n|-|\n|![[pic.png\\|120]]|",
            '<td><img src="/files/files/pic.png" alt="pic" width="120" loading="lazy"></td>',
        ),
        ("|a|\n|-|\n|![[Other\\|x]]|", '<p class="embed-title"><a class="page-link" href="/p/notes/other">Other</a>'),
        ("![alt](../files/pic.png)", '<img src="/files/files/pic.png" alt="alt" loading="lazy">'),
        ("![[a b.pdf]]", '<a class="file-card" href="/files/files/a%20b.pdf"><b>a b.pdf</b> <small>PDF</small></a>'),
        ("![far](https://far.example/x.png)", '<a class="external" href="https://far.example/x.png">far</a>'),
        ("![[Other#Part two]]", "<h2>Part two</h2>"),
        ('<img src="../files/pic.png">', '<img alt="" src="/files/files/pic.png">'),
        (
            '<img src="pic.png" srcset="pic.png 1x, https://far.example/x.png 2x">',
            '<img alt="" src="/files/files/pic.png">',
        ),
        ('<img srcset="../files/pic.png 1x, pic.png 2x">', 'srcset="/files/files/pic.png 1x, /files/files/pic.png 2x"'),
        ('<video\n  poster="pic.png"></video>', '<video poster="/files/files/pic.png">'),
        ('Text <a href="Other.md#part one">x</a>', '<a href="/p/notes/other#part-one">x</a>'),
        ('<a href="../files/a b.pdf">x</a>', '<a href="/files/files/a%20b.pdf">x</a>'),
        ('<a href="gone.md#x">x</a>', '<a href="/p/notes/gone#x">x</a>'),
        ('<a href="java&#115;cript:alert(1)">x</a> <img src="//far.example/x.png">', "<p>x "),
        ("![[Other#Gone]]", "The document has no section"),
        ("# A b", '<h1 id="a-b">'),
        (
            "see https://e.example/a(b).",
            '<a class="external" href="https://e.example/a(b)">https://e.example/a(b)</a>.',
        ),
        ("a #tag/sub b", '<a class="tag" href="/tags/tag/sub">#tag/sub</a>'),
        ("==lit== %%gone%% text", "<mark>lit</mark>  text"),
        ("- [x] done", '<input type="checkbox" disabled="" checked="" aria-label="Done">'),
        ("$a<b$", '<code class="math-inline">a&lt;b</code>'),
        ("$$\nx\n$$", '<div class="math-block"><code>x</code></div>'),
        ("```mermaid\ngraph\n```", '<div class="mermaid-block"><pre tabindex="0"><code>graph'),
        ("```python\nx = 1\n```", '<span class="mi">1</span>'),
        ("|a|\n|--:|\n|1|", '<td class="right">1</td>'),
        ("x[^n]\n\n[^n]: note", '<li id="footnote-1"><p>note'),
        ("> [!warning] Mind *it*\n> text", '<p class="callout-title">Mind <em>it</em></p>'),
        ("> [!note]\n> text", '<p class="callout-title">Note</p><div class="callout-body">'),
        ("> [!tip]- Closed\n> text", '<details class="callout callout-tip"><summary>Closed</summary>'),
        ('!!! note "Said"\n    inside [[Other]]\n', '<p class="callout-title">Said</p>'),
        (":::warning Mind\ninside\n:::\n", '<div class="callout callout-warning"><p class="callout-title">Mind</p>'),
        ("one ^mark", '<span class="block-id" id="^mark"></span>'),
        ("before\n\n%%\nhidden\n%%\n\nafter", "<p>before</p>\n<p>after</p>"),
    ],
)
def test_a_construct_becomes_its_html(render: Render, markdown: str, expected: str) -> None:
    assert expected in render(f"{markdown}\n")


@pytest.mark.parametrize(
    "markdown",
    [
        "<script>run()</script>",
        "<img src=x onerror=run()>",
        '<a href="javascript:run()">x</a>',
        "[x](javascript:run())",
        "[x](<JaVa\tScRiPt:run()>)",
        "[x](data:text/html,<script>run()</script>)",
        "<svg><script>run()</script></svg>",
        '<math><mtext><style><img src=x onerror="run()"></style></mtext></math>',
        '<iframe src="https://far.example"></iframe><form action="https://far.example"><input name=q></form>',
        '<p style="background:url(//far.example)">x</p><style>*{}</style><link rel=stylesheet href=//far.example>',
        '<img src="//far.example/x.png"><img srcset="https://far.example/y.png"><video poster="https://far.example/z">',
        '<div id="_ui-main" class="top">x</div>',
        '<base href="https://far.example/"><meta http-equiv=refresh content="0;url=https://far.example">',
    ],
)
def test_nothing_runs_loads_or_leads_to_a_script(render: Render, markdown: str) -> None:
    html = render(f"{markdown}\n").lower()

    for forbidden in ("<script", "onerror", "javascript:", "data:", "style", "<iframe", "<form", "<base", "<meta",
                      "<link", "srcset", "poster", 'src="//', 'src="http', 'id="_ui-', 'class="top'):  # fmt: skip
        assert forbidden not in html


def test_tags_are_those_of_the_index(render: Render) -> None:
    for markdown in (
        "#a and (#b) and |#c and *#d*",
        r"Example\#no and \#no",
        "|a|b|c|\n|-|-|-|\n|[`x|=`](#no)|#yes|",
        "[Text]#no and [A](b)#no and `code`#no",
        "\u3000#yes and x\u3000#yes",
        "> #quoted\n\n- #item\n\n## #heading",
    ):
        shown = re.findall(r'href="/tags/([^"]*)"', render(f"{markdown}\n"))
        document = read_document(Address("notes/here.md"), f"{markdown}\n".encode())
        assert tuple(dict.fromkeys(shown)) == document.tags, markdown


def test_a_document_that_embeds_itself_is_shown_once(render: Render) -> None:
    html = render("![[loop]]\n")

    assert html.count('class="embed-title"') == 2
    assert html.count("<h1>Loop</h1>") == 1


def test_links_and_footnotes_of_an_embedded_page_are_its_own(render: Render) -> None:
    html = render("# Here\n\n![[self]] [[#Here]] [^n]\n\n[^n]: Of this page.\n")

    assert '<a class="page-link" href="/p/self#part">Part</a>' in html
    assert '<a class="page-link" href="/p/host#part">' in html
    assert '<a class="page-link" href="#here">Here</a>' in html
    assert html.count('id="footnote-1"') == 1
    assert html.count('id="footnote-1-1"') == 1


def test_unclosed_html_stays_inside(render: Render) -> None:
    html = render("<div><b>open\n\ntext\n")

    assert html.count("<div") == html.count("</div>")
    assert html.count("<b>") == html.count("</b>")


def test_a_reference_definition_counts_in_every_part(render: Render) -> None:
    assert 'href="/p/notes/other"' in render("[a][b]\n\n[b]: other.md\n")


def test_a_page_embeds_no_more_than_its_budget_holds(render: Render) -> None:
    html = render("![[Other#Part two]]\n\n" * (MAX_EMBEDS + 5))

    assert html.count('class="embed-body"') == MAX_EMBEDS
    assert html.count('class="embed-title"') == MAX_EMBEDS + 5


class _NoLinks:
    def shown(self, links: Mapping[LinkKey, Link]) -> Mapping[LinkKey, LinkHtml]:
        return {key: external_link(key) for key in links}


def test_texts_of_one_page_share_their_footnotes_and_what_the_whole_defines() -> None:
    whole = "[^n]: Said [there][t].\n\n[t]: https://far.example/\n"
    texts = TextRenderer(_NoLinks(), whole=whole)
    first, second = texts.html("One[^n] and [link][t]."), texts.html("Two[^n].")

    assert 'href="https://far.example/"' in first
    assert 'id="footnote-ref-1"' in first
    assert 'id="footnote-ref-1-2"' in second
    assert texts.footnotes().count("<li") == 1


def test_a_text_that_is_too_long_is_cut_and_says_so() -> None:
    texts = TextRenderer(_NoLinks(), left=10)

    assert texts.html("0123456789") == "<p>0123456789</p>\n"
    assert texts.html("more") == CUT


def test_text_that_is_no_unicode_is_shown_with_marks() -> None:
    assert TextRenderer(_NoLinks()).html("a \ud800 b") == "<p>a ? b</p>\n"


def test_only_a_page_that_somebody_waits_for_has_little_time(tmp_path: Path) -> None:
    with Indexed(tmp_path, FILES) as base:
        document = read_document(Address("notes/here.md"), b"# Here\n\nText.\n")
        here = (base.collections, base.collection, Urls("base"))
        assert "shown as its source" in Renderer(*here, seconds=-1.0).document(document)
        files = Renderer.of_files(*here, ENGLISH_WORDS)
        assert files.seconds > 60 * MAX_SECONDS
        assert "<p>Text.</p>" in files.document(document)
