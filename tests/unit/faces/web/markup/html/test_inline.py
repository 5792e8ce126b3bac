"""Parts of inline text other than characters."""

from __future__ import annotations

import re

import pytest

from cases import each_case
from commonplace.faces.web.markup.html import tag_link, text_html


@each_case(
    ("text", "expected"),
    [
        ("a < b & c", "a &lt; b &amp; c"),
        ("==a <b>== c", "<mark>a &lt;b&gt;</mark> c"),
        ("== not == a", "== not == a"),
        ("a == b", "a == b"),
        ("a %%hidden%% b", "a  b"),
        ("100%% sure", "100%% sure"),
        ("text ^block-1", 'text <span class="block-id" id="^block-1"></span>'),
        ("2^10 is", "2^10 is"),
        ("a #tag b", 'a <a class="tag" href="/tags/tag">#tag</a> b'),
        ("(#a/b)", '(<a class="tag" href="/tags/a/b">#a/b</a>)'),
        ("#日本", '<a class="tag" href="/tags/%E6%97%A5%E6%9C%AC">#日本</a>'),
        ("issue #12", "issue #12"),
        ("a#b # c", "a#b # c"),
        ("x #", "x #"),
    ],
)
def test_marks_become_elements_and_everything_else_is_escaped(text: str, expected: str) -> None:
    assert text_html(text, links=True) == expected


@each_case(
    ("text", "url", "rest"),
    [
        ("https://x.example/a.", "https://x.example/a", "."),
        ("https://x.example/a?b=1&c=2!", "https://x.example/a?b=1&amp;c=2", "!"),
        ("https://x.example/(a)", "https://x.example/(a)", ""),
        ("https://x.example/a).", "https://x.example/a", ")."),
        ("https://x.example/#a", "https://x.example/#a", ""),
        ("https://x.example/茶", "https://x.example/茶", ""),
    ],
)
def test_a_bare_url_is_a_link_without_the_signs_behind_it(text: str, url: str, rest: str) -> None:
    assert text_html(text, links=True) == f'<a class="external" href="{url}">{url}</a>{rest}'


@pytest.mark.parametrize("text", ["https://x.example/", "a #tag b", "https://x.example/#tag"])
def test_inside_of_a_link_there_are_no_links(text: str) -> None:
    assert text_html(text, links=False) == text


@each_case("text", ["https://x.example/<b>", 'https://x.example/"onload="x', "#<b>", "==<b>==", "^<b>"])
def test_nothing_gets_out_of_an_attribute(text: str) -> None:
    html = text_html(text, links=True)
    assert "<b>" not in html
    assert re.findall(r'href="([^"]*)"', html) in ([], ["https://x.example/"], ["/tags/"])


def test_a_long_run_of_one_sign_is_read_at_once() -> None:
    for sign in ("=", "==a", "%", "#", "^", "(", "https://", "%%a"):
        assert len(text_html(sign * 20_000 + "end", links=True)) < 200 * 20_000


def test_a_tag_link_leads_to_the_pages_of_the_tag() -> None:
    assert tag_link('a/b "c') == '<a class="tag" href="/tags/a/b%20%22c">#a/b &quot;c</a>'
