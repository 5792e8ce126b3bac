"""Names of pages in Otterwikis, and in graphs of Logseq, Dendron, Foam and TiddlyWiki: found wherever the page is.

In Logseq the name is the property `title::`, else it is made of the file's name. Names are equal regardless of case,
and all names of one day are one name. In Dendron the name is the file's name; a name above those of other pages is a
stub (https://wiki.dendron.so/notes/c6fd6bc4-7f75-4cbb-8f34-f7b99bfe2d50), and of pages with one name in several vaults
the one in the link's own vault is meant. In Foam a name is the end of a path, also that of a folder with an index
(`listByIdentifier` in
https://github.com/foambubble/foam/blob/0201d386/packages/foam-vscode/src/core/model/workspace.ts, and
https://github.com/foambubble/foam/blob/0a21cd17/docs/user/features/wikilinks.md). In TiddlyWiki it is the title as it
is written (`prettylink.js` in
https://github.com/TiddlyWiki/TiddlyWiki5/blob/0606f71d/core/modules/parsers/wikiparser/rules/prettylink.js).

Sources for Logseq: `title-parsing`, `get-page-name` and `extract-page-alias-and-tags` in
https://github.com/logseq/logseq/blob/fab27740/deps/graph-parser/src/logseq/graph_parser/extract.cljc,
`convert-page-if-journal` in `block.cljs` beside it, and `page-name-sanity-lc`, `safe-journal-title-formatters` and
`block-ref-re` in https://github.com/logseq/logseq/tree/fab27740/deps/common/src/logseq/common/util.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import Literal, cast
from urllib.parse import unquote

from commonplace.domain.addresses import Address, fold

BLOCK_REFERENCE = re.compile(r"\(\(([0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12})\)\)")
"""A reference to the block with this `id::`."""
BLOCK_IDS = re.compile(
    rb"(?m)^([ \t]*+(?:[-*+][ \t]++)?+)id::[ \t]+([0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12})[ \t]*\r?$"
)
"""A line that gives its block an id, in groups what is before `id::`, and the id."""
_BULLET = re.compile(rb"([ \t]*+)[-*+][ \t]")
DEFAULT_JOURNAL_TITLE = "MMM do, yyyy"
DEFAULT_JOURNAL_FILE = "yyyy_MM_dd"
_JOURNAL_FORMATS = (DEFAULT_JOURNAL_TITLE, "yyyy-MM-dd", DEFAULT_JOURNAL_FILE)
"""Forms of a day that Logseq reads beside the configured one."""
_MAX_INDENT = 200
_RESERVED, _RESERVED_BEFORE = re.compile(r'[<>:"|?*\\#%]'), re.compile(r'[<>:"|?*\\#%.]')
"""Characters of a name that are percent-encoded in the name of its file, in graphs of the newer and the older form."""
_RESERVED_IN_TITLES = re.compile(r'[<>:"/|?*\\#%\x00-\x1f]')
_MAX_DAY_CHARS = 60
"""Maximum number of characters of a name that may be a day."""


@dataclass(frozen=True, slots=True)
class Graph:
    """The way in which a graph names its pages."""

    slashes: str = ""
    """The text that stands for `/` in the name of a file of Logseq: `___`, or `.` in graphs of the older form; `%2F` is
    one in both. "" in Dendron, where a dot separates the levels of names, and titles and aliases name no page."""
    journal_title: str = DEFAULT_JOURNAL_TITLE
    """The form of a day as the name of a page, in the letters of Joda-Time; "" in Dendron."""
    journal_file: str = DEFAULT_JOURNAL_FILE
    """The form of a day as the name of a file."""
    pages: str = "pages"
    """The folder of new pages, from the folder of the graph."""
    journals: str = "journals"
    """The folder of new pages of a day, from the folder of the graph."""
    hidden: tuple[str, ...] = ()
    """Files and folders that are not read, from the folder of the graph."""
    names: Literal["page", "path", "title"] = "page"
    """The names in links: the end of a path in Foam, the title in TiddlyWiki, else that of the page."""
    titles: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    """Titles by path, as files `.meta` of TiddlyWiki give them."""

    @property
    def has_own_files(self) -> bool:
        """Whether the program has a place of its own for a new page, as `path_of` says."""
        return bool(self.slashes) or self.names == "title"

    def page_name(self, address: Address) -> str:
        """The name of the page of a file without a property `title::`."""
        if title := self.titles.get(address.path):
            return title
        if not self.slashes:
            return address.stem
        name = unquote(address.stem.replace(self.slashes, "/"))
        return "/".join(filter(None, name.split("/")))

    def key(self, name: str) -> str:
        """Equal for all names of one page: the day that a name means, else the name regardless of case."""
        day = self.day(name)
        return day.isoformat() if day else fold(name.strip("/"))

    def day(self, name: str) -> date | None:
        """The day that a name means; None for any other name."""
        formats = dict.fromkeys((self.journal_title, *_JOURNAL_FORMATS)) if self.journal_title else ()
        return next(filter(None, (_parsed_day(name, form) for form in formats)), None)

    def names_like(self, name: str) -> Iterator[str]:
        """The names that links and files may have for the page of this name."""
        yield name
        if day := self.day(name):
            for form in dict.fromkeys((self.journal_title, self.journal_file, *_JOURNAL_FORMATS)):
                yield written_day(day, form)

    def stubs(self, address: Address) -> Iterator[str]:
        """The names above that of a page of Dendron, which are stubs unless they have pages of their own."""
        name = address.stem
        while not self.slashes and self.names == "page" and "." in name:
            name = name.rpartition(".")[0]
            yield name

    def path_of(self, name: str) -> str:
        """The path of the file for the page of a name in Logseq or TiddlyWiki, from the graph's folder, without suffix.

        In TiddlyWiki the name is the title, which the file's name has with reserved characters encoded.
        """
        if self.names == "title":
            return f"tiddlers/{_RESERVED_IN_TITLES.sub(lambda letter: f'%{ord(letter[0]):02X}', name)}"
        if day := self.day(name):
            return f"{self.journals}/{written_day(day, self.journal_file)}"
        reserved = _RESERVED if self.slashes != "." else _RESERVED_BEFORE
        encoded = reserved.sub(lambda letter: f"%{ord(letter[0]):02X}", name.strip("/"))
        return f"{self.pages}/{encoded.replace('/', self.slashes if self.slashes != '.' else '%2F')}"

    def linked_name(self, address: Address) -> str:
        """The name by which a link is written to the page of a file without a property `title::`.

        "" where links name the path or the title, as in Foam and TiddlyWiki.
        """
        if self.names != "page":
            return ""
        name = self.page_name(address)
        day = self.day(name)
        return written_day(day, self.journal_title) if day else name

    def hides(self, address: Address, folder: str) -> bool:
        """Whether Logseq does not read a file of a graph in this folder."""
        path = address.path[len(folder) :].strip("/")
        return any(path == hidden or path.startswith(f"{hidden}/") for hidden in self.hidden)

    def other_files(self, name: str, folder: str) -> Iterator[str]:
        """The files of other formats in a graph in this folder that can be the page of a name.

        In TiddlyWiki a picture or script with a file of fields has a title, too.
        """
        if self.names == "title":
            yield from (path for path, title in self.titles.items() if title == name)
        if self.slashes:
            yield from (f"{folder}/{path}".lstrip("/") for path in self._files_of_logseq(name))

    def _files_of_logseq(self, name: str) -> Iterator[str]:
        stem = name.strip("/").replace("/", self.slashes if self.slashes != "." else "%2F")
        for spelling in dict.fromkeys((stem, stem.lower())):
            yield f"{self.pages}/{spelling}.org"
            yield f"whiteboards/{spelling}.edn"


def block_around(raw: bytes, mark: int) -> tuple[int, int]:
    """Start and end of the block, with those below it, to which the line that begins at an offset gives an id.

    The whole text for a line above the first block.
    """
    line = mark
    indent = len(raw) if _BULLET.match(raw, line) else _indent(raw, line)
    while not ((bullet := _BULLET.match(raw, line)) and len(bullet[1]) < indent):
        if line == 0:
            return 0, len(raw)
        line = raw.rfind(b"\n", 0, line - 1) + 1
    end = raw.find(b"\n", mark) + 1 or len(raw)
    while end < len(raw) and _is_below(raw, end, len(bullet[1])):
        end = raw.find(b"\n", end) + 1 or len(raw)
    return line, end


def _is_below(raw: bytes, line: int, indent: int) -> bool:
    """Whether a line belongs to a block whose bullet has this indentation. A blank line does."""
    return _indent(raw, line) > indent or not raw[line : line + 1].strip()


def _indent(raw: bytes, line: int) -> int:
    return len(raw[line : line + _MAX_INDENT]) - len(raw[line : line + _MAX_INDENT].lstrip(b" \t"))


# Days, in the forms of Joda-Time that Logseq offers for journals.


_MONTH_NAMES = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_MONTHS = tuple(name[:3] for name in _MONTH_NAMES)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_TOKEN = re.compile(r"yyyy|yy|MMMM|MMM|MM|M|dd|do|d|EEEE|EEE|EE|E|'[^']*'|.", re.DOTALL)


def written_day(day: date, form: str) -> str:
    """A day in a form such as `MMM do, yyyy`."""
    month, weekday = _MONTH_NAMES[day.month - 1], _WEEKDAYS[day.weekday()]
    values = {
        "yyyy": f"{day.year:04}", "yy": f"{day.year % 100:02}",
        "MMMM": month, "MMM": month[:3], "MM": f"{day.month:02}", "M": str(day.month),
        "dd": f"{day.day:02}", "d": str(day.day), "do": f"{day.day}{_ordinal(day.day)}",
        "EEEE": weekday, "EEE": weekday[:3], "EE": weekday[:3], "E": weekday[:3],
    }  # fmt: skip
    return "".join(values.get(token, token.strip("'")) for token in cast("list[str]", _TOKEN.findall(form)))


def _ordinal(number: int) -> str:
    teens = range(11, 14)
    return "th" if number in teens else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def _parsed_day(name: str, form: str) -> date | None:
    match = _pattern(form).fullmatch(name.strip()) if len(name) <= _MAX_DAY_CHARS else None
    if match is None:
        return None
    parts = match.groupdict("0")
    try:
        year = int(parts.get("year", 0)) or 2000 + int(parts.get("short", 0))
        month = int(parts.get("number", 0)) or _MONTHS.index(parts.get("month", "")[:3].title()) + 1
        return date(year, month, int(parts.get("day", 0)))
    except ValueError:
        return None


_GROUP = re.compile(r"\(\?P<\w+>")


@lru_cache(maxsize=32)
def _pattern(form: str) -> re.Pattern[str]:
    weekday = "|".join(_WEEKDAYS)
    patterns: dict[str, str] = {
        "yyyy": r"(?P<year>[0-9]{4})", "yy": r"(?P<short>[0-9]{2})",
        "MMMM": rf"(?P<month>{'|'.join(_MONTH_NAMES)})", "MMM": rf"(?P<month>{'|'.join(_MONTHS)})",
        "MM": r"(?P<number>[0-9]{1,2})", "M": r"(?P<number>[0-9]{1,2})",
        "dd": r"(?P<day>[0-9]{1,2})", "d": r"(?P<day>[0-9]{1,2})", "do": r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)",
        "EEEE": f"(?:{weekday})", **dict.fromkeys(("EEE", "EE", "E"), f"(?:{'|'.join(day[:3] for day in _WEEKDAYS)})"),
    }  # fmt: skip
    seen: set[str] = set()
    parts: list[str] = []
    for token in cast("list[str]", _TOKEN.findall(form)):
        pattern: str = patterns.get(token, re.escape(token.strip("'")))
        parts.append(_GROUP.sub("(?:", pattern) if seen.intersection(_GROUP.findall(pattern)) else pattern)
        seen.update(_GROUP.findall(pattern))
    return re.compile("".join(parts), re.IGNORECASE)


# The configuration of a graph.


_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|;[^\n]*')


def read_graph(config: str) -> Graph:
    """The graph that the text of a `logseq/config.edn` describes."""
    text = _COMMENT.sub(lambda match: match[0] if match[0].startswith('"') else "", config)
    hidden = re.search(r":hidden\s+\[([^\]]*)\]", text)
    form = re.search(r":file/name-format\s+:([\w-]+)", text)
    return Graph(
        slashes="___" if form and form[1] == "triple-lowbar" else ".",
        journal_title=_text(text, ":journal/page-title-format") or DEFAULT_JOURNAL_TITLE,
        journal_file=_text(text, ":journal/file-name-format") or DEFAULT_JOURNAL_FILE,
        pages=_text(text, ":pages-directory") or "pages",
        journals=_text(text, ":journals-directory") or "journals",
        hidden=tuple(path.strip("/") for path in re.findall(r'"([^"]*)"', hidden[1])) if hidden else (),
    )


def graph_from(stored: dict[str, object]) -> Graph:
    """The graph of its fields, after a round trip through JSON."""
    hidden: Sequence[str] = stored.pop("hidden")  # type: ignore[assignment]
    return Graph(hidden=tuple(hidden), **stored)  # type: ignore[arg-type]


def _text(config: str, key: str) -> str:
    match = re.search(rf'{re.escape(key)}\s+"([^"\n]{{1,60}})"', config)
    return match[1].strip("/ ") if match else ""


# The names of an Otterwiki with its default setting `RETAIN_PAGE_NAME_CASE=False`.
#
# It stores every page under a lower-case name and shows the name in title case: `actors/iran.md` is `Actors/Iran`. The
# rule is that of Otterwiki 2.26 (`otterwiki.helper.get_pagename`).


START_PAGE = "home.md"
LETTERS = "'ß"
"""Characters that stay as they are and within which no word begins."""


def has_lower_case_names(pages: Collection[str], folders: Iterable[str]) -> bool:
    """Whether such an Otterwiki made a folder: `home.md` is there, and no page or folder beside it has a capital.

    Args:
        pages: Names of the pages at the top.
        folders: Names of the folders at the top.
    """
    return START_PAGE in pages and all(name == name.lower() for name in (*pages, *folders))


def shown_title(title: str, path: str) -> str:
    """The title of a page in such a folder: in title case if it is the name of the page's file."""
    return title_case(title) if title == Address(path).stem else title


def title_case(path: str) -> str:
    """A path in title case; a part that has a capital already stays."""
    return "/".join(part if part != part.lower() else _titled_part(part) for part in path.split("/"))


def _titled_part(part: str) -> str:
    shown: list[str] = []
    in_word = False
    for letter in part:
        is_fixed = letter in LETTERS
        shown.append(letter if is_fixed or in_word else letter.title())
        in_word = is_fixed or letter.islower() or letter.isupper() or letter.istitle()
    return "".join(shown)
