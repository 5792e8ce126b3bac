"""Syntax highlighting with Pygments. The output has classes but no styles."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from html import escape
from typing import TYPE_CHECKING, cast

from commonplace.domain.documents import Document
from commonplace.domain.languages import language_of

if TYPE_CHECKING:
    from pygments.lexer import Lexer


MAX_HIGHLIGHTED = 60_000
"""Maximum characters of a highlighted code block; longer ones are shown plain."""
_CACHED = 2_000
"""Maximum number of cached code blocks."""


def code_html(code: str, info: str) -> str:
    """A code block as HTML. Diagrams and formulas keep their source, which the browser renders.

    Args:
        code: Content of the block.
        info: Its info string: the language, then title, marked lines and line numbers in the forms of the site
            generators (`title="a.js"`, `[a.js]`, `{1,3-4}`, `hl_lines="1 3"`, `linenums="5"`, `showLineNumbers`); ""
            if there is none.
    """
    language = re.split(r"[\s{:,\[]", info.lstrip("{. "), maxsplit=1)[0].strip("}.")
    name = language.lower()
    if name == "mermaid":
        return f'<div class="mermaid-block"><pre tabindex="0"><code>{escape(code, quote=False)}</code></pre></div>\n'
    if name in {"math", "latex-math"}:
        return f'<div class="math-block"><code>{escape(code.strip(), quote=False)}</code></div>\n'
    title = _TITLE.search(info)
    head = f'<p class="code-title">{escape(title[1] or title[2], quote=False)}</p>' if title else ""
    shown = _with_lines(highlighted(code, language), info)
    return f'<div class="code-block">{head}<pre tabindex="0"><code>{shown}</code></pre></div>\n'


_TITLE = re.compile(r"""\b(?:title|filename|caption)=["']([^"']+)["']|(?<!=)\[([^\]\d"'][^\]]*)\]""")
_MARKED = re.compile(r"""(?<!\w)\{([\d,\s-]+)\}|(?<=\w)\{([\d,\s-]+)\}|hl_lines=["'\[]*([\d\s,"'-]+)""")
_NUMBERED = re.compile(
    r"""(?:linenums|linenos|showLineNumbers|line-numbers|numberLines)\b(?!=["']?false)(?:=["']?(\d+))?"""
)
_FIRST_LINE = re.compile(r"(?:linenostart|startLineNumber|lineno-start)=(\d+)")
MAX_MARKED = 10_000
"""Maximum number of a marked line; higher ones are not marked."""


def _with_lines(html: str, info: str) -> str:
    """The code with its marked lines and line numbers, if the info string asks for them."""
    marked = _marked_lines(info)
    numbered = _NUMBERED.search(info)
    if not marked and not numbered:
        return html
    start = _FIRST_LINE.search(info) or numbered
    first = int(start[1]) if start and start[1] else 1
    lines: list[str] = []
    open_span = ""
    for number, text in enumerate(html.rstrip("\n").split("\n"), 1):
        line = open_span + text
        if line.rfind("<span") > line.rfind("</span>"):  # a token goes on in the next line
            open_span = line[line.rfind("<span") : line.find(">", line.rfind("<span")) + 1]
            line += "</span>"
        else:
            open_span = ""
        name = "line marked" if number in marked else "line"
        counted = f' data-line="{first + number - 1}"' if numbered else ""
        lines.append(f'<span class="{name}"{counted}>{line}</span>')
    return "\n".join(lines)


def _marked_lines(info: str) -> frozenset[int]:
    marked: set[int] = set()
    for match in _MARKED.finditer(info):
        for part in re.findall(r"(\d{1,5})(?:-(\d{1,5}))?", match[1] or match[2] or match[3]):
            first, last = int(part[0]), int(part[1] or part[0])
            marked.update(range(first, min(last, MAX_MARKED) + 1))
    return frozenset(marked)


def highlighted(code: str, language: str) -> str:
    """The inside of a `<code>` element: tokens as classed spans, or escaped text if the language is unknown."""
    if not language or len(code) > MAX_HIGHLIGHTED:
        return escape(code, quote=False)
    return _highlighted(code, language.lower())


@lru_cache(_CACHED)
def _highlighted(code: str, language: str) -> str:
    lexer = _lexer(language)
    if lexer is None:
        return escape(code, quote=False)
    parts: list[str] = []
    for token, text in lexer.get_tokens(code):
        name = _class_of(token)
        shown = escape(text, quote=False)
        parts.append(f'<span class="{name}">{shown}</span>' if name else shown)
    return "".join(parts).rstrip("\n")


@lru_cache
def _lexer(language: str) -> Lexer | None:
    from pygments import lexers
    from pygments.util import ClassNotFound

    find = cast("Callable[..., Lexer]", vars(lexers)["get_lexer_by_name"])  # its options have no types
    try:
        return find(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@cache
def _classes() -> Mapping[object, str]:
    """The short class name of each token type; "" for plain text and white space."""
    from pygments.token import STANDARD_TYPES, Text, Whitespace

    return {token: "" if token in (Text, Whitespace) else name for token, name in STANDARD_TYPES.items()}


def _class_of(token: object) -> str:
    """The class name of a token type, or of its nearest known parent type."""
    classes = _classes()
    while token not in classes:
        token = getattr(token, "parent", None)
        if token is None:
            return ""
    return classes[token]


# The language and direction of a text, for hyphenation, screen readers and layout.


SAMPLE_CHARS = 3_000
"""Maximum characters of a document that are examined."""
_CODES = {
    "english": "en", "german": "de", "french": "fr", "spanish": "es", "italian": "it", "portuguese": "pt",
    "dutch": "nl", "danish": "da", "swedish": "sv", "norwegian": "nb", "finnish": "fi", "hungarian": "hu",
    "romanian": "ro", "russian": "ru", "turkish": "tr",
}  # fmt: skip
_SCRIPTS = {
    "HIRAGANA": "ja", "KATAKANA": "ja", "HANGUL": "ko", "CJK": "zh", "HEBREW": "he", "ARABIC": "ar", "GREEK": "el",
    "THAI": "th", "DEVANAGARI": "hi",
}  # fmt: skip
_RIGHT_TO_LEFT = frozenset({"R", "AL"})
_WORD = re.compile(r"[^\W\d_]{2,}")
_TAG = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")


def language_and_direction(document: Document) -> tuple[str, str]:
    """The language as a BCP 47 tag (front matter's `lang` or `language`, else a guess), and `ltr` or `rtl`."""
    raw = document.encoded
    body = raw[document.body_start :][: 4 * SAMPLE_CHARS].decode("utf-8", "ignore")[:SAMPLE_CHARS]
    values = document.frontmatter.values
    lang = values.get("lang") or values.get("language")
    guessed, direction = _of_sample(body)
    return lang if isinstance(lang, str) and _TAG.fullmatch(lang) else guessed, direction


@lru_cache(_CACHED)
def _of_sample(body: str) -> tuple[str, str]:
    letters = Counter(unicodedata.bidirectional(c) in _RIGHT_TO_LEFT for c in body if c.isalpha())
    return _guessed(body), "rtl" if letters[True] > letters[False] else "ltr"


def _guessed(text: str) -> str:
    scripts = Counter(unicodedata.name(c, "").split(" ", 1)[0].split("-", 1)[0] for c in text if c.isalpha())
    if not scripts:
        return "en"
    if scripts["HIRAGANA"] + scripts["KATAKANA"] > sum(scripts.values()) // 20:
        return "ja"
    script = scripts.most_common(1)[0][0]
    if script in _SCRIPTS:
        return _SCRIPTS[script]
    words = [word.casefold() for word in _WORD.findall(text)]
    return _CODES.get(language_of(words, lambda _: 0.0), "en")
