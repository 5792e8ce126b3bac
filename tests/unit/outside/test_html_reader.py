"""A web page as Markdown."""

from __future__ import annotations

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
