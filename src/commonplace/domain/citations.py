"""Citations: where a page says that it has something from, in its `sources` and in its footnotes.

A citation names a page or its section (`guide/setup.md#install`, `[[Setup#Install]]`), lines of a file, possibly at a
commit (`src/app.py#L10-L20@1a2b3c4`), or a URL with the day on which it was read. Each may have a quotation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple
from unicodedata import normalize
from urllib.parse import unquote

from commonplace.domain.documents import Document
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.link_brackets import with_marked_brackets
from commonplace.domain.words.moments import normal_date

SOURCES_KEY = "sources"
"""Front-matter key of the list of a page's citations."""
MAX_CITATIONS = 2_000
"""Maximum number of citations of one page; further ones are not read."""
MAX_QUOTATION_CHARS = 2_000
"""Maximum number of characters of a quotation that is compared; of a longer one, this beginning."""
MIN_QUOTATION_CHARS = 8
"""Minimum number of letters and digits of a quotation that is compared; shorter ones are found everywhere."""

_FOOTNOTE = re.compile(rb"(?m)^(?: {0,3}|[ \t]*- )\[\^([^\]\s]{1,100})\]:[ \t]*((?:[^\r\n]+)(?:\r?\n[ \t]+[^\r\n]+)*)")
_LINK = re.compile(r"\[\[([^\[\]|\n]+)(?:\|[^\[\]\n]*)?\]\]|\[[^\[\]\n]*\]\(<?([^()<>\s]+)>?(?:\s[^()]*)?\)")
_URL = re.compile(r"<?(https?://[^\s<>\"“”]+)>?", re.IGNORECASE)
_FILE = re.compile(r"`?(?<![\w/.])((?:[\w.+-]+/)*[\w.+-]+\.\w+#L\d+(?:-L?\d+)?(?:@[0-9a-fA-F]{4,40})?)`?")
_BARE_PAGE = re.compile(r"`?(?<![\w/.])((?:[\w.+ -]+/)*[\w.+-]+\.(?:md|markdown|mdx)(?:#[^\s`,;\"“”]+)?)`?")
_COMMIT = re.compile(r"@([0-9a-fA-F]{4,40})\Z")
_AFTER_COMMIT = re.compile(r"\A\s*@([0-9a-fA-F]{7,40})\b")
_LINES = re.compile(r"\AL(\d{1,9})(?:-L?(\d{1,9}))?\Z")
_READ = re.compile(r"(?i)\b(?:read|accessed|retrieved|visited|seen)(?:\s+on)?:?\s+(\d{4}[-/.]\d{1,2}[-/.]\d{1,2})")
_QUOTED = re.compile(r"“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|\"([^\"]+)\"")
_READ_KEYS = ("read", "accessed", "retrieved", "date_read")
READ_KEYS = frozenset(_READ_KEYS)
TARGET_KEYS = ("path", "page", "file", "url", "link", "href", "source", "resource", "target")
_QUOTE_KEYS = ("quote", "quotation")
COPY_KEYS = ("copy", "saved")
ITEM_KEYS = frozenset((*TARGET_KEYS, *_QUOTE_KEYS, *_READ_KEYS, *COPY_KEYS, "commit", "section"))
"""Keys of an item of `sources`."""
_MARKUP = re.compile(
    r"[*_`~\\]|!?\[|\](?:\([^()\s]*(?:\s[^()]*)?\))?|^[ \t]*(?:>|#{1,6}[ \t]|[-*+][ \t])", re.MULTILINE
)
_SAME: Mapping[int, str] = {
    **dict.fromkeys(map(ord, '\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033"'), "'"),
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b\u2032\u00b4`"), "'"),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"), "-"),
    ord("\u2026"): "...",
    ord("\u00ad"): "",
    ord("\u200b"): "",
}
"""Quotes and dashes that programs and people exchange; within a quotation, double quotes become single ones."""


class Citation(NamedTuple):
    """One citation of a page, as stored in an index."""

    label: str
    """The footnote's label, or the number in `sources` from 1."""
    target: str
    """The reference to a page, the path of a file, or the URL; without fragment and commit."""
    fragment: str = ""
    """The heading, anchor or `^block` of a page; "" for the whole page."""
    first: int = 0
    """The first cited line of a file from 1; 0 for no lines."""
    last: int = 0
    commit: str = ""
    """Id of the commit at which the source was cited, 4 to 40 hex digits; "" for none."""
    read: str = ""
    """Day on which a URL was read, `YYYY-MM-DD`; "" for none."""
    quotation: str = ""
    line: int = 0
    """Line of the citation in the page from 1; 0 for the front matter."""
    copy: str = ""
    """Path of the saved copy of a URL; "" for none."""

    @property
    def is_url(self) -> bool:
        """Whether the source is on the web."""
        return "://" in self.target

    @property
    def place(self) -> str:
        """The source as it is written: `guide/setup.md#install`, `src/app.py#L10-L20@1a2b3c4`."""
        lines = f"L{self.first}" + (f"-L{self.last}" if self.last > self.first else "") if self.first else ""
        fragment = self.fragment or lines
        return f"{self.target}{f'#{fragment}' if fragment else ''}{f'@{self.commit}' if self.commit else ''}"

    @property
    def key(self) -> tuple[str, str, str]:
        """Equal for citations that say the same: the source, the day on which it was read, and the quotation."""
        return self.place, self.read, comparable(self.quotation).strip("'")


def citations_of(document: Document) -> tuple[Citation, ...]:
    """The citations of a page: those of its `sources`, then its footnotes, at most `MAX_CITATIONS`."""
    citations = list(listed_citations(document.frontmatter.values))
    if b"[^" in document.source:
        citations += _footnotes(document)
    return tuple(citations[:MAX_CITATIONS])


def footnotes_in(source: bytes, label: str) -> Iterator[str]:
    """The texts of the footnotes with a label in the source of a page."""
    name = label.encode()
    return (match[2].decode("utf-8", "replace") for match in _FOOTNOTE.finditer(source) if match[1] == name)


def without_footnotes(source: bytes) -> bytes:
    """The source of a page without the texts of its footnotes."""
    return _FOOTNOTE.sub(b"", source)


def listed_citations(values: JsonObject) -> Iterator[Citation]:
    """The citations in the `sources` of a front matter."""
    value = values.get(SOURCES_KEY)
    listed = value if isinstance(value, (list, tuple)) else [value]
    for number, item in enumerate(listed, 1):
        if isinstance(item, Mapping):
            citation = citation_of_item(item)
        else:
            citation = read_citation(item) if isinstance(item, str) else None
        if citation is not None:
            yield citation._replace(label=str(number))


def citation_of_item(item: Mapping[str, Json]) -> Citation | None:
    """The citation in an item of `sources` with the keys `ITEM_KEYS`; None if the item names no source."""
    target = _first_text(item, TARGET_KEYS)
    citation = read_citation(target, whole=True) if target else None
    if citation is None:
        return None
    fragment = _plain(item.get("section")).lstrip("#")
    return citation._replace(
        quotation=_first_text(item, _QUOTE_KEYS) or citation.quotation,
        read=next((day for key in _READ_KEYS if (day := normal_date(item.get(key))[:10])), citation.read),
        commit=_plain(item.get("commit")) or citation.commit,
        fragment=fragment or citation.fragment,
        copy=_first_text(item, COPY_KEYS),
    )


def _first_text(item: Mapping[str, Json], keys: Iterable[str]) -> str:
    """The first of these keys' values that is a text; "" if none is."""
    return next((text for key in keys if (text := _plain(item.get(key)))), "")


def _plain(value: Json) -> str:
    return value.strip() if isinstance(value, str) else ""


def _footnotes(document: Document) -> Iterator[Citation]:
    source, start = document.source, document.body_start
    counted, line = 0, 1
    for match in _FOOTNOTE.finditer(source, start):
        citation = read_citation(match[2].decode("utf-8", "replace"))
        if citation is not None:
            line += source.count(b"\n", counted, match.start())
            counted = match.start()
            yield citation._replace(label=match[1].decode("utf-8", "replace"), line=line)


def read_citation(text: str, *, whole: bool = False) -> Citation | None:
    """The citation in the text of a footnote or of an item of `sources`; None if the text names no source.

    Args:
        text: A link, a path with lines, or a URL, with a quotation in quotation marks and `read 2026-01-03`, if any.
        whole: Whether the whole text is the reference: a title of a page, then, needs no brackets.
    """
    quoted = _QUOTED.search(text)
    quotation = next((part for part in quoted.groups() if part), "") if quoted else ""
    outside = text[: quoted.start()] + text[quoted.end() :] if quoted else text
    read = _READ.search(outside)
    day = normal_date(read[1])[:10] if read else ""
    match, target = _reference(with_marked_brackets(outside), whole=whole)
    if not target:
        return None
    citation = _split(target)._replace(read=day, quotation=" ".join(quotation.split()))
    after = _AFTER_COMMIT.match(outside[match.end() :]) if match else None
    return citation._replace(commit=after[1]) if after and not citation.commit else citation


def rest_of_citation(text: str) -> str:
    """The part of a citation's text that `read_citation` does not read; "" if the text names no source."""
    quoted = _QUOTED.search(text)
    outside = text[: quoted.start()] + text[quoted.end() :] if quoted else text
    match, _ = _reference(with_marked_brackets(outside), whole=False)
    if match is None:
        return ""
    after = _AFTER_COMMIT.match(outside[match.end() :])
    rest = outside[: match.start()] + " " + outside[match.end() + (after.end() if after else 0) :]
    return " ".join(_READ.sub(" ", rest, count=1).split()).strip(" ,;:.-\u2013\u2014")


def day_of_citation(text: str) -> str:
    """The day on which the source of a citation was read, as it is written; "" for none."""
    read = _READ.search(_QUOTED.sub("", text, count=1))
    return read[1] if read else ""


def _reference(text: str, *, whole: bool) -> tuple[re.Match[str] | None, str]:
    """The first reference in a text, and where it stands."""
    candidates = [match for match in (pattern.search(text) for pattern in (_LINK, _URL, _FILE, _BARE_PAGE)) if match]
    match = min(candidates, key=lambda candidate: (candidate.start(), -candidate.end())) if candidates else None
    if match is None:
        plain = text.strip().strip("`").split("\n")[0].strip()
        return None, plain if whole else ""
    target = next(part for part in match.groups() if part)
    return match, target.rstrip(".,;:") if match.re in {_URL, _BARE_PAGE} else target


def _split(reference: str) -> Citation:
    if "://" in reference:
        return Citation("", reference)
    commit = _COMMIT.search(reference)
    name = reference[: commit.start()] if commit else reference
    target, _, fragment = name.partition("#")
    target, fragment = (unquote(target), unquote(fragment)) if "%" in name else (target, fragment)
    lines = _LINES.match(fragment)
    of_commit = commit[1].lower() if commit else ""
    if lines is None:
        return Citation("", target.strip(), fragment.strip(), commit=of_commit)
    first = int(lines[1])
    return Citation("", target.strip(), "", first, max(first, int(lines[2] or first)), of_commit)


# Comparison of a quotation with its source.


def comparable(text: str) -> str:
    """A text as quotations are compared: without markup, case, kinds of quotes and dashes, and line ends."""
    plain = _MARKUP.sub("", text)
    return " ".join(normalize("NFKC", plain.translate(_SAME)).split()).casefold()


def is_comparable(quotation: str) -> bool:
    """Whether a quotation is long enough to be looked for in its source."""
    return sum(map(str.isalnum, quotation[:MAX_QUOTATION_CHARS])) >= MIN_QUOTATION_CHARS


def holds_quotation(quotation: str, source: str) -> bool:
    """Whether a source has a quotation. Parts around an ellipsis are looked for in order.

    Args:
        quotation: The quotation.
        source: The comparable text of the source.
    """
    parts = comparable(quotation[:MAX_QUOTATION_CHARS]).replace("[...]", "...").split("...")
    at = 0
    for part in filter(None, (other_part.strip(" .") for other_part in parts)):
        at = source.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


# Writing citations in a page's own style.


def citation_text(citation: Citation) -> str:
    """A citation as one line, in the form that `read_citation` reads."""
    if citation.is_url:
        reference = f"<{citation.target}>"
    elif citation.first or not citation.target.endswith((".md", ".mdx", ".markdown")):
        reference = f"`{citation.place}`" if citation.first else f"[[{citation.place}]]"
    else:
        name = citation.target.rpartition("/")[2]
        link = citation._replace(commit="").place.replace(" ", "%20")
        reference = f"[{name.rpartition('.')[0]}]({link})" + (f" @{citation.commit}" if citation.commit else "")
    return reference + _facts(citation)


def plain_citation(citation: Citation) -> str:
    """A citation as one line whose reference is no link of Markdown, so that its path counts from the root."""
    is_path = citation.first or (citation.target.endswith((".md", ".mdx", ".markdown")) and " " not in citation.place)
    if citation.is_url:
        return f"<{citation.target}>{_facts(citation)}"
    return (f"`{citation.place}`" if is_path else f"[[{citation.place}]]") + _facts(citation)


def _facts(citation: Citation) -> str:
    """The day and the quotation of a citation, as they follow its reference."""
    read = f", read {citation.read}" if citation.read else ""
    marks = "“”" if '"' in citation.quotation else '""'
    return read + (f": {marks[0]}{citation.quotation}{marks[1]}" if citation.quotation else "")


def uses_list(document: Document) -> bool:
    """Whether a page has its citations in `sources` of its front matter rather than in footnotes."""
    return SOURCES_KEY in document.frontmatter.values


def free_labels(document: Document, count: int) -> Sequence[str]:
    """Numbers that no footnote of a page has as its label, in order."""
    taken = {match[1].decode("utf-8", "replace") for match in _FOOTNOTE.finditer(document.source)}
    taken |= {match.decode("utf-8", "replace") for match in re.findall(rb"\[\^([^\]\s]{1,100})\]", document.source)}
    labels: list[str] = []
    number = 1
    while len(labels) < count:
        if str(number) not in taken:
            labels.append(str(number))
        number += 1
    return labels
