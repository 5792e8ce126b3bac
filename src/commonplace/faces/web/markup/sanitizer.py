"""The last step of rendering: HTML with nothing in it but what is allowed here.

Everything that a page contributes passes here, whether the renderer made it or the page contains it as HTML.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import nh3

ID_PREFIX = "ui-"
"""The ids of the pages' own elements begin so; a document cannot use them."""

_TAGS = """
    a abbr b bdi bdo blockquote br caption cite code col colgroup dd del details dfn div dl dt em figcaption figure
    h1 h2 h3 h4 h5 h6 hr i img input ins kbd li mark ol p pre q rp rt ruby s samp section small span strike strong
    sub summary sup table tbody td tfoot th thead tr tt u ul var wbr audio video source
"""
_ATTRIBUTES = {
    "*": {"id", "title", "lang", "dir"},
    "a": {"href", "name", "aria-label"},
    "img": {"src", "alt", "width", "height", "loading"},
    "audio": {"src", "controls", "preload"},
    "video": {"src", "controls", "preload", "width", "height"},
    "source": {"src", "type"},
    "input": {"type", "checked", "disabled", "aria-label"},
    "details": {"open"},
    "ol": {"start", "reversed", "type"},
    "li": {"value"},
    "td": {"colspan", "rowspan", "align"},
    "th": {"colspan", "rowspan", "align", "scope"},
    "div": {"tabindex", "role", "aria-label", "align"},
    "pre": {"tabindex"},
    "p": {"align"},
    "blockquote": {"cite"},
    "q": {"cite"},
}
_CLASSES = {
    "a": {"anchor", "external", "page-link", "wanted", "file", "tag", "footnote-back", "file-card"},
    "code": {"math-inline"},
    "details": {"callout", "callout-note", "callout-tip", "callout-warning", "callout-danger", "callout-quote"},
    "div": {
        "callout", "callout-note", "callout-tip", "callout-warning", "callout-danger", "callout-quote", "callout-body",
        "table-scroll", "code-block", "embed", "embed-body", "math-block", "mermaid-block",
    },
    "li": {"task"},
    "p": {"callout-title", "embed-title", "embed-missing"},
    "section": {"footnotes"},
    "span": {"block-id", "callout-icon", "unresolved"},
    "sup": {"footnote-ref"},
    "td": {"left", "center", "right"},
    "th": {"left", "center", "right"},
}  # fmt: skip
_SCHEMES = {"http", "https", "mailto", "tel"}
_LOCAL = ("/p/", "/files/", "/tags/", "/wanted/")
"""Prefix of the renderer's own URLs."""
MAX_NESTING = 5_000
"""Maximum number of elements inside each other: the parser of HTML takes time by the square of them."""
_TOO_DEEP = f"<p>This part is not shown: it is nested more than {MAX_NESTING:,} levels deep. Its source is whole.</p>"
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_LEFT_OPEN = frozenset({
    "area", "base", "br", "col", "dd", "dt", "embed", "hr", "img", "input", "li", "link", "meta", "option", "p",
    "source", "td", "tfoot", "th", "thead", "tr", "track", "wbr",
})  # fmt: skip
"""Elements without an end tag, or whose end tag may be left out."""
_UNNAMED = re.compile(r"<img(?![^>]*\salt=)")
"""An image without a text in its place: nothing is read out for it rather than its file's name."""
_MEDIA = frozenset({"img", "audio", "video", "source"})

Rebase = Callable[[str, bool], str]
"""Turns a relative URL of a document's own HTML into one of this server; the flag says that it is media."""


def no_rebase(url: str, media: bool) -> str:
    """Leave a relative URL as it is, and load no media from it."""
    return "" if media else url


def sanitized(html: str, rebase: Rebase, local: tuple[str, ...] = ()) -> str:
    """The HTML without scripts, styles, forms, frames, foreign media and anything else that is not allowed.

    Args:
        html: Rendered from a document; unclosed and misplaced tags are mended.
        rebase: Called for relative URLs that the document wrote itself as HTML.
        local: Further beginnings of URLs of this server.
    """
    if _nesting(html) > MAX_NESTING:
        return _TOO_DEEP
    own = (*_LOCAL, *local)

    def attribute(tag: str, name: str, value: str) -> str | None:
        if name in {"id", "name"}:
            return None if value.startswith(ID_PREFIX) else value
        if name == "src" or (name == "href" and tag == "a"):
            return _url(tag, value, rebase, own)
        if tag == "input" and name == "type":
            return "checkbox"
        return value

    clean = nh3.clean(
        html,
        tags=set(_TAGS.split()),
        attributes=_ATTRIBUTES,
        allowed_classes=_classes(),
        attribute_filter=attribute,
        set_tag_attribute_values={"input": {"disabled": ""}},
        url_schemes=_SCHEMES,
        link_rel=None,
        strip_comments=True,
    )
    return _UNNAMED.sub('<img alt=""', clean) if "<img" in clean else clean


def _nesting(html: str) -> int:
    """The most elements that are open at once, as far as their tags tell; those that may be left open do not count."""
    if html.count("<") <= MAX_NESTING:  # so of almost every page the tags are not looked at
        return 0
    depth = most = 0
    for found in _TAG.finditer(html):
        if found[2].lower() not in _LEFT_OPEN:
            depth = max(0, depth - 1) if found[1] else depth + 1
            most = max(most, depth)
    return most


def _url(tag: str, value: str, rebase: Rebase, local: tuple[str, ...]) -> str | None:
    plain = value.strip()
    if plain.startswith(local) or (tag == "a" and plain.startswith("#")):
        return value
    if _has_scheme(plain) or plain.startswith(("//", "\\", "/\\")):
        return None if tag in _MEDIA else value
    return rebase(plain, tag in _MEDIA) or (None if tag in _MEDIA else "")


def _has_scheme(url: str) -> bool:
    head = url.partition("/")[0].partition("?")[0].partition("#")[0]
    return ":" in head


@cache
def _classes() -> dict[str, set[str]]:
    from pygments.token import STANDARD_TYPES

    return {**_CLASSES, "span": {*_CLASSES["span"], *(name for name in STANDARD_TYPES.values() if name)}}
