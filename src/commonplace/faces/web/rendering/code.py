"""Syntax highlighting with Pygments: classes, no styles."""

from __future__ import annotations

from functools import lru_cache
from html import escape

MAX_HIGHLIGHTED = 60_000
"""Characters of a code block above which it is shown plain."""
_CACHED = 2_000
"""Code blocks."""


def code_html(code: str, language: str) -> str:
    """A code block; diagrams and formulas keep their source, from which the browser draws them.

    Args:
        code: Its text.
        language: The first word of its info string, or "".
    """
    name = language.lower()
    if name == "mermaid":
        return f'<div class="mermaid-block"><pre tabindex="0"><code>{escape(code, quote=False)}</code></pre></div>\n'
    if name in {"math", "latex-math"}:
        return f'<div class="math-block"><code>{escape(code.strip(), quote=False)}</code></div>\n'
    return f'<div class="code-block"><pre tabindex="0"><code>{highlighted(code, language)}</code></pre></div>\n'


def highlighted(code: str, language: str) -> str:
    """The inside of a `<code>` element: tokens as classed spans, or escaped text if the language is unknown."""
    if not language or len(code) > MAX_HIGHLIGHTED:
        return escape(code, quote=False)
    return _highlighted(code, language.lower())


@lru_cache(_CACHED)
def _highlighted(code: str, language: str) -> str:
    from pygments import highlight  # noqa: PLC0415 - loaded with the first code block
    from pygments.formatters import HtmlFormatter  # noqa: PLC0415
    from pygments.lexers import get_lexer_by_name  # noqa: PLC0415
    from pygments.util import ClassNotFound  # noqa: PLC0415

    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return escape(code, quote=False)
    return highlight(code, lexer, HtmlFormatter(nowrap=True)).rstrip("\n")
