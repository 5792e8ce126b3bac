"""A web page as Markdown."""

from __future__ import annotations

import random
import re
from html.parser import HTMLParser
from itertools import count

from commonplace.outside.html_reader import read_html

PAGE = (
    "<!doctype html><html><head><title>The\n guide</title><meta name=author content=Bo><style>x</style></head><body>"
    "<nav>menu</nav><main><h1>Guide</h1><p>Read <b>this</b> <a href='/x y'>link</a> [[x]]<script>bad()</script></p>"
    "<ul><li>one<ul><li>two</li></ul></li></ul><ol><li>a</li><li>b</li></ol><pre>x = 1\n  y</pre>"
    "<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2 | 3</td></tr></table></main><footer>f</footer></body>"
)


def test_a_web_page_is_read_without_what_surrounds_it() -> None:
    values = read_html(PAGE, "https://example.org/a/b")
    assert (values["title"], values["author"], values["date"]) == ("The guide", "Bo", "")
    assert values["text"] == (
        "# Guide\n\nRead **this** [link](https://example.org/x%20y) [[x]]\n\n- one\n   - two\n\n"
        "1. a\n2. b\n\n```\nx = 1\n  y\n```\n\n| A | B |\n| --- | --- |\n| 1 | 2 \\| 3 |"
    )


def test_a_page_of_any_form_ends_in_text() -> None:
    for text in (
        "",
        "<",
        "<p>a<p>b",
        "</ul></li></table></pre></a>",
        "<li>a",
        "<table><td>x",
        "<title>t",
        "<pre>" * 999,
    ):
        assert isinstance(read_html(text, "")["text"], str)


def test_end_tags_may_be_left_out() -> None:
    page = (
        "<h1>A</h1><table><caption>Cap<tr><th>aaacell<th>bbb<tbody><tr><td>111<td><tr><td><table><td>x<td>y</table>z"
        "<td>2<br>3</table><p>after paragraph</p><ul><li>one<li>two</ul><p>more<pre>a<br>b<div>c</div>"
    )
    assert read_html(page, "")["text"] == (
        "# A\n\nCap\n\n| aaacell | bbb |\n| --- | --- |\n| 111 |  |\n| x y z | 2 3 |\n\nafter paragraph\n\n"
        "- one\n- two\n\nmore\n\n```\na\nb\nc\n```"
    )
    assert read_html("<details><summary>sumword</summary>hiddenword</details>", "")["text"] == "sumword\n\nhiddenword"
    assert read_html("<nav>menu<select><option>a</nav><p>kept", "")["text"] == "kept"


def test_a_small_article_is_not_the_page() -> None:
    text = read_html("<p>A long introduction of the page</p><article>short</article><p>and its end</p>", "")["text"]
    assert text == "A long introduction of the page\n\nshort\n\nand its end"


_OPTIONAL = frozenset(["p", "li", "dt", "dd", "tr", "td", "th", "tbody", "thead"])
"""Elements whose end tags HTML lets authors leave out."""
_PARENTS = {"table": "tr thead caption", "tr": "td th", "ul": "li", "ol": "li", "dl": "dt dd", "thead": "tr"}


def _generated(chance: random.Random, words: count[int], tag: str, depth: int) -> str:
    """An element with words of its own in it, often without its end tag where that is permitted."""
    if tag in _PARENTS:
        tags = chance.choices(_PARENTS[tag].split(), k=chance.randint(1, 4))
        tags = sorted(dict.fromkeys(tags)) + [t for t in tags if t == "tr"] if tag == "table" else tags
        inner = "".join(_generated(chance, words, child, depth + 1) for child in tags)
    else:
        inner = f"word{next(words)} "
        for _ in range(chance.randint(0, 2) if depth < 5 else 0):
            if tag in {"td", "th", "li", "dd", "div", "section", "form", "body"}:
                inner += _generated(chance, words, chance.choice(["table", "ul", "ol", "dl", *_BODY_TAGS]), depth + 1)
                inner += f" word{next(words)} "
    return f"<{tag}>{inner}" + ("" if tag in _OPTIONAL and chance.random() < 0.6 else f"</{tag}>")


_BODY_TAGS = ("p", "div", "h2", "blockquote", "pre", "section", "b", "code", "form", "details", "legend", "span")


def test_every_visible_word_of_a_page_is_in_its_text() -> None:
    """Compared with the parser's own events, on generated pages."""
    for seed in range(80):
        chance, words = random.Random(seed), count()
        page = "".join(
            _generated(chance, words, chance.choice(["table", "ul", "ol", "dl", *_BODY_TAGS]), 0) for _ in range(6)
        )
        visible: list[str] = []
        parser = HTMLParser()
        parser.handle_data = lambda data, seen=visible: seen.extend(data.split())
        parser.feed(page)
        text = read_html(page, "")["text"]
        missing = set(visible) - set(re.findall(r"\w+", text))
        assert visible
        assert not missing, (seed, page, text, missing)
