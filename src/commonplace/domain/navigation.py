"""The navigation of a collection: sections and pages in the order that its docs trees declare, else by title."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b

from commonplace.domain.addresses import document_suffixes, fold
from commonplace.domain.declared_navigation import (
    MAX_LEVELS,
    REST,
    DeclaredEntry,
    FolderOrder,
    LiterateNav,
    ReadText,
    awesome_pages,
    category,
    docfx,
    literate_nav_file,
    natural_key,
    nav_list,
    summary,
    toctree,
    value_at,
    words_of_name,
)
from commonplace.domain.json import Json, list_of, mapping_of, number_of, scalar_text, text_of
from commonplace.domain.markdown.paths import INDEX_NAMES, place_files
from commonplace.domain.query import Record
from commonplace.domain.sites import SiteTree, under
from commonplace.domain.yaml_loader import load

MAX_DEPTH = 40
"""Maximum depth of sections for folders; deeper pages stand in the section at this depth."""
MAX_TOC_FOLDERS = 3_000
"""Maximum number of folders in which a `toc.yml` is looked for."""
OTHERS = "Other pages"
"""Title of the last section: the pages that no declared navigation contains."""
SUMMARY_FILE = "SUMMARY.md"
TOC_FILES = ("toc.yml", "TOC.yml")
_UNPUBLISHED = frozenset({"static", "assets", "public", "pages"})
"""Names of mounted folders that hold no documentation."""
_NUMBER = re.compile(r"\A(\d+)\s*[-_.]+\s*(?=[^\d\s])")


@dataclass(frozen=True, slots=True)
class NavigationNode:
    """A page or section of a navigation."""

    title: str
    path: str = ""
    """Path of the page; "" for a section or URL without a page."""
    children: tuple[NavigationNode, ...] = ()
    folder: str | None = None
    """The folder whose pages the section lists; None for a section of declared entries."""
    url: str = ""
    """A URL of another site; "" for none."""


Place = tuple[int, ...]
"""A node's position: its number among its siblings, after those of the sections above it."""


@dataclass(frozen=True)
class Navigation:
    """An ordered tree of all pages of a collection."""

    roots: tuple[NavigationNode, ...]
    declared: bool = False
    """Whether a file declares the order."""

    @cached_property
    def places(self) -> Mapping[str, Place]:
        """The first place of each page, in reading order."""
        places: dict[str, Place] = {}
        pending: list[tuple[Place, NavigationNode]] = [((at,), node) for at, node in enumerate(self.roots)][::-1]
        while pending:
            place, node = pending.pop()
            if node.path:
                places.setdefault(node.path, place)
            pending += [((*place, at), child) for at, child in enumerate(node.children)][::-1]
        return places

    @cached_property
    def _order(self) -> Sequence[str]:
        return tuple(self.places)

    @cached_property
    def _ordinals(self) -> Mapping[str, int]:
        return {path: at for at, path in enumerate(self._order)}

    def children(self, place: Place) -> Sequence[NavigationNode]:
        """The nodes below a place; the roots for the empty place. Empty if there is no such place."""
        nodes = self.roots
        for at in place:
            if not 0 <= at < len(nodes):
                return ()
            nodes = nodes[at].children
        return nodes

    def ancestors(self, place: Place) -> Iterator[NavigationNode]:
        """The nodes from the root to a place, without the node at the place."""
        nodes = self.roots
        for at in place[:-1]:
            yield nodes[at]
            nodes = nodes[at].children

    def around(self, path: str) -> tuple[str, str]:
        """The paths of the previous and the next page; "" at the ends and for a page without a place."""
        at = self._ordinals.get(path)
        if at is None:
            return "", ""
        before = self._order[at - 1] if at else ""
        return before, self._order[at + 1] if at + 1 < len(self._order) else ""

    @cached_property
    def version(self) -> str:
        """Changes whenever a place may have another node."""
        return blake2b(repr(self.roots).encode("utf-8", "replace"), digest_size=6).hexdigest()

    @property
    def first(self) -> str:
        """The path of the first page; "" if there is none."""
        return next(iter(self.places), "")


def navigation_facts(record: Record) -> tuple[object, ...]:
    """All that a navigation may depend on in a record."""
    return record.address.path, record.title, record.id, record.date, _declared(record)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Style:
    """The rules by which a generator orders and names the pages of a folder."""

    position: tuple[str, ...] = ()
    """Frontmatter key of a page's position, with the keys above it."""
    labels: tuple[tuple[str, ...], ...] = ()
    """Frontmatter keys of a page's title in the navigation, in order of precedence."""
    folder: Callable[[ReadText, str], FolderOrder | None] | None = None
    """Reads what a folder's own file declares."""
    by_name: bool = False
    """Whether pages without a position are ordered by file name, otherwise by title."""
    newest_first: bool = False
    """Whether pages without a position are ordered by date, newest first."""
    folders: int = 0
    """Position of folders among pages: -1 before, 1 after, 0 mixed."""
    numbered: bool = False
    """Whether names begin with ordering numbers, which titles omit."""
    words: bool = False
    """Whether a folder's name is shown as words: `user-guide` as `User guide`."""
    index_names_folder: bool = False
    """Whether a folder has the title of its index page."""
    index_is_child: bool = False
    """Whether the index page of a folder is its first page and not the page of the section."""
    zero_is_none: bool = False
    has_parts: bool = False
    """Whether files and folders whose name begins with `_` are parts of other pages, which the tree omits."""


_STYLES: Mapping[str, _Style] = {
    "": _Style(folders=-1),
    "MkDocs": _Style(by_name=True, folders=1, words=True, index_is_child=True, folder=awesome_pages),
    "Docusaurus": _Style(
        position=("sidebar_position",), labels=(("sidebar_label",),), by_name=True, numbered=True, folder=category,
        index_names_folder=True, has_parts=True,
    ),
    "Hugo": _Style(
        position=("weight",), labels=(("linkTitle",), ("linktitle",)), newest_first=True, words=True,
        index_names_folder=True, zero_is_none=True,
    ),
    "Astro": _Style(position=("sidebar", "order"), labels=(("sidebar", "label"),), by_name=True, index_is_child=True),
    "VitePress": _Style(folders=-1, words=True),
    "blog": _Style(newest_first=True),
    "Jekyll": _Style(position=("nav_order",), words=True, index_names_folder=True),
}  # fmt: skip


_KEYS = frozenset(("title", "nav_order", "nav_exclude", "parent", "grand_parent")).union(
    keys[0] for style in _STYLES.values() for keys in (style.position, *style.labels) if keys
)
"""The keys of the front matter that decide about navigations."""


def _declared(record: Record) -> Mapping[str, Json]:
    """The front matter of a page as far as it decides about navigations."""
    return {key: value for key, value in record.frontmatter.items() if key in _KEYS}


@dataclass(slots=True)
class _Folder:
    """A folder of the pages that are arranged."""

    folders: list[str] = field(default_factory=list[str])
    pages: list[str] = field(default_factory=list[str])


class _Arranger:
    """Arranges pages by their folders.

    Args:
        pages: Records by path.
        read: Reads a file.
        shown_name: The name of a folder as it is shown.
    """

    def __init__(self, pages: Mapping[str, Record], read: ReadText, shown_name: Callable[[str], str]) -> None:
        self.pages = pages
        self.read = read
        self._shown_name = shown_name
        self._folded = {fold(path): path for path in pages}

    def resolved(self, target: str) -> str:
        """The path of the page that a target names; "" if there is none."""
        for place in place_files(target):
            if place in self.pages:
                return place
        return next((self._folded[text] for place in place_files(target) if (text := fold(place)) in self._folded), "")

    def label(self, path: str, style: _Style = _STYLES[""]) -> str:
        """The title of a page in the navigation."""
        record = self.pages[path]
        labels = (text_of(value_at(_declared(record), keys)) for keys in style.labels)
        is_named_after_file = style.words and record.title == _bare(path)
        title = _folder_title(record.title, style) if is_named_after_file else record.title
        return next(filter(None, labels), title)

    def tree(self, paths: Iterable[str], root: str, style: _Style) -> tuple[NavigationNode, ...]:
        """The pages of a folder as nodes, with its index page first.

        Args:
            paths: The pages, all in the folder.
            root: The folder.
            style: The rules of the generator.
        """
        folders = _folders((path for path in paths if not (style.has_parts and _is_part(path, root))), root)
        index = self._index(folders[root].pages)
        first = [NavigationNode(self.label(index, style), index)] if index else []
        rest = self._level(folders, root, style, index, 0)
        order = style.folder(self.read, root) if style.folder else None
        return self._ordered((*first, *rest), order) if order else (*first, *rest)

    def _index(self, paths: Sequence[str]) -> str:
        names = {path.rpartition("/")[2]: path for path in paths}
        return next((names[name] for name in INDEX_NAMES if name in names), "")

    def _level(
        self, folders: Mapping[str, _Folder], folder: str, style: _Style, without: str, depth: int
    ) -> tuple[NavigationNode, ...]:
        """The nodes of a folder's pages and subfolders in order, without its index page."""
        here = folders[folder]
        rows = [(self._page_key(path, style), NavigationNode(self.label(path, style), path))
                for path in here.pages if path != without]  # fmt: skip
        for other_folder in here.folders:
            if depth >= MAX_DEPTH:
                flat = [path for name, below in folders.items() if under(name, other_folder) for path in below.pages]
                rows += [(self._page_key(path, style), NavigationNode(self.label(path), path)) for path in flat]
                continue
            order = style.folder(self.read, other_folder) if style.folder else None
            node, key = self._section(folders, other_folder, style, order, depth)
            if not (order and order.hidden):
                rows.append((key, node))
        return tuple(node for _, node in sorted(rows, key=lambda row: row[0]))

    def _section(
        self, folders: Mapping[str, _Folder], folder: str, style: _Style, order: FolderOrder | None, depth: int
    ) -> tuple[NavigationNode, tuple[object, ...]]:
        name = folder.rpartition("/")[2]
        index = self._representative(folders[folder].pages, folder, order)
        children = self._level(folders, folder, style, index, depth + 1)
        title = order.title if order else ""
        if not title and index and (style.index_names_folder or not children):
            title = self.label(index, style)
        title = title or self._shown_name(_folder_title(name, style))
        if index and style.index_is_child and children:
            children = (NavigationNode(self.label(index, style), index), *children)
        node = NavigationNode(title, "" if index and style.index_is_child and children else index, children, folder)
        if order:
            node = replace(node, children=self._ordered(node.children, order))
        position = order.position if order else None
        if position is None and index:
            position = self._position(index, style, name)
        elif position is None:
            position = _prefix(name) if style.numbered else None
        date = self.pages[index].date if index else ""
        return node, _key(position, style, style.folders, date, name if style.by_name else title)

    def _representative(self, paths: Sequence[str], folder: str, order: FolderOrder | None) -> str:
        """The page of a folder: the declared one, its index page, or the one that has its name."""
        if order and order.page:
            named = order.page.rpartition("/")[2]
            declared = next((path for path in paths if named in {_bare(path), text_of(self.pages[path].id)}), "")
            if declared:
                return declared
        name = folder.rpartition("/")[2]
        return self._index(paths) or next((path for path in paths if _bare(path) == name), "")

    def _page_key(self, path: str, style: _Style) -> tuple[object, ...]:
        record = self.pages[path]
        name = path.rpartition("/")[2]
        position = self._position(path, style, name)
        return _key(position, style, 0, record.date, name if style.by_name else self.label(path, style))

    def _position(self, path: str, style: _Style, name: str) -> float | None:
        value = value_at(_declared(self.pages[path]), style.position)
        position = number_of(value)
        if position is None and re.fullmatch(r"-?\d{1,9}(\.\d{1,9})?", text_of(value)):
            position = float(text_of(value))
        if position == 0 and style.zero_is_none:
            return None
        return _prefix(name) if position is None and style.numbered else position

    def _ordered(self, nodes: Sequence[NavigationNode], order: FolderOrder) -> tuple[NavigationNode, ...]:
        """The nodes of a folder in the order that its own file declares."""
        rest = list(reversed(nodes) if order.descending else nodes)
        if not order.entries:
            return tuple(rest)
        placed: list[NavigationNode | None] = []
        for entry in order.entries:
            if entry.target == REST:
                placed.append(None)
                continue
            named = [node for node in rest if entry.target and entry.target in {node.path, node.folder}]
            node = named[0] if named else None
            if node is not None:
                rest.remove(node)
                placed.append(replace(node, title=entry.title or node.title))
            elif entry.children or entry.is_external:
                placed += self.nodes((entry,))
        return tuple(navigation_node for node in placed for navigation_node in ([node] if node is not None else rest))

    def nodes(
        self, entries: Sequence[DeclaredEntry], paths: Sequence[str] = (), style: _Style = _STYLES[""], depth: int = 0
    ) -> list[NavigationNode]:
        """Declared entries as nodes. Entries that name no page, folder or URL and have no children are omitted.

        Args:
            entries: The entries.
            paths: Pages of which a target may name a whole folder; empty if targets name pages only.
            style: The rules by which such a folder is arranged.
            depth: Number of levels above the entries.
        """
        result: list[NavigationNode] = []
        for entry in entries if depth < MAX_LEVELS else ():
            children = tuple(self.nodes(entry.children, paths, style, depth + 1))
            target = entry.target
            if target and entry.is_external:
                result.append(NavigationNode(entry.title or target, url=target, children=children))
                continue
            below = self._inside(target, paths) if target and not children else []
            if below:
                folder = target.rstrip("/")
                title = entry.title or self._shown_name(_folder_title(folder.rpartition("/")[2], style))
                result.append(NavigationNode(title, "", self.tree(below, folder, style), folder))
                continue
            path = self.resolved(target) if target else ""
            if path or children:
                title = entry.title or (self.label(path, style) if path else "")
                result.append(NavigationNode(title or "…", path, children))
        return result

    def _inside(self, target: str, paths: Sequence[str]) -> list[str]:
        """The pages of a folder that a target names; none if it names a page."""
        folder = target.rstrip("/")
        if folder in self.pages or any(f"{folder}{suffix}" in self.pages for suffix in document_suffixes()):
            return []
        return [path for path in paths if path.startswith(f"{folder}/")]


def _key(position: float | None, style: _Style, kind: int, date: str, name: str) -> tuple[object, ...]:
    """A sort key: by position, then folders and pages, then date or name."""
    newest = tuple(-ord(letter) for letter in date[:10]) if style.newest_first and date else ()
    return (position is None, position or 0.0, kind, not newest and style.newest_first, newest, natural_key(name), name)


def _prefix(name: str) -> float | None:
    return float(number[1][:9]) if (number := _NUMBER.match(name)) else None


def _bare(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]


def _is_part(path: str, root: str) -> bool:
    """Whether the name of a file, or of a folder between it and the root, begins with `_`."""
    return "/_" in f"/{path.removeprefix(root).lstrip('/')}"


def _folder_title(name: str, style: _Style) -> str:
    if style.numbered:
        name = _NUMBER.sub("", name)
    return words_of_name(name) if style.words else name


def _folders(paths: Iterable[str], root: str) -> dict[str, _Folder]:
    """The folders of pages, each with its subfolders."""
    folders = {root: _Folder()}
    for path in (other_path for other_path in paths if under(other_path, root)):
        folder = path.rpartition("/")[0]
        missing: list[str] = []
        while folder not in folders:
            missing.append(folder)
            folder = folder.rpartition("/")[0]
        for element in reversed(missing):
            folders[element] = _Folder()
            folders[folder].folders.append(element)
            folder = element
        folders[path.rpartition("/")[0]].pages.append(path)
    return folders


@dataclass(frozen=True, slots=True)
class _Tree:
    """The declared navigation of a folder."""

    title: str
    nodes: tuple[NavigationNode, ...]


def build_navigation(
    records: Mapping[str, Record],
    sites: Sequence[SiteTree],
    read: ReadText,
    declared: Json = None,
    shown_name: Callable[[str], str] = str,
) -> Navigation:
    """The navigation of a collection.

    Args:
        records: The records of all documents by path.
        sites: The recognised docs trees, outermost first.
        read: Returns the text of a file by its path, hidden ones included; "" if there is none.
        declared: The list `navigation` of the base's own file, as in `mkdocs.yml`; None for none.
        shown_name: The name of a folder as it is shown.
    """
    builder = _Builder(records, sites, read, shown_name)
    if list_of(declared):
        trees = [_Tree("", tuple(builder.arranger.nodes(nav_list(declared, ""), sorted(records))))]
    else:
        trees = [tree for tree in builder.trees() if tree.nodes]
    covered = builder.hidden.union(*(Navigation(tree.nodes).places for tree in trees))
    rest = builder.arranger.tree([path for path in records if path not in covered], "", _STYLES[""])
    if not trees:
        return Navigation(rest)
    first, *others = trees
    roots = [*first.nodes, *(NavigationNode(tree.title, "", tree.nodes) for tree in others)]
    if rest:
        roots.append(NavigationNode(OTHERS, "", rest))
    return Navigation(tuple(roots), declared=True)


class _Builder:
    """Finds the declared navigations of a collection."""

    def __init__(
        self,
        records: Mapping[str, Record],
        sites: Sequence[SiteTree],
        read: ReadText,
        shown_name: Callable[[str], str],
    ) -> None:
        self.arranger = _Arranger(records, read, shown_name)
        self.hidden: set[str] = set()
        """Documents that only declare a navigation."""
        self._paths = sorted(records)
        self._sites = sites
        self._read = read

    def trees(self) -> Iterator[_Tree]:
        """The declared navigations, those of recognised generators first."""
        taken: list[str] = []
        rules: Mapping[str, Callable[[SiteTree], Iterator[tuple[str, Sequence[NavigationNode]]]]] = {
            "MkDocs": self._mkdocs, "Docusaurus": self._content_folders, "Hugo": self._content_folders,
            "Astro": self._content_folders, "VitePress": self._content_folders, "Jekyll": self._jekyll,
            "Sphinx (MyST)": self._sphinx,
        }  # fmt: skip
        for site in self._sites:
            rule = rules.get(site.generator)
            for folder, nodes in rule(site) if rule else ():
                if nodes and not any(under(folder, other_folder) for other_folder in taken):
                    taken.append(folder)
                    yield _Tree(_tree_title(folder), tuple(nodes))
        for folder, nodes in (*self._summaries(taken), *self._docfx(taken)):
            yield _Tree(_tree_title(folder), tuple(nodes))

    def _below(self, folder: str) -> list[str]:
        return [path for path in self._paths if under(path, folder)]

    def _mkdocs(self, site: SiteTree) -> Iterator[tuple[str, Sequence[NavigationNode]]]:
        folder, settings = site.mounts[0].folder, mapping_of(load(self._read(site.config)).value)
        declared = nav_list(settings.get("nav"), folder)
        paths, style = self._below(folder), _STYLES["MkDocs"]
        if (name := literate_nav_file(settings.get("plugins"))) is not None:
            literate = LiterateNav(self._read, name, paths)
            declared = literate.entries(folder) or literate.expanded(declared, folder)
            self.hidden |= literate.files
        if declared:
            yield folder, self.arranger.nodes(declared, paths, style)
        elif paths:
            yield folder, self.arranger.tree(paths, folder, style)

    def _content_folders(self, site: SiteTree) -> Iterator[tuple[str, Sequence[NavigationNode]]]:
        """A tree for each mounted folder with pages, arranged by the rules of the generator."""
        style = _STYLES[site.generator]
        for folder in dict.fromkeys(mount.folder for mount in site.mounts):
            paths = self._below(folder)
            if paths and folder.rpartition("/")[2] not in _UNPUBLISHED:
                is_blog = folder.rpartition("/")[2] == "blog"
                yield folder, self.arranger.tree(paths, folder, _STYLES["blog"] if is_blog else style)

    def _sphinx(self, site: SiteTree) -> Iterator[tuple[str, Sequence[NavigationNode]]]:
        root = self.arranger.resolved(f"{site.folder}/index" if site.folder else "index")
        if root:
            nodes = self._toctree(root, site.folder, {root}, 0)
            if nodes:
                yield site.folder, (NavigationNode(self.arranger.label(root), root), *nodes)

    def _toctree(self, path: str, root: str, visited: set[str], depth: int) -> tuple[NavigationNode, ...]:
        """The nodes of the toctrees of a page, each page with those of its own toctrees."""
        entries = toctree(self._read(path), path, root, self._paths) if depth < MAX_LEVELS else ()
        return tuple(self._toctree_nodes(self.arranger.nodes(entries), root, visited, depth))

    def _toctree_nodes(
        self, nodes: Sequence[NavigationNode], root: str, visited: set[str], depth: int
    ) -> Iterator[NavigationNode]:
        for node in nodes:
            children = tuple(self._toctree_nodes(node.children, root, visited, depth))
            if node.path and node.path not in visited:
                visited.add(node.path)
                children += self._toctree(node.path, root, visited, depth + 1)
            yield replace(node, children=children)

    def _jekyll(self, site: SiteTree) -> Iterator[tuple[str, Sequence[NavigationNode]]]:
        """The pages by `parent` and `nav_order`, as just-the-docs arranges them; none if no page has such a key."""
        pages = [path for path in self._below(site.folder) if _declared(self.arranger.pages[path]).get("title")]
        values = {path: _declared(self.arranger.pages[path]) for path in pages}
        if not any("nav_order" in element or "parent" in element for element in values.values()):
            return
        below: dict[tuple[str, str], list[str]] = {}
        for path in sorted(pages, key=lambda path: _nav_key(values[path], self.arranger.label(path))):
            if values[path].get("nav_exclude") is not True:
                key = text_of(values[path].get("grand_parent")), text_of(values[path].get("parent"))
                below.setdefault(key, []).append(path)
        yield site.folder, tuple(self._children(below, "", "", frozenset()))

    def _children(
        self, below: Mapping[tuple[str, str], Sequence[str]], above: str, parent: str, visited: frozenset[str]
    ) -> Iterator[NavigationNode]:
        """The pages with this parent, each with the pages that name it as theirs."""
        paths = [*below.get((above, parent), ()), *(below.get(("", parent), ()) if above else ())]
        for path in paths:
            title = self.arranger.label(path)
            children = () if title in visited else tuple(self._children(below, parent, title, visited | {title}))
            yield NavigationNode(title, path, children)

    def _summaries(self, taken: list[str]) -> Iterator[tuple[str, Sequence[NavigationNode]]]:
        """The trees of mdBook and GitBook: those with a `SUMMARY.md` that lists pages."""
        for path in self._paths:
            folder, _, name = path.rpartition("/")
            if name == SUMMARY_FILE and not any(under(folder, other_folder) for other_folder in taken):
                nodes = self.arranger.nodes(summary(self._read(path), folder))
                if len(Navigation(tuple(nodes)).places) > 1:
                    taken.append(folder)
                    self.hidden.add(path)
                    yield folder, nodes

    def _docfx(self, taken: list[str]) -> Iterator[tuple[str, Sequence[NavigationNode]]]:
        """The trees of docfx: a folder's `toc.yml` with those that it includes, and then those that none includes."""
        folders: dict[str, None] = {}
        for path in self._paths:
            folder = path.rpartition("/")[0]
            while folder not in folders:
                folders[folder] = None
                folder = folder.rpartition("/")[0]
        visited: set[str] = set()
        ordered = sorted(folders, key=lambda folder: (folder.count("/") + bool(folder), natural_key(folder)))
        for folder in ordered[:MAX_TOC_FOLDERS]:
            if any(under(folder, other_folder) for other_folder in taken):
                continue
            for name in TOC_FILES:
                entries = docfx(self._read, f"{folder}/{name}" if folder else name, visited)
                nodes = self.arranger.nodes(entries)
                if Navigation(tuple(nodes)).places:
                    yield folder, nodes


def _nav_key(values: Mapping[str, Json], title: str) -> tuple[object, ...]:
    """Numbers first, then texts, then pages without an order, as just-the-docs sorts."""
    order = values.get("nav_order")
    number = number_of(order)
    kind = 0 if number is not None else 1 if order is not None else 2
    return kind, number or 0.0, scalar_text(order) if kind == 1 else "", natural_key(title)


def _tree_title(folder: str) -> str:
    name = folder.rpartition("/")[2].removeprefix("version-")
    return _folder_title(name, _STYLES["MkDocs"]) or "Pages"
