# ruff: noqa: E501 (a table: each construct beside what is made of it)
"""docs/rendering.md says of each construct what pages make of it: each row is rendered, and shows what it says."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from asgi.browsing import Pages
from commonplace.faces.web.markup.code import MAX_HIGHLIGHTED
from support import ROOT

TABLE = ROOT / "docs" / "rendering.md"
LINE = re.compile(r"^\| (?P<what>(?:[^|\\]|\\.)+?) \| (?P<here>(?:[^|\\]|\\.)+?) \|", re.MULTILINE)
FILES: dict[str, str | bytes] = {
    "d/page.md": "---\naliases: [Other name]\ntitle: The page\n---\nPage text. ^block\n\n## Heading\n\nPart text.\n\n### Below\n\nx\n",
    "page.md": "# Root page\n\nRoot.\n",
    "d/a b.md": "# A b\n",
    "d/nest1.md": "One ![[nest2]]\n",
    "d/nest2.md": "Two ![[nest1]]\n",
    "d/image.png": b"\x89PNG",
    "d/pic.svg": "<svg/>",
    "d/sound.mp3": b"x",
    "d/film.mp4": b"x",
    "d/paper.pdf": b"x",
    "d/canvas.canvas": "{}",
    "d/base.base": "x",
}
Case = tuple[str, tuple[str, ...], tuple[str, ...]]
"""A document, what its page's text contains, and what it does not."""


def has(markdown: str, *there: str, never: tuple[str, ...] = ()) -> Case:
    return markdown, there, never


LONG = "```python\n" + "x = 1\n" * (MAX_HIGHLIGHTED // 6 + 10) + "```\n"
CASES: dict[str, Case] = {
    "paragraphs, `*em*`": has("*em* **strong** ***both***", "<p><em>em</em> <strong>strong</strong> <em><strong>both"),
    "`_em_`": has("_em_ __strong__", "<em>em</em> <strong>strong</strong>"),
    "`~~struck~~`": has("~~struck~~", "<del>struck</del>"),
    "`==marked==`": has("==marked== ==a *b* c==", "<mark>marked</mark>", "==a <em>b</em> c=="),
    "`` `code` ``": has("`code`", "<code>code</code>"),
    "`` ``code with": has("``code with ` ``", "<code>code with ` </code>"),
    "`\\*`": has("\\*a\\*", "*a*"),
    "`&amp;`": has("&amp; &#123;", "&amp; {"),
    "line break in": has("one\ntwo", "one\ntwo", never=("<br",)),
    "two blanks or": has("one  \ntwo\\\nthree", "one<br>\ntwo<br>\nthree"),
    "`%%comment%%`": has("a %%comment%% b", "a  b", never=("comment",)),
    "`%%` on lines": has("a\n\n%%\nhidden\n\ntoo\n%%\n\nb", "<p>b</p>", never=("hidden", "too")),
    "`<!-- comment -->`": has("a <!-- comment --> b", "a  b", never=("comment",)),
    "`https://example.org` in": has(
        "see https://example.org.", '<a class="external" href="https://example.org">https://example.org</a>.'
    ),
    "`www.example.org`": has("www.example.org", "<p>www.example.org</p>"),
    "`<https://example.org>`": has("<https://example.org>", 'href="https://example.org"'),
    "`name@example.org`": has("name@example.org", "<p>name@example.org</p>"),
    "`:smile:`": has(":smile:", "<p>:smile:</p>"),
    "`@name`": has("@name #123", "<p>@name #123</p>"),
    "`x^2^`": has("x^2^", "<p>x^2^</p>"),
    "`H~2~O`": has("H~2~O", "<p>H~2~O</p>"),
    "typographic quotes": has('"a" -- b...', '"a" -- b...'),
    "`# One` to": has("# One\n\n###### Six Words", 'id="one"', '<h6 id="six-words">'),
    "two equal headings": has("## Usage\n\n## Usage", 'id="usage"', 'id="usage-1"'),
    "underlined headings": has("One\n===\n\nTwo\n---", '<h1 id="one">', '<h2 id="two">'),
    "`## Title {#own-id}`": has("## Title {#own-id}", '<h2 id="own-id">Title'),
    "`## Title ##`": has("## Title ##", '<h2 id="title">Title', never=("##",)),
    "a heading in a quote": has("> ## In\n\n- ## List", "<h2>In", "<h2>List"),
    "a first heading": has("---\ntitle: Same\n---\n# Same\n\nx", '<h1 id="same">Same', never=("page-title",)),
    "`-`, `*`": has("- a\n\ntext\n\n* b\n\ntext\n\n+ c", "<ul>\n<li>a</li>", "<li>b</li>", "<li>c</li>"),
    "`1.`, `1)`": has("3. a\n4. b\n\ntext\n\n7) c", '<ol start="3">', '<ol start="7">'),
    "nested lists": has("- a\n  - b", "<li>a<ul>\n<li>b</li>"),
    "`- [ ]`, `- [x]`": has("- [ ] a\n- [x] b", 'type="checkbox"', "disabled", "checked"),
    "`- [/]`": has("- [/] a\n- [>] b", "[/] a", "[&gt;] b", never=("checkbox",)),
    "items with several": has("- a\n\n  b", "<li><p>a</p>\n<p>b</p>"),
    "term and": has("Term\n: definition", "Term\n: definition", never=("<dl",)),
    "`> quote`": has("> quote", "<blockquote>\n<p>quote</p>"),
    "nested quotes": has("> a\n>\n> > b", "<blockquote>\n<p>b</p>"),
    "`> [!note]`": has("> [!note]\n> x", 'class="callout callout-note"', "<p>x</p>"),
    "`> [!NOTE]`": has("> [!NOTE]\n> x", 'class="callout callout-note"'),
    "`> [!tip] Own": has("> [!tip] Own *title*\n> x", "callout-tip", "Own <em>title</em>"),
    "`> [!tip]-`": has(
        "> [!tip]- A\n> x\n\ntext\n\n> [!tip]+ B\n> x", '<details class="callout callout-tip">', 'callout-tip" open'
    ),
    "`> [!faq]` and": has("> [!faq]\n> x\n\ntext\n\n> [!bug]\n> x", "callout-warning", "callout-danger"),
    "an unknown type": has("> [!mine]\n> x", "callout-note", "Mine"),
    "callouts in callouts": has("> [!note]\n> > [!tip]\n> > x", "callout-note", "callout-tip"),
    "`!!! note": has('!!! note "Title"\n    Inside *x*.', "callout-note", "Title", "Inside <em>x</em>."),
    "`??? note`": has(
        "??? note\n    a\n\n???+ note\n    b", '<details class="callout callout-note">', 'callout-note" open'
    ),
    "`:::note Title`": has(":::note Title\nInside.\n:::", "callout-note", "Title", "Inside."),
    "`:::` of": has(":::tabs\nx\n:::", ":::tabs", never=("callout",)),
    "fenced with": has("```\na\n```\n\n~~~\nb\n~~~", '<div class="code-block"><pre', ">a\n", ">b\n"),
    "` ```python `": has("```python\nimport a\n```", '<span class="kn">import</span>'),
    "an unknown language": has("```nosuch\nimport a\n```", ">import a\n", never=("<span",)),
    "more than 60,000": has(LONG, "x = 1\nx = 1", never=("<span",)),
    "indented by four": has("a\n\n    code *x*", "<code>code *x*</code>"),
    "` ```mermaid `": has("```mermaid\ngraph TD\n```", 'class="mermaid-block"', "graph TD"),
    "` ```math `": has("```math\nx^2\n```", 'class="math-block"', "x^2"),
    "` ```dataview `": has("```dataview\nLIST\n```", '<div class="code-block">', "LIST"),
    "` ```js {1,3} `": has("```js {1,3}\nlet a\n```", "<span", never=("{1,3}",)),
    "tabs in code": has("```\n\ta\n```", "\ta\n"),
    "pipes": has("| a |\n|---|\n| 1 |", '<div class="table-scroll"', "<td>1</td>"),
    "`:--`, `:-:`": has(
        "| a | b | c |\n|:--|:-:|--:|\n| 1 | 2 | 3 |", 'class="left">1', 'class="center">2', 'class="right">3'
    ),
    "`\\|` in a cell": has("| a |\n|---|\n| 1 \\| 2 |", "<td>1 | 2</td>"),
    "wikilinks with": has("| a |\n|---|\n| [[page\\|label]] |", ">label</a></td>"),
    "a table without outer": has("a | b\n---|---\n1 | 2", "<td>1</td>"),
    "a table without a line": has("text\n| a |\n|---|\n| 1 |", "<p>text</p>", "<td>1</td>"),
    "`[text](page.md)`": has("[text](page.md) [x](d/page.md)", 'href="/p/d/page">text</a>', 'href="/p/d/page">x</a>'),
    "`[text](page.md#heading)`": has("[text](page.md#heading)", 'href="/p/d/page#heading">'),
    "`[text](/page.md)`": has("[text](/page.md)", 'href="/p/page">'),
    "`[text](page)` without": has("[text](page)", 'href="/p/d/page">'),
    "`[text](page.html)`": has("[text](page.html)", 'href="/p/d/page">'),
    "`[text](<a b.md>)`": has("[x](<a b.md>) [y](a%20b.md)", 'href="/p/d/a%20b">x', 'href="/p/d/a%20b">y'),
    "`[text][ref]`": has("[text][ref] [ref]\n\n[ref]: page.md", 'href="/p/d/page">text', 'href="/p/d/page">ref'),
    "`[[page]]`": has("[[page]]", 'href="/p/page">page</a>'),
    "`[[folder/page]]`": has("[[d/page]]", 'href="/p/d/page">d/page</a>'),
    "`[[page\\|label]]`": has("[[d/page|label]]", 'href="/p/d/page">label</a>'),
    "`[[page#Heading]]`, `[[page#A#B]]`": has(
        "[[d/page#Heading]] [[d/page#Heading#Below]]",
        'href="/p/d/page#heading">d/page &gt; Heading</a>',
        "&gt; Heading &gt; Below</a>",
    ),
    "`[[#Heading]]`": has("[[#Own]]\n\n## Own", 'href="#own">Own</a>'),
    "`[[page#^block]]`": has("[[d/page#^block]]", 'href="/p/d/page#^block">'),
    "`[[alias]]`": has("[[Other name]] [[The page]]", 'href="/p/d/page">Other name', 'href="/p/d/page">The page'),
    "`[[name:page]]`": has("[[two:far]]", 'href="/p/@two/far">'),
    "`[[missing]]`": has("[[missing]]", 'class="wanted" href="/wanted/missing"'),
    "`[text](missing.md)`": has("[text](missing.md)", 'class="wanted"', ">text</a>"),
    "`[text](https://…)`": has("[text](https://example.org/x)", '<a class="external" href="https://example.org/x"'),
    "`[text](mailto:…)`": has(
        "[a](mailto:x@example.org) [b](tel:112)", 'href="mailto:x@example.org"', 'href="tel:112"'
    ),
    "`[text]()`": has("A lambda [=]() and [*a*]()", "lambda", ">[=]()</span>", ">[<em>a</em>]()</span>"),
    "`[text](obsidian://…)`": has(
        "[a](obsidian://x) [b](javascript:x) [c](data:x) [d](file:///x)",
        "<p>a b c d</p>",
        never=("obsidian:", "javascript:", "data:x", "file:"),
    ),
    "`^block-id` at": has("A block. ^my-block", 'id="^my-block"', never=(" ^my-block",)),
    "`#tag`, `#tag/sub`": has("#tag #tag/sub", 'href="/tags/tag">#tag', 'href="/tags/tag/sub">#tag/sub'),
    "`#123`": has("a #123", "a #123</p>"),
    "`![alt](image.png)`": has("![alt](image.png)", '<img src="/files/d/image.png" alt="alt"'),
    "`![alt](https://…)`": has(
        "![alt](https://example.org/x.png)", 'href="https://example.org/x.png"', ">alt</a>", never=("<img",)
    ),
    "`![alt](data:…)`": has("![alt](data:image/png;base64,xx)", "alt", never=("<img", "data:")),
    "`![[image.png]]`": has("![[image.png]]", '<img src="/files/d/image.png"'),
    "`![[image.png\\|300]]`": has("![[image.png|300]] ![[image.png|300x200]]", 'width="300"', 'height="200"'),
    "`![alt\\|300](image.png)`": has("![alt|300](image.png)", 'alt="alt|300"', never=("width=",)),
    "SVG files": has("![[pic.svg]]", '<img src="/files/d/pic.svg"'),
    "`![[sound.mp3]]`": has("![[sound.mp3]] ![[film.mp4]]", "<audio", "<video", "controls"),
    "`![[paper.pdf]]`": has("![[paper.pdf]]", 'class="file-card"', 'href="/files/d/paper.pdf'),
    "`![[paper.pdf#page=3]]`": has("![[paper.pdf#page=3]]", 'class="file-card"'),
    "`![[page]]`": has("![[d/page]]", 'class="embed"', "Page text.", 'href="/p/d/page"'),
    "`![[page#Heading]]`": has("![[d/page#Heading]]\n\n![[d/page#^block]]", "Part text.", "Page text."),
    "an embed in": has("![[nest1]]", "One", "Two", 'href="/p/d/nest1"'),
    "`![[canvas.canvas]]`": has("![[canvas.canvas]] ![[base.base]]", "canvas.canvas", "base.base", "file-card"),
    "`[^1]` and": has("a[^2] b[^1]\n\n[^1]: first\n[^2]: second", 'class="footnotes"', "second"),
    "`[^name]`": has("a[^name]\n\n[^name]: text", 'class="footnotes"', never=("[^name]",)),
    "`^[inline note]`": has("a^[inline note]", "^[inline note]"),
    "a footnote that": has("a\n\n[^1]: lonely", "lonely"),
    "`$x$`": has("$x$\n\n$$y$$", '<code class="math-inline">x</code>', 'class="math-block"'),
    "`\\(x\\)`": has("\\\\(x\\\\) \\\\[y\\\\]", "\\(x\\) \\[y\\]"),
    "a formula that": has("$\\frac{$", "\\frac{"),
    "`lang`": has("---\nlang: fr\n---\nmot", 'lang="fr"'),
    "`<b>`, `<kbd>`": has(
        "<b>a</b> <kbd>b</kbd> <sub>c</sub>\n\n<details><summary>s</summary>t</details>",
        "<b>a</b> <kbd>b</kbd> <sub>c</sub>",
        "<details><summary>s",
    ),
    '`<img src="image.png"': has('<img src="image.png" width="9">', 'src="/files/d/image.png"', 'width="9"'),
    '`<a href="page.md">`': has('<a href="page.md">x</a>', 'href="/p/d/page">x'),
    '`<a name="x">`': has('<a name="x"></a><b id="y">b</b><b id="_ui-z">c</b>', 'name="x"', 'id="y"', never=("_ui-z",)),
    "`class`, `style`": has('<b class="mine" style="color:red">x</b>', "<b>x</b>"),
    "`<script>`": has(
        "<script>s1</script><style>s2</style><iframe src=x></iframe><object></object><form>f</form>",
        "f",
        never=("s1", "s2", "<iframe", "<object", "<form"),
    ),
    "`on…` attributes": has('<b onclick="run()">x</b>', "<b>x</b>"),
    "`<svg>`, `<math>`": has(
        "<svg><text>inside</text></svg> <math><mi>m</mi></math> x", "x", never=("<svg", "<math", "inside")
    ),
    "tags that are": has("<b>open\n\nnext", "<b>open"),
    "right-to-left text": has("نص من اليمين", 'dir="rtl"'),
}
WHOLE: dict[str, Case] = {
    "the block of YAML": has("---\nstatus: open\n---\nx", '<section class="properties"', "status</dt>"),
    "`title`": has("---\ntitle: Given\n---\nx", '<h1 class="page-title">Given'),
    "`tags`, `aliases`": has("---\ntags: [t]\naliases: [n]\n---\nx", 'href="/tags/t">#t', "aliases</dt>"),
    "values with": has("---\na: '[[d/page]]'\nb: https://example.org/x\n---\nx", 'href="/p/d/page"', 'href="https://example.org/x"'),
    "broken YAML": has("---\ntags: [a\n---\nThe text.", "Something is wrong with this file", "The text."),
    "more than 160,000": has("# A\n\n" + "## H\n\n" + "word " * 40_000, "Part 1 of "),
    "more than 250": has("".join(f"## H{n}\n\n### Below{n}\n\n" for n in range(100)) + "#### Deep\n\n" * 60, "H99</a>", "Below99</a>", never=(">Deep</a></li>",)),
    "bytes that are": has("a \udcff b", "a ÿ b", "Something is wrong"),
}  # fmt: skip


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    place = tmp_path_factory.mktemp("rendering")
    texts = [case[0] for case in (*CASES.values(), *WHOLE.values())]
    files = {**FILES, **{f"d/case-{number}.md": text for number, text in enumerate(texts)}}
    for path, text in files.items():
        file = place / "base" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text)
    (place / "two").mkdir()
    (place / "two" / "far.md").write_text("# Far\n")
    with Pages(place, place / "base", place / "two") as served:
        yield served


NUMBERED = [(number, what, *case) for number, (what, case) in enumerate([*CASES.items(), *WHOLE.items()])]


@pytest.mark.parametrize(("number", "what", "markdown", "there", "never"), NUMBERED, ids=[row[1] for row in NUMBERED])
def test_a_construct_is_rendered_as_the_table_says(
    pages: Pages, number: int, what: str, markdown: str, there: tuple[str, ...], never: tuple[str, ...]
) -> None:
    page = pages.get(f"/p/d/case-{number}").text
    shown = page if what in WHOLE else page[page.index("<article") : page.index("</article>")]

    for part in there:
        assert part in shown, markdown
    for part in never:
        assert part not in shown, markdown


def test_every_row_of_the_table_has_a_case_and_three_columns() -> None:
    table = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    rows = [row for row in table[1:] if not row.startswith("| **")]
    cases = {*CASES, *WHOLE}

    assert len(rows) >= 120
    assert [row for row in rows if len(re.findall(r"(?<!\\) \|(?= |$)", row)) != 4] == []
    assert [row for row in rows if sum(row.startswith(f"| {case}") for case in cases) < 1] == []
    assert [case for case in cases if not any(row.startswith(f"| {case}") for row in rows)] == []
