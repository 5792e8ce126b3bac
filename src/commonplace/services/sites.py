"""The site of a collection: its title, start page and navigation, from its own file, else from its docs trees."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from threading import Lock

from commonplace import build
from commonplace.domain.addresses import Address, document_suffixes, fold
from commonplace.domain.attachment_types import is_plain_svg
from commonplace.domain.changes import FileStat
from commonplace.domain.documents import Finding
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.findings import finding_of, shortened
from commonplace.domain.json import Json, list_of, mapping_of, text_of
from commonplace.domain.navigation import Navigation, NavigationNode, build_navigation, navigation_facts
from commonplace.domain.ports import Store
from commonplace.domain.query import Record
from commonplace.domain.site_file import (
    MAX_IMAGE_BYTES,
    MAX_STYLE_BYTES,
    SITE_FILE,
    SiteSettings,
    declared_site,
    entry_targets,
)
from commonplace.domain.site_recognition import MAX_CONFIG_BYTES, site_title
from commonplace.domain.sites import SiteTree
from commonplace.services.collections import Collection

CHECK_SECONDS = 1.0
"""Seconds for which the files that declare a site are taken as unchanged."""
START_NAMES = ("home", "index", "readme", "_index", "welcome", "start")
"""Names of a start page, without suffix and in any case, in order of precedence."""
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_FOREIGN = re.compile(
    r"""(?:url\(\s*|@import\s+)["']?((?:https?:)?//[^\s"')]+)""",
    re.IGNORECASE,
)
"""Anything that a style sheet loads from another server."""
_GENERAL_TITLES = frozenset({*START_NAMES, "introduction", "intro", "overview", "documentation", "docs"})
"""Titles of start pages that say nothing of the site."""


@dataclass(frozen=True, slots=True)
class Site:
    """The site of a collection."""

    settings: SiteSettings
    navigation: Navigation
    start: str
    """Path of the start page; "" if there is none."""
    title: str


@dataclass(frozen=True, slots=True)
class KnownNavigation:
    """A navigation that was built, with what it was built of: it is taken as long as all of that is the same."""

    navigation: Navigation
    facts: str
    """Digest of what the base and its pages say of it."""
    texts: Mapping[str, str]
    """Digests of the files that were read for it, by path; missing ones, too."""

    def as_json(self) -> dict[str, Json]:
        """The value that `known_navigation` reads."""
        roots = _nodes_as_json(self.navigation.roots)
        return {"facts": self.facts, "texts": dict(self.texts), "is": self.navigation.declared, "roots": roots}


def known_navigation(stored: Json) -> KnownNavigation | None:
    """The navigation that a stored value has; None for a value of another form."""
    values = mapping_of(stored)
    try:
        navigation = Navigation(_nodes_of(values.get("roots")), declared=bool(values.get("is")))
    except (TypeError, ValueError):
        return None
    texts = {path: text_of(digest) for path, digest in mapping_of(values.get("texts")).items()}
    return KnownNavigation(navigation, text_of(values.get("facts")), texts) if values else None


def _nodes_as_json(nodes: Iterable[NavigationNode]) -> list[Json]:
    """Each node as its title, path, folder and URL, with the nodes below it if there are any."""
    return [
        [node.title, node.path, node.folder, node.url, *([_nodes_as_json(node.children)] if node.children else ())]
        for node in nodes
    ]


def _nodes_of(stored: Json) -> tuple[NavigationNode, ...]:
    """The nodes that `_nodes_as_json` gave.

    Raises:
        ValueError, TypeError: the value has another form.
    """
    nodes: list[NavigationNode] = []
    for title, path, folder, url, *below in map(list_of, list_of(stored)):
        children = _nodes_of(below[0]) if below else ()
        inside = None if folder is None else text_of(folder)
        nodes.append(NavigationNode(text_of(title), text_of(path), children, inside, text_of(url)))
    return tuple(nodes)


class _SiteReader:
    """Reads the files that declare a site, and notices their changes.

    Args:
        store: The files.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stats: dict[str, FileStat | None] = {SITE_FILE: self._stat(SITE_FILE)}

    def read(self, path: str) -> str:
        """The text of a file, hidden or not; "" if there is none or it is too large."""
        status = self._stat(path)
        # The index notices other files that are added.
        if status is not None or path.rpartition("/")[2].startswith("."):
            self._stats[path] = status
        if status is None or status.size > MAX_CONFIG_BYTES:
            return ""
        try:
            return self._store.read(Address(path)).decode("utf-8-sig", "replace")
        except KnowledgeError:
            return ""

    def _stat(self, path: str) -> FileStat | None:
        try:
            return self._store.stat(Address(path))
        except KnowledgeError:
            return None

    def is_current(self) -> bool:
        """Whether the files are as they were read."""
        return all(self._stat(path) == status for path, status in self._stats.items())


class Sites:
    """Caches the site of each collection until a document or a file that declares the site changes."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._cached: dict[str, tuple[object, _SiteReader, Site]] = {}
        self._known: dict[str, KnownNavigation] = {}
        self._checked: dict[str, float] = {}

    def of(self, collection: Collection) -> Site:
        """The current site of a collection."""
        identity = collection.store.identity
        state = (collection.index.generation, collection.index.names_version)
        with self._lock:
            cached = self._cached.get(identity)
            if cached is not None and cached[0] == state and self._is_current(identity, cached[1]):
                return cached[2]
            reader = _SiteReader(collection.store)
            site, self._known[identity] = _site(
                collection, reader, collection.index.records(), self._known.get(identity)
            )
            self._cached[identity] = (state, reader, site)
            self._checked[identity] = time.monotonic()
            return site

    def _is_current(self, identity: str, reader: _SiteReader) -> bool:
        now = time.monotonic()
        if now - self._checked[identity] < CHECK_SECONDS:
            return True
        self._checked[identity] = now
        return reader.is_current()


SITES = Sites()
"""The site of every open collection."""


def site_with(
    collection: Collection, records: Iterable[Record], earlier: KnownNavigation | None = None
) -> tuple[Site, KnownNavigation]:
    """The site that a collection would have with only some of its documents, and its navigation for the next call.

    Args:
        collection: The collection.
        records: The records of these documents.
        earlier: The navigation of an earlier call; None for none.
    """
    return _site(collection, _SiteReader(collection.store), records, earlier)


def _navigation(
    collection: Collection,
    read: Callable[[str], str],
    records: Mapping[str, Record],
    settings: SiteSettings,
    earlier: KnownNavigation | None,
) -> KnownNavigation:
    """The navigation, built only if something that it depends on is not as for the earlier one."""
    trees = collection.index.surroundings().sites
    about: list[object] = [build(), trees, settings.navigation, collection.shown_name("a-b"), collection.name]
    facts = _digest_of(repr([*about, *map(navigation_facts, records.values())]))
    if (
        earlier
        and earlier.facts == facts
        and all(_digest_of(read(path)) == digest for path, digest in earlier.texts.items())
    ):
        return earlier
    texts: dict[str, str] = {}

    def noted(path: str) -> str:
        text = read(path)
        texts[path] = _digest_of(text)
        return text

    navigation = build_navigation(records, trees, noted, settings.navigation, collection.shown_name)
    return KnownNavigation(navigation, facts, texts)


def _digest_of(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()


def _site(
    collection: Collection, reader: _SiteReader, documents: Iterable[Record], earlier: KnownNavigation | None
) -> tuple[Site, KnownNavigation]:
    settings = declared_site(collection.store)
    records = {record.address.path: record for record in documents}
    trees = collection.index.surroundings().sites
    built_navigation = _navigation(collection, reader.read, records, settings, earlier)
    navigation = built_navigation.navigation
    start = _start(collection, settings.start, navigation, records, trees)
    title = settings.title or next(filter(None, (site_title(tree, reader.read(tree.config)) for tree in trees)), "")
    if not title and start and fold(records[start].title) not in _GENERAL_TITLES:
        title = records[start].title
    return Site(settings, navigation, start, title or collection.name), built_navigation


def _start(
    collection: Collection,
    name: str,
    navigation: Navigation,
    records: Mapping[str, Record],
    trees: Iterable[SiteTree],
) -> str:
    """The path of the start page: the declared one, else one with a usual name at the top or in a docs tree."""
    named = collection.index.find(name) if name else None
    if named is not None and named.address.path in records:
        return named.address.path
    first = navigation.first if navigation.declared else ""
    if fold(first.rpartition("/")[2].rpartition(".")[0]) in START_NAMES:
        return first  # The start page of a docs tree goes before the README of its repository.
    by_folder: dict[str, dict[str, str]] = {}
    for path in sorted(records, reverse=True):
        folder, _, file = path.rpartition("/")
        by_folder.setdefault(folder, {})[fold(file.rpartition(".")[0])] = path
    folders = ["", *(mount.folder for tree in trees if not first for mount in tree.mounts)]
    names = ((by_folder.get(folder, {}), start_name) for folder in folders for start_name in START_NAMES)
    return next((pages[start_name] for pages, start_name in names if start_name in pages), first)


def site_findings(collection: Collection) -> Iterator[Finding]:
    """The errors in the base's own file about its site, and in the names of files and pages there."""
    settings = declared_site(collection.store)
    yield from settings.findings
    yield from _file_findings(collection, settings)
    if settings.start and collection.index.find(settings.start) is None:
        yield _finding("start", f"`start` names {shortened(settings.start)}, which is not a page. Correct the name.")
    yield from _navigation_findings(collection, settings)
    yield from _exclusion_findings(collection, settings)


def _file_findings(collection: Collection, settings: SiteSettings) -> Iterator[Finding]:
    """The problems of the pictures and the style sheet that a base names."""
    rules = (
        ("logo", MAX_IMAGE_BYTES, _script_in),
        ("favicon", MAX_IMAGE_BYTES, _script_in),
        ("style", MAX_STYLE_BYTES, _foreign_in),
    )
    for key, limit, unsafe in rules:
        path = str(getattr(settings, key))
        problem = _file_problem(collection.store, path, limit, unsafe) if path else ""
        if problem:
            yield _finding(key, f"`{key}` {problem}")


def _file_problem(store: Store, path: str, limit: int, unsafe: Callable[[str, bytes], str]) -> str:
    """The problem of a named file, and the remedy; "" for nothing."""
    status = store.stat(Address(path))
    if status is None:
        return f"names {shortened(path)}, which is not a file. Correct the path."
    if status.size > limit:
        return f"is larger than {limit:,} bytes, so it is not shown. Make it smaller."
    try:
        problem = unsafe(path, store.read(Address(path)))
    except KnowledgeError:  # it is gone since, or cannot be read
        return ""
    return problem and f"names {shortened(path)}, which {problem}"


def _script_in(path: str, content: bytes) -> str:
    """The act of a picture that no browser allows, and the remedy; "" for nothing."""
    if not path.lower().endswith(".svg") or is_plain_svg(content):
        return ""
    return "contains a script, or what can run one. It does not run. Export a plain SVG, or a PNG."


def without_foreign(style: str) -> str:
    """A style sheet with an empty address in place of each of another server, which browsers load nothing from."""
    return _FOREIGN.sub(lambda match: match[0].removesuffix(match[1]), style)


def _foreign_in(_: str, content: bytes) -> str:
    """The rule of a style sheet that loads from another server, and the remedy; "" for nothing."""
    foreign = _FOREIGN.search(_COMMENT.sub("", content.decode("utf-8-sig", "replace")))
    return f"loads {shortened(foreign[1])} from another server, which is left out. Copy it here." if foreign else ""


def _navigation_findings(collection: Collection, settings: SiteSettings) -> Iterator[Finding]:
    """Entries of a declared navigation that name no page, and pages that several entries name."""
    targets = list(entry_targets(settings.navigation))
    pages, folders = _names_of_pages(collection) if targets else (set[str](), set[str]())
    for target in targets:
        if target.strip("/") not in pages | folders and collection.index.find(target) is None:
            yield _finding(
                "navigation", f"`navigation` names {shortened(target)}, which is not a page. Correct the path."
            )
    for path in _repeated(collection, [target for target in targets if target.strip("/") not in folders]):
        yield _finding(
            "navigation",
            f"`navigation` names the page {shortened(path)} more than once. Previous and next go by the first place; "
            "remove the others.",
        )


def _exclusion_findings(collection: Collection, settings: SiteSettings) -> Iterator[Finding]:
    """Entries of `publish: exclude` that exclude nothing: a misspelt one would publish what it should keep."""
    pages, folders = _names_of_pages(collection) if settings.publish.exclude else (set[str](), set[str]())
    names = {fold(name) for name in pages | folders}
    for element in settings.publish.exclude:
        if fold(element) not in names and not collection.store.files(element) and not collection.store.folders(element):
            yield _finding(
                "publish.exclude",
                f"`publish: exclude` names {shortened(element)}, which is not a page or folder here. Correct the path, "
                "or remove it.",
            )


def _names_of_pages(collection: Collection) -> tuple[set[str], set[str]]:
    """The paths of all pages, with and without suffix, and those of their folders."""
    paths = [address.path for address in collection.index.revisions()]
    pages = {*paths, *(path.removesuffix(suffix) for path in paths for suffix in document_suffixes())}
    return pages, {parent for path in paths for parent in _parents(path)}


def _repeated(collection: Collection, targets: Iterable[str]) -> list[str]:
    """The paths of the pages that several entries of a navigation name."""
    records = filter(None, map(collection.index.find, targets))
    counts = Counter(record.address.path for record in records)
    return [path for path, count in counts.items() if count > 1]


def _parents(path: str) -> Iterator[str]:
    folder = path.rpartition("/")[0]
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]


def _finding(key: str, message: str) -> Finding:
    return finding_of("bad_declaration", f"{SITE_FILE}: {message}", key)
