"""A web page as Markdown: its headings, paragraphs, lists, tables, code and links, without what surrounds them."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

_SKIPPED = frozenset(
    re.findall(r"\w+", "script style noscript template svg nav footer button iframe select dialog annotation")
)
_BLOCKS = frozenset(
    re.findall(
        r"\w+",
        "p div section article main header aside ul ol li dl dt dd figure figcaption table tr td th thead tbody tfoot"
        " caption address pre blockquote hr h1 h2 h3 h4 h5 h6 body center details dir fieldset form hgroup legend menu"
        " search summary",
    )
)
_MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*", "code": "`"}
_CELLS = frozenset({"td", "th"})
_IN_ROWS = _CELLS | {"tr"}
_ROWS = frozenset({"tr", "thead", "tbody", "tfoot", "caption"})
_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_BODIES = frozenset({"main", "article"})
_PREFIXES = {"blockquote": "> ", **{f"h{level}": "#" * level + " " for level in range(1, 7)}}
_EMPTY_LINK = re.compile(r"\[\s*\]\([^()]*\)")
_BLANKS = re.compile(r"\s+")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_DATES = frozenset({"date", "article:published_time", "dcterms.date", "dc.date", "datepublished"})


def read_html(text: str, url: str) -> dict[str, Any]:
    """The text, title, author and date of a web page.

    Args:
        text: The page.
        url: Its URL, to which links are relative; "" for a file, whose relative links become plain text.
    """
    reader = _Reader(url)
    reader.feed(text)
    reader.close()
    reader.end_page()
    blocks = [block for block, _ in reader.blocks]
    inner = [block for block, is_inner in reader.blocks if is_inner]
    if sum(map(len, inner)) * 2 >= sum(map(len, blocks)):  # else it is one of several parts of the page
        blocks = inner
    day = _DAY.search(reader.facts.get("date", ""))
    return {
        "text": "".join(blocks).strip("\n"),
        "title": reader.facts.get("title", ""),
        "author": reader.facts.get("author", ""),
        "date": day[0] if day else "",
    }


class _Reader(HTMLParser):
    def __init__(self, url: str) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[tuple[str, bool]] = []
        """The blocks, and whether each is in the page's main part."""
        self.facts: dict[str, str] = {}
        self._url = url
        self._parts: list[str] = []
        self._prefix = ""
        self._skipped: list[str] = []
        self._lists: list[int] = []
        """The number of the last item of each open list; -1 for a list without numbers."""
        self._inner = 0
        self._in_title = False
        self._code: list[str] | None = None
        self._links: list[str] = []
        self._tables = 0
        """The number of open tables; those within a cell are parts of its text."""
        self._row: list[str] | None = None
        self._in_cell = False
        self._rows = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if self._skipped or (tag in _SKIPPED and not (tag == "button" and self._prefix.startswith("#"))):
            self._skip(tag)
            return
        self._begin_block(tag)
        if tag == "meta":
            self._note(values)
        elif tag == "title":
            self._in_title = True
        else:
            self._parts.append(self._inline(tag, values))

    def _inline(self, tag: str, values: dict[str, str]) -> str:
        """The text for the beginning of a mark, a link, a picture or a line break; "" for other elements."""
        if tag == "a":
            self._links.append(self._target(values.get("href", "")))
            return "[" if self._links[-1] else ""
        if tag == "img":
            return values.get("alt", "")
        if tag == "br":
            return self._line_break()
        return _MARKS.get(tag, "") if self._code is None else ""

    def _line_break(self) -> str:
        if self._code is not None:
            self._code.append("\n")
        is_one_line = self._row is not None or self._prefix.startswith("#")
        return " " if is_one_line or self._code is not None else "\\\n"

    def _skip(self, tag: str) -> None:
        if tag in _SKIPPED:
            self._skipped.append(tag)

    def _begin_block(self, tag: str) -> None:
        self._inner += tag in _BODIES
        if tag in _BLOCKS:
            self._end_implied(tag if tag != "table" else "")
            self.end_block()
        if self._code is None:
            self._open_block(tag)

    def _open_block(self, tag: str) -> None:
        if tag in _LISTS:
            self._lists.append(0 if tag == "ol" else -1)
        elif tag == "pre":
            self._code = []
        elif tag == "table":
            self._begin_table()
        elif self._tables == 1 and tag in _IN_ROWS:
            self._row = self._row or []
            self._in_cell = tag in _CELLS
        elif self._row is None:
            self._prefix = self._item() if tag == "li" else _PREFIXES.get(tag, self._prefix)

    def _begin_table(self) -> None:
        self._tables += 1
        if self._tables == 1:
            self._rows = 0

    def _end_implied(self, tag: str) -> None:
        """End the cell and the row that end where a tag stands; their own end tags may be left out."""
        if self._row is None or self._tables != 1 or self._code is not None:
            return
        if tag in _CELLS or tag in _ROWS or tag == "table":
            self._end_cell()
        if tag in _ROWS or tag == "table":
            self._end_row()

    def _item(self) -> str:
        number = self._lists[-1] if self._lists else -1
        if number >= 0:
            self._lists[-1] = number = number + 1
        indent = "   " * (len(self._lists) - 1)
        return f"{indent}{number}. " if number > 0 else f"{indent}- "

    def handle_endtag(self, tag: str) -> None:
        if tag in self._skipped:
            del self._skipped[self._skipped.index(tag) :]
            return
        if self._skipped:
            return
        if tag == "a" and self._links:
            target = self._links.pop()
            self._parts.append(f"]({target})" if target else "")
        elif self._code is None:
            self._parts.append(_MARKS.get(tag, ""))
        self._in_title = self._in_title and tag != "title"
        self._end_any_block(tag)

    def _end_any_block(self, tag: str) -> None:
        if tag == "pre" and self._code is not None:
            self._end_code()
        elif tag in _BLOCKS:
            self._end_implied(tag)
            self._end_block_of(tag)
        self._inner -= tag in _BODIES and self._inner > 0

    def _end_code(self) -> None:
        code, self._code = "".join(self._code or ()).strip("\n"), None
        fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", code)), 3)
        self._add(f"{fence}\n{code}\n{fence}\n\n")

    def _end_block_of(self, tag: str) -> None:
        self.end_block()
        if self._code is not None:
            return
        if tag == "table" and self._tables:
            self._tables -= 1
        if tag in _LISTS and self._lists:
            self._lists.pop()
        if self._row is None:
            self._prefix = "   " * len(self._lists)
            self._add("\n" if tag == "table" or (tag in _LISTS and not self._lists) else "")

    def _end_cell(self) -> None:
        """End a cell; text between cells is one of its own, so that nothing is lost."""
        text = _BLANKS.sub(" ", self._text()).replace("|", "\\|")
        if self._row is not None and (text or self._in_cell):
            self._row.append(text)
        self._in_cell = False

    def _end_row(self) -> None:
        row, self._row = self._row or [], None
        if row:
            self._add(f"| {' | '.join(row)} |\n")
            self._add(f"|{' --- |' * len(row)}\n" if self._rows == 0 else "")
            self._rows += 1

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.facts["title"] = _BLANKS.sub(" ", self.facts.get("title", "") + data).strip()
        elif self._code is not None:
            self._code.append(data)
        elif not self._skipped:
            self._parts.append(_BLANKS.sub(" ", data))

    def end_block(self) -> None:
        """End the block whose text is being read."""
        if self._code is not None:
            self._code.append("\n" if self._code and not self._code[-1].endswith("\n") else "")
            return
        if self._row is not None:  # blocks within a cell are parts of its text
            self._parts.append(" ")
            return
        text = self._text()
        if text:
            is_item = bool(self._lists)
            self._add(f"{self._prefix}{text}\n" if is_item else f"{self._prefix}{text}\n\n")
            self._prefix = "   " * len(self._lists)

    def end_page(self) -> None:
        """End whatever is still open at the end of the page."""
        if self._code is not None:
            self._end_code()
        if self._row is not None:
            self._end_cell()
            self._end_row()
        self.end_block()

    def _text(self) -> str:
        text = _EMPTY_LINK.sub("", "".join(self._parts)).strip().replace("****", "").replace("``", "")
        self._parts.clear()
        return text.removesuffix("\\").strip()

    def _add(self, block: str) -> None:
        if block:
            self.blocks.append((block, self._inner > 0))

    def _note(self, values: dict[str, str]) -> None:
        name = (values.get("name") or values.get("property") or values.get("itemprop") or "").lower()
        if name == "author":
            self.facts.setdefault("author", values.get("content", ""))
        elif name in _DATES:
            self.facts.setdefault("date", values.get("content", ""))

    def _target(self, href: str) -> str:
        """The URL that a link leads to; "" if it is none of the web."""
        try:
            target = urljoin(self._url, href.strip())
        except ValueError:
            return ""
        is_web = target.startswith(("http://", "https://"))
        return target.replace(" ", "%20").replace("(", "%28").replace(")", "%29") if is_web else ""
