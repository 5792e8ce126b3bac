"""Code blocks."""

from __future__ import annotations

import re

from cases import each_case
from commonplace.faces.web.markup.code import MAX_HIGHLIGHTED, code_html, highlighted


def plain(html: str) -> str:
    """The text that a browser shows."""
    text = re.sub(r"<[^>]*>", "", html)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


@each_case("language", ["python", "PYTHON", "js", "html", "", "no-such-language", "../x", "<b>"])
@each_case("code", ["x = '<b>' & 1", "\n\n  indented\n\nlast", "é 茶 \u202e \0", "", "<script>run()</script>"])
def test_highlighting_changes_no_character_of_the_code(language: str, code: str) -> None:
    html = highlighted(code, language)
    assert plain(html) == code.rstrip("\n")
    assert set(re.findall(r"<(\w+)", html)) <= {"span"}


def test_tokens_have_classes_and_blanks_have_none() -> None:
    assert highlighted("def f():\n    return 1", "python").startswith(
        '<span class="k">def</span> <span class="nf">f</span>'
    )


def test_code_that_is_too_long_is_shown_plain() -> None:
    code = "x = 1\n" * (MAX_HIGHLIGHTED // 6 + 1)
    assert "<span" not in highlighted(code, "python")
    assert "<span" in highlighted(code[:MAX_HIGHLIGHTED], "python")


def test_diagrams_and_formulas_keep_their_source() -> None:
    assert code_html("a-->b <x>", "Mermaid").startswith(
        '<div class="mermaid-block"><pre tabindex="0"><code>a--&gt;b &lt;x'
    )
    assert code_html("\n a<b \n", "math") == '<div class="math-block"><code>a&lt;b</code></div>\n'
    assert code_html("a", "").startswith('<div class="code-block"><pre tabindex="0"><code>a</code>')
