"""Reads the navigation that a docs tree declares in its generator's files, which are read as text and never run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain
from typing import cast
from unicodedata import combining, normalize

from commonplace.domain.json import Json, list_of, mapping_of, text_of
from commonplace.domain.markdown.paths import INDEX_NAMES, joined
from commonplace.domain.yaml_loader import load

MAX_ENTRIES = 50_000
"""Maximum number of entries that are read from the declarations of one tree."""
MAX_LEVELS = 12
"""Maximum depth of entries; deeper ones are omitted."""
REST = "..."
"""Stands for the pages and folders that no other entry names."""
_EXTERNAL = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_ITEM = re.compile(r"(?P<indent>[ \t]*)(?:[-*+]|\d+[.)])[ \t]+(?P<text>.*\S)")
_LINK = re.compile(r"\[(?P<title>(?:\\.|[^\]\\])*)\]\((?P<target><[^>]*>|[^)\s]*)[^)]*\)")
_HEADING = re.compile(r"(?P<level>#{1,6})[ \t]+(?P<text>.*\S)")
_FENCE = re.compile(r"\s*(?P<fence>`{3,}|~{3,}|:{3,})\{toctree\}.*")
MAX_LINE = 2_000
"""Maximum number of characters of a line with an entry; longer lines are ignored."""
_TITLED = re.compile(r"(?P<title>.*\S)\s*<(?P<target>[^<>]+)>")

_DIGITS = re.compile(r"(\d{1,15})")

ReadText = Callable[[str], str]
"""Returns the text of a file by its path from the collection's root; "" if there is none."""


def value_at(values: Mapping[str, Json], keys: Sequence[str]) -> Json:
    """The value at a key inside the values at the keys before it; None for none, and for no key."""
    for key in keys[:-1]:
        values = mapping_of(values.get(key))
    return values.get(keys[-1]) if keys else None


def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key by which `Chapter 2` is before `Chapter 10`."""
    text = text.casefold()
    letters = text if text.isascii() else "".join(char for char in normalize("NFKD", text) if not combining(char))
    parts = _DIGITS.split(letters)
    return tuple((0, int(part), "") if at % 2 else (1, 0, part) for at, part in enumerate(parts) if part)


@dataclass(frozen=True, slots=True)
class DeclaredEntry:
    """One entry of a declared navigation."""

    title: str = ""
    """The declared title; "" for the title of the page."""
    target: str = ""
    """Path of a page or folder from the collection's root, a URL, `REST`, or "" for a heading."""
    children: tuple[DeclaredEntry, ...] = ()

    @property
    def is_external(self) -> bool:
        """Whether the target is a URL of another site."""
        return is_external(self.target)


def is_external(target: str) -> bool:
    """Whether a target is a URL of another site."""
    return bool(_EXTERNAL.match(target)) or target.startswith("//")


def nav_list(value: Json, folder: str, depth: int = 0) -> tuple[DeclaredEntry, ...]:
    """The entries of a list as in `mkdocs.yml`: paths, and mappings of a title to a path or a list.

    Args:
        value: The list.
        folder: The folder in which its paths begin.
        depth: Number of levels above the list.
    """
    if depth >= MAX_LEVELS:
        return ()
    entries: list[DeclaredEntry] = []
    for item in list_of(value)[:MAX_ENTRIES]:
        if isinstance(item, str):
            entries.append(DeclaredEntry("", _place(folder, item)))
            continue
        for title, inner in mapping_of(item).items():
            if isinstance(inner, str):
                entries.append(DeclaredEntry(title, _place(folder, inner)))
            elif list_of(inner):
                entries.append(DeclaredEntry(title, "", nav_list(inner, folder, depth + 1)))
    return tuple(entries)


def _place(folder: str, target: str) -> str:
    """A written target as a path from the root; "" if it leads above the root."""
    if is_external(target) or target == REST:
        return target
    if target == "*":  # of awesome-nav
        return REST
    bare = re.split(r"[#?]", target, maxsplit=1)[0].replace("\\", "/").replace("%20", " ")
    return joined("" if bare.startswith("~/") else folder, bare.removeprefix("~/")) or ""


@dataclass(frozen=True, slots=True)
class FolderOrder:
    """The declaration of a folder in a file of its own: `.pages`, `.nav.yml` or `_category_.json`."""

    title: str = ""
    entries: tuple[DeclaredEntry, ...] = ()
    """The order of its pages and folders, with `REST`; empty if none is declared."""
    position: float | None = None
    """The position of the folder among its siblings; None for none."""
    descending: bool = False
    hidden: bool = False
    page: str = ""
    """Path or id of the page that represents the folder; "" for none."""


def awesome_pages(read: ReadText, folder: str) -> FolderOrder | None:
    """The order that `.pages` or `.nav.yml` declares for a folder; None without such a file."""
    text = read(_in(folder, ".pages")) or read(_in(folder, ".nav.yml"))
    values: Mapping[str, Json] = mapping_of(load(text).value) if text else {}
    if not values:
        return None
    entries = nav_list(values.get("nav") or values.get("arrange"), folder)
    if values.get("arrange") and not any(entry.target == REST for entry in entries):
        entries = (*entries, DeclaredEntry("", REST))
    return FolderOrder(
        title=text_of(values.get("title")),
        entries=entries,
        descending=values.get("order") == "desc" or mapping_of(values.get("sort")).get("direction") == "desc",
        hidden=values.get("hide") is True,
    )


def category(read: ReadText, folder: str) -> FolderOrder | None:
    """The declaration of a folder in `_category_.json` or `_category_.yml` of Docusaurus; None without one."""
    for name in ("_category_.json", "_category_.yml", "_category_.yaml"):
        text = read(_in(folder, name))
        if text:
            values = _json_mapping(text) if name.endswith("json") else mapping_of(load(text).value)
            position = values.get("position")
            link = mapping_of(values.get("link"))
            return FolderOrder(
                title=text_of(values.get("label")),
                position=float(position) if isinstance(position, (int, float)) else None,
                page=text_of(link.get("id")) if link.get("type") == "doc" else "",
            )
    return None


def _json_mapping(text: str) -> Mapping[str, Json]:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast("Mapping[str, Json]", value) if isinstance(value, dict) else {}


def _in(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def summary(text: str, folder: str) -> tuple[DeclaredEntry, ...]:
    """The entries of a `SUMMARY.md` of mdBook or GitBook: nested lists of links, below headings.

    Args:
        text: The Markdown.
        folder: The folder in which its paths begin.
    """
    outline = _Outline()
    is_first = True
    for line in (other_line for other_line in text.splitlines() if len(other_line) <= MAX_LINE):
        heading = _HEADING.fullmatch(line.strip())
        item = _ITEM.fullmatch(line)
        link = _LINK.search(line)
        if heading:
            if not (is_first and len(heading["level"]) == 1):  # the first one is the title of the file
                outline.open_group(_plain(heading["text"]))
        elif item:
            entry = _linked(link, folder) if link else DeclaredEntry(_plain(item["text"]))
            outline.add(len(item["indent"].expandtabs(4)), entry)
        elif link and _LINK.fullmatch(line.strip()):
            outline.close_group()
            outline.add(0, _linked(link, folder))
        elif re.fullmatch(r"\s*-{3,}\s*", line):
            outline.close_group()
        is_first = is_first and not line.strip()
    return outline.entries()


def literate_nav_file(plugins: Json) -> str | None:
    """The name of the files of `literate-nav` by the `plugins` of a `mkdocs.yml`; None without this plugin."""
    for plugin in list_of(plugins) or [{name: options} for name, options in mapping_of(plugins).items()]:
        if plugin == "literate-nav" or "literate-nav" in mapping_of(plugin):
            return text_of(mapping_of(mapping_of(plugin).get("literate-nav")).get("nav_file")) or "SUMMARY.md"
    return None


class LiterateNav:
    """The navigation of a MkDocs tree whose plugin `literate-nav` reads a file of each folder, such as `SUMMARY.md`.

    Args:
        read: Reads a file.
        name: Name of the files.
        documents: Paths of all documents of the tree, sorted.
    """

    def __init__(self, read: ReadText, name: str, documents: Sequence[str]) -> None:
        self.files: set[str] = set()
        """Paths of the files that were read; each is read once."""
        self._read = read
        self._name = name
        self._named: set[str] = set()
        """Targets of entries; wildcards do not list them again."""
        pages: dict[str, list[str]] = {}
        folders: dict[str, dict[str, None]] = {}
        for path in documents:
            pages.setdefault(path.rpartition("/")[0], []).append(path)
            while path := path.rpartition("/")[0]:
                folders.setdefault(path.rpartition("/")[0], {})[f"{path}/"] = None
        index_first = {
            folder: sorted(below, key=lambda path: path.rpartition("/")[2] not in INDEX_NAMES)
            for folder, below in pages.items()
        }
        self._below = {
            folder: [*index_first.get(folder, ()), *folders.get(folder, ())] for folder in {**pages, **folders}
        }
        """The pages of each folder, and then its folders with a slash behind them."""

    def entries(self, folder: str, depth: int = 0) -> tuple[DeclaredEntry, ...]:
        """The entries of a folder's file, `depth` levels down; empty if it has none, or if it was read already."""
        path = _in(folder, self._name)
        text = self._read(path) if path not in self.files else ""
        if not text:
            return ()
        self.files.add(path)
        self._named.add(path)
        lists = re.split(r"(?m)^#.*$", text.rpartition("<!--nav-->")[2])
        listed = next(filter(None, (summary(part, folder) for part in reversed(lists))), ())
        return self.expanded(listed, folder, depth)

    def expanded(self, entries: Sequence[DeclaredEntry], folder: str, depth: int = 0) -> tuple[DeclaredEntry, ...]:
        """Entries with those of the folders that they name, and with what their wildcards match in a folder.

        Args:
            entries: The entries.
            folder: The folder in which a wildcard without a title begins.
            depth: Number of levels above the entries.
        """
        self._named.update(target for entry in entries for target in _targets(entry))
        rows = (self._expanded(entry, folder, depth) for entry in entries if depth < MAX_LEVELS)
        return tuple(chain.from_iterable(rows))

    def _expanded(self, entry: DeclaredEntry, folder: str, depth: int) -> Iterator[DeclaredEntry]:
        place = entry.target.rstrip("/")
        if entry.children:
            first = (DeclaredEntry("", entry.target),) if entry.target else ()
            yield DeclaredEntry(entry.title, "", (*first, *self.expanded(entry.children, folder, depth + 1)))
        elif "*" in (place or entry.title) and not entry.is_external:
            yield from self._of_wildcard(entry, folder, depth)
        elif place not in self._below:
            yield entry
        elif _in(place, self._name) not in self.files:
            below = self.entries(place, depth + 1) or self.expanded((DeclaredEntry("*"),), place, depth + 1)
            yield DeclaredEntry(entry.title or words_of_name(place.rpartition("/")[2]), "", below)

    def _of_wildcard(self, entry: DeclaredEntry, folder: str, depth: int) -> Sequence[DeclaredEntry]:
        """The entries that a wildcard stands for: a target of `mkdocs.yml`, or a title, relative to its folder."""
        matched = self._matched(entry.target or entry.title, "" if entry.target else folder)
        inside = [DeclaredEntry("", path) for path in matched if path not in self._named]
        if entry.target and entry.title:
            return [DeclaredEntry(entry.title, "", self.expanded(inside, folder, depth + 1))]
        return self.expanded(inside, folder, depth)

    def _matched(self, pattern: str, folder: str) -> Iterator[str]:
        """The pages and folders that a pattern names, of which `*` matches no `/`."""
        parent, _, name = (joined(folder, pattern.rstrip("/")) or "").rpartition("/")
        for place, below in self._below.items():
            if place == parent or (place.count("/") == parent.count("/") and fnmatchcase(place, parent)):
                for path in below:
                    is_fit = path.endswith("/") or not pattern.endswith("/")
                    if is_fit and fnmatchcase(path.rstrip("/").rpartition("/")[2], name):
                        yield path


def _targets(entry: DeclaredEntry) -> Iterator[str]:
    yield entry.target
    for child in entry.children:
        yield from _targets(child)


def words_of_name(name: str) -> str:
    """The name of a folder as words: `user-guide` as `User guide`."""
    words = re.sub(r"[-_]+", " ", name).strip()
    return words[:1].upper() + words[1:] if words.islower() else words or name


def _linked(link: re.Match[str], folder: str) -> DeclaredEntry:
    target = link["target"].strip("<>")
    return DeclaredEntry(_plain(link["title"]), _place(folder, target) if target else "")


def _plain(text: str) -> str:
    """A title without links, code marks and escapes."""
    without_links = _LINK.sub(lambda match: match["title"], text)
    return re.sub(r"\\(.)", r"\1", without_links.replace("`", "").replace("**", "")).strip()


class _Outline:
    """Builds entries from lines with an indentation."""

    def __init__(self) -> None:
        self._root: list[_Row] = []
        self._above: list[_Row] = []
        self._group: _Row | None = None

    def open_group(self, title: str) -> None:
        self._group = _Row(-1, DeclaredEntry(title))
        self._root.append(self._group)
        self._above = []

    def close_group(self) -> None:
        self._group, self._above = None, []

    def add(self, indent: int, entry: DeclaredEntry) -> None:
        row = _Row(indent, entry)
        while self._above and self._above[-1].indent >= indent:
            self._above.pop()
        if self._above:
            self._above[-1].below.append(row)
        else:
            (self._group.below if self._group else self._root).append(row)
        if len(self._above) < MAX_LEVELS:
            self._above.append(row)

    def entries(self) -> tuple[DeclaredEntry, ...]:
        """The rows as entries; a group without rows is omitted."""
        rows = [row for row in self._root if row.indent >= 0 or row.below]
        return tuple(row.as_entry() for row in rows)


class _Row:
    """A line of an outline with the lines below it."""

    def __init__(self, indent: int, entry: DeclaredEntry) -> None:
        self.indent = indent
        self.below: list[_Row] = []
        self._entry = entry

    def as_entry(self) -> DeclaredEntry:
        return DeclaredEntry(self._entry.title, self._entry.target, tuple(row.as_entry() for row in self.below))


def docfx(read: ReadText, path: str, visited: set[str], depth: int = 0) -> tuple[DeclaredEntry, ...]:
    """The entries of a `toc.yml` of docfx, with those of the files that it includes.

    Args:
        read: Reads a file.
        path: Path of the file.
        visited: Paths of the files that are included already; this one and those that it includes are added.
        depth: Number of levels above the file.
    """
    if path in visited or depth >= MAX_LEVELS:
        return ()
    text = read(path)
    if not text:
        return ()
    visited.add(path)
    value = load(text).value
    items = list_of(value) or list_of(mapping_of(value).get("items"))
    return tuple(_docfx_entries(read, items, path.rpartition("/")[0], visited, depth))


def _docfx_entries(
    read: ReadText, items: Sequence[Json], folder: str, visited: set[str], depth: int
) -> Iterator[DeclaredEntry]:
    if depth >= MAX_LEVELS:
        return
    for item in map(mapping_of, items[:MAX_ENTRIES]):
        href, topic = text_of(item.get("href")), text_of(item.get("topicHref")) or text_of(item.get("homepage"))
        children = tuple(_docfx_entries(read, list_of(item.get("items")), folder, visited, depth + 1))
        included = text_of(item.get("tocHref")) or (href if href.endswith(("/", "toc.yml", "TOC.yml")) else "")
        if included and not is_external(included):
            place = _place(folder, included)
            for name in ("toc.yml", "TOC.yml") if not place.endswith(".yml") else ("",):
                children += docfx(read, _in(place.rstrip("/"), name) if name else place, visited, depth + 1)
            href = topic
        target = topic or href
        title = text_of(item.get("name"))
        if title or target:
            yield DeclaredEntry(title, _place(folder, target) if target else "", children)


def toctree(text: str, path: str, root: str, documents: Sequence[str]) -> tuple[DeclaredEntry, ...]:
    """The entries of all `toctree` directives of a page of Sphinx with MyST.

    Args:
        text: The Markdown of the page.
        path: Path of the page.
        root: The folder in which paths with a leading `/` begin.
        documents: Paths of all documents, sorted; for entries with wildcards.
    """
    folder = path.rpartition("/")[0]
    entries: list[DeclaredEntry] = []
    for body in _toctrees(text):
        options, lines = _directive(body)
        rows: list[DeclaredEntry] = []
        for line in lines:
            titled = _TITLED.fullmatch(line)
            target = titled["target"] if titled else line
            place = _place(root if target.startswith("/") else folder, target)
            if "glob" in options and any(mark in target for mark in "*?["):
                rows += [DeclaredEntry("", element) for element in _globbed(place, documents, path)]
            elif target != "self":
                rows.append(DeclaredEntry(titled["title"] if titled else "", place))
        rows = rows[::-1] if "reversed" in options else rows
        caption = options.get("caption", "")
        entries += [DeclaredEntry(caption, "", tuple(rows))] if caption else rows
    return tuple(entries)


def _toctrees(text: str) -> Iterator[list[str]]:
    """The lines of each `toctree` directive; a directive that is not closed ends with the page."""
    body: list[str] = []
    fence = ""
    for line in text.splitlines() if "{toctree}" in text else ():
        bare = line.strip()
        opening = None if fence or len(line) > MAX_LINE else _FENCE.fullmatch(line)
        if opening:
            fence, body = opening["fence"], []
        elif fence and bare == fence:
            yield body
            fence = ""
        elif fence and len(line) <= MAX_LINE:
            body.append(bare)
    if fence:
        yield body


def _directive(lines: list[str]) -> tuple[dict[str, str], list[str]]:
    """The options and the entries of a directive."""
    options: dict[str, str] = {}
    if lines[:1] == ["---"] and "---" in lines[1:]:
        end = lines.index("---", 1)
        options = {key: text_of(value) for key, value in mapping_of(load("\n".join(lines[1:end])).value).items()}
        lines = lines[end + 1 :]
    while lines and (option := re.fullmatch(r":(\w+):\s*(.*)", lines[0])):
        options[option[1]] = option[2]
        lines.pop(0)
    return options, [line for line in lines if line and not line.startswith("#")]


def _globbed(pattern: str, documents: Sequence[str], source: str) -> Iterator[str]:
    """The documents of a wildcard, which does not match `/`."""
    parts = pattern.count("/")
    for path in documents:
        bare = path.rpartition(".")[0]
        if path != source and path.count("/") == parts and (fnmatchcase(bare, pattern) or fnmatchcase(path, pattern)):
            yield path
