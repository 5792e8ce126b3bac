"""The files of the pages of a publication, and their links: relative ones instead of addresses of a server."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from html import escape, unescape
from urllib.parse import parse_qsl, quote, unquote

from commonplace.domain.addresses import document_suffixes, fold
from commonplace.domain.markdown.paths import INDEX_NAMES
from commonplace.domain.slugs import slug
from commonplace.faces.web.pages import PREFIX, digest
from commonplace.faces.web.urls import COLLECTION_MARK
from commonplace.services.site.published_view import WITHHELD

OWN = "-"
"""Folder of the files that are no pages of the base: styles, scripts, lists, the search index."""
START = "index.html"
_ANCHOR = re.compile(r'<a\b((?:[^>"]|"[^"]*")*)>(.*?)</a>', re.DOTALL)
_HREF = re.compile(r'(?<![\w-])href="([^"]*)"')
_TAG_OR_END = re.compile(r'</?[a-zA-Z](?:[^>"]|"[^"]*")*>')
_TAG = re.compile(r'<[a-zA-Z](?:[^>"]|"[^"]*")*>')
_URL_ATTRIBUTE = re.compile(r'(?<![\w-])(href|src|poster|data-src|data-more|data-css)="(/[^"]*)"')
_ASSET_NAME = re.compile(r'(?<![\w-])(content)="(/static/[^"]*)"')
_SRCSET = re.compile(r'(?<![\w-])srcset="([^"]*)"')
_SOURCE = re.compile(r'(?<![\w-])src(?:set)?="[^"]')
_ALTERNATIVE = re.compile(r'(?<![\w-])alt="([^"]*)"')
_CANDIDATE = re.compile(r"(?:^|(?<=,\s)|(?<=,))/[^\s,]+")


class Outputs:
    """The output file of each page, tag and section.

    Args:
        paths: The published pages.
        start: The start page, which is `index.html`; "" for a list of all pages.
        collection: Name of the collection in the server's URLs.
        attach: Called with the path of each file that a page uses; returns whether it may be published.
        hidden: The folded names of pages that are not published.
        withheld: The text of a link that would have such a name as its text.
    """

    def __init__(
        self,
        paths: Iterable[str],
        start: str,
        collection: str,
        attach: Callable[[str], bool],
        hidden: AbstractSet[str] = frozenset(),
        withheld: str = WITHHELD,
    ) -> None:
        self._hidden = hidden
        self._withheld = escape(withheld)
        self._collection = collection
        self._attach = attach
        self.pages: dict[str, str] = {start: START} if start else {}
        taken = {fold(START)}
        for path in sorted(paths, key=lambda path: (not path.rpartition("/")[2].startswith("index."), path)):
            if path not in self.pages:
                self.pages[path] = _free(_output(path), taken)
            taken.add(fold(self.pages[path]))
        self._by_bare = {bare_path(path): path for path in reversed(self.pages)}

    def tag(self, tag: str) -> str:
        """The output file of a tag's list."""
        return f"{OWN}/tags/{slug(tag.replace('/', '-')) or quote(tag, safe='')}.html"

    def section(self, place: str) -> str:
        """The output file of a section of the navigation."""
        return f"{OWN}/sections/{place}.html"

    def target(self, url: str) -> tuple[str, str] | None:
        """The output file and the fragment ("" for none) of a URL of the server; None if it is not published."""
        address, _, fragment = url.partition("#")
        path, _, query = address.partition("?")
        name, _, rest = path.lstrip("/").partition("/")
        if name == "section" and rest:
            limits = dict(parse_qsl(query))
            if limits.keys() & {"from", "to"}:
                fragment = f"{limits.get('from', '0')}-{limits.get('to', '')}"
        output = self._target(name, unquote(rest))
        return (output, fragment) if output else None

    def _target(self, name: str, rest: str) -> str | None:
        rest = rest.removeprefix(f"{COLLECTION_MARK}{self._collection}/")
        if name == PREFIX.strip("/"):
            return f"{OWN}/static/{rest.removeprefix(f'{digest()}/')}"
        named = {"": START, "style": f"{OWN}/style.css", "p": self.pages.get(self._by_bare.get(rest, ""))}
        if name in named:
            return named[name]
        if name == "tags" and rest:
            return self.tag(rest)
        if name == "section":
            return self.section(rest)
        return rest if name == "files" and rest and self._attach(rest) else None

    def _text(self, html: str) -> str:
        """The text of a link to what is not published, without the name of a hidden page; a picture stays."""
        text = fold(unescape(_TAG_OR_END.sub("", html)).strip())
        if not text and "<img" not in html:
            return self._withheld
        names = (text, text.partition(" > ")[0], text.partition("#")[0])
        return html if self._hidden.isdisjoint(names) else self._withheld

    def _picture_text(self, picture: str) -> str:
        """The text that stands for a picture which is not published; "" if it has none."""
        text = _ALTERNATIVE.search(picture)
        return f'<span class="unpublished">{self._text(text[1])}</span>' if text and text[1] else ""

    def relinked(self, html: str, output: str) -> str:
        """The HTML of a page with links to files. A link to what is not published becomes its text.

        Args:
            html: The HTML, with URLs of the server.
            output: The output file.
        """

        def relative(url: str) -> str | None:
            target = self.target(unescape(url))
            return escape(relative_url(target[0], output, target[1])) if target else None

        def anchor(match: re.Match[str]) -> str:
            href = _HREF.search(match[1])
            if href is None or not href[1].startswith("/") or href[1].startswith("//"):
                return match[0]
            url = relative(href[1])
            if url is None:
                return f'<span class="unpublished">{self._text(match[2])}</span>'
            if href[1].startswith("/section/"):  # a range of rows is for the script, in an attribute of its own
                url = url.partition("#")[0]
            return f'<a{match[1][: href.start()]}href="{url}"{match[1][href.end() :]}>{match[2]}</a>'

        def attribute(match: re.Match[str]) -> str:
            url = None if match[2].startswith("//") else relative(match[2])
            return f'{match[1]}="{url}"' if url else ""

        def tag(match: re.Match[str]) -> str:
            if '"/' not in match[0]:
                return match[0]
            named = _SRCSET.sub(srcset, _ASSET_NAME.sub(attribute, _URL_ATTRIBUTE.sub(attribute, match[0])))
            return self._picture_text(named) if named.startswith("<img") and not _SOURCE.search(named) else named

        def srcset(match: re.Match[str]) -> str:
            return f'srcset="{_CANDIDATE.sub(lambda other_match: relative(other_match[0]) or "", match[1])}"'

        return _TAG.sub(tag, _ANCHOR.sub(anchor, html))


def bare_path(path: str) -> str:
    """The path of a page as the server's URLs have it: without `.md`."""
    return path.removesuffix(".md") or path


def _output(path: str) -> str:
    folder, _, name = path.rpartition("/")
    if name in INDEX_NAMES:
        bare = "index"
    else:
        bare = (
            next(
                (
                    name.removesuffix(document_suffix)
                    for document_suffix in document_suffixes()
                    if name.endswith(document_suffix)
                ),
                name,
            )
            or name
        )
    output = f"{folder}/{bare}.html" if folder else f"{bare}.html"
    return f"_{output}" if output.startswith(f"{OWN}/") else output


def _free(output: str, taken: set[str]) -> str:
    """The name of an output file, with a number if another page has it; case does not count."""
    stem, number, name = output.removesuffix(".html"), 2, output
    while fold(name) in taken:
        name, number = f"{stem}-{number}.html", number + 1
    return name


def relative_url(target: str, output: str, fragment: str = "") -> str:
    """The relative URL of an output file, at a fragment, from another output file."""
    relative = posixpath.relpath(target, posixpath.dirname(output) or ".")
    quoted = quote(relative, safe="/-._~!$'()*+,=@")
    return f"{quoted}#{fragment}" if fragment else quoted


_RELATIVE = re.compile(r'(?<![\w-])((?:href|src|data-src|data-css|action)=")(?![a-zA-Z][\w+.-]*:|[/#"])(?:\./)?')
"""A relative URL of an element."""


def from_root(html: str, prefix: str) -> str:
    """The HTML of a page at the top with links that begin at the site's root."""
    for name in ("./", f"{OWN}/", START):
        html = html.replace(f'content="{name}', f'content="{prefix}{name.removeprefix("./")}')
    return _RELATIVE.sub(lambda match: f"{match[1]}{prefix}", html)
