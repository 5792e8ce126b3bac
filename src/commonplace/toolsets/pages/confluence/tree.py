"""Places of the pages of a space in its folder: a function of their titles and parents alone."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from commonplace.domain.addresses import fold
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.slugs import slug
from commonplace.toolsets.pages.rules.page import EXCLUDED_FOLDERS

ATTACHMENTS = "attachments"
"""Folder of the files of all pages, one subfolder for each page."""
COMMENTS_SUFFIX = ".comments.md"
"""Ending of the side file with a page's comments; no slug has a dot."""
MAX_NAME_BYTES = 80
"""Longest name of a page's file or folder in bytes of UTF-8, so that deep trees stay within the limits of a system."""
MAX_TREE_DEPTH = 24
"""Depth down to which folders follow the tree; deeper pages lie in the folder of that depth."""
_RESERVED = frozenset({"readme", "index", ATTACHMENTS, *EXCLUDED_FOLDERS})


@dataclass(frozen=True, slots=True)
class Node:
    """A page as far as its place goes."""

    id: str
    title: str
    parent: str


def page_paths(nodes: Iterable[Node], home: str) -> dict[str, str]:
    """Relative path by page id: `README.md` for the home page, `slug/README.md` for parents, `slug.md` for leaves.

    Of pages whose names would be equal up to case, the one with the lowest id has the plain name. A page whose parents
    form a circle, or whose parent is not there, lies at the top.
    """
    by_id = {node.id: node for node in nodes}
    children = _children(by_id)
    tops = children.get("", [])
    paths: dict[str, str] = {}
    if home in {node.id for node in tops}:
        paths[home] = "README.md"
        tops.remove(by_id[home])
        tops = tops + children.get(home, [])
    queue = [("", tops, 1)]
    names: dict[str, set[str]] = {}
    while queue:
        folder, nodes_here, depth = queue.pop(0)
        taken = names.setdefault(folder, set())
        for node in sorted(nodes_here, key=_age):
            name = _name(node, taken)
            below = children.get(node.id, [])
            place = posixpath.join(folder, name)
            paths[node.id] = f"{place}/README.md" if below else f"{place}.md"
            if below:
                queue.append((place if depth < MAX_TREE_DEPTH else folder, below, depth + 1))
    return paths


def _age(node: Node) -> tuple[int, str]:
    """The order in which the site gave the ids."""
    return len(node.id), node.id


def _children(by_id: Mapping[str, Node]) -> dict[str, list[Node]]:
    """The nodes below each node, by its id; "" for those at the top."""
    children: dict[str, list[Node]] = {}
    for node in by_id.values():
        parent = node.parent if node.parent in by_id and not _in_circle(node, by_id) else ""
        children.setdefault(parent, []).append(node)
    return children


def _in_circle(node: Node, by_id: Mapping[str, Node]) -> bool:
    visited: set[str] = set()
    current: Node | None = node
    while current is not None:
        if current.id in visited:
            return current.id == node.id or node.id in visited
        visited.add(current.id)
        current = by_id.get(current.parent)
    return False


def _name(node: Node, taken: set[str]) -> str:
    try:
        name = slug(node.title)
    except InvalidInputError:
        name = f"page-{node.id}"
    name = name.encode()[:MAX_NAME_BYTES].decode("utf-8", "ignore").strip("-") or f"page-{node.id}"
    if fold(name) in taken or fold(name) in _RESERVED:
        name = f"{name}-{node.id}"
    taken.add(fold(name))
    return name


def attachment_folder(page_path: str) -> str:
    """Folder of a page's files, relative to the space."""
    stem = page_path.removesuffix("/README.md").removesuffix(".md") or "README"
    return f"{ATTACHMENTS}/{stem}"


def file_name(title: str) -> str:
    """The name of an attachment's file: its title without what a file name cannot have."""
    shown = "".join("_" if character in '/\\\0:*?"<>|' or character < " " else character for character in title)
    shown = shown.lstrip(".").strip() or "file"
    stem, dot, ending = shown.rpartition(".")
    while len(shown.encode()) > 200:  # noqa: PLR2004 - bytes, below the limit of every system
        stem, dot, ending = (stem[:-1], dot, ending) if len(stem) > 1 else ("", "", ending[:150])
        shown = f"{stem}{dot}{ending}"
    return shown


def attachment_names(titles: Iterable[str]) -> dict[str, str]:
    """Name of the file by title of the attachment; of names that are equal up to case, later ones are numbered."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for title in titles:
        plain = name = file_name(title)
        number = 1
        while fold(name) in taken:
            number += 1
            stem, dot, ending = plain.rpartition(".")
            name = f"{stem}-{number}{dot}{ending}" if stem else f"{ending}-{number}"
        taken.add(fold(name))
        names[title] = name
    return names


def comments_path(page_path: str) -> str:
    """Path of the side file with the comments of a page."""
    return page_path.removesuffix(".md") + COMMENTS_SUFFIX


@dataclass(frozen=True, slots=True)
class FolderLinks:
    """The links of one page, by the tree in which it lies.

    Args:
        path: Path of the page.
        paths: Path by page id.
        ids: Id by title, folded.
        space: Key of the space.
        people: Name by account.
    """

    path: str
    paths: Mapping[str, str]
    ids: Mapping[str, str]
    space: str
    people: Mapping[str, str] = field(default_factory=dict[str, str])
    page_prefix: str = ""
    """Address of a page of the site before its id."""
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """Name of the file by title of the page's attachments."""

    def page(self, space: str, title: str) -> str | None:
        """Relative path of the page with a title; None if it is not in the folder."""
        if space and space != self.space:
            return None
        identifier = self.ids.get(title)
        return None if identifier is None else self._relative(self.paths.get(identifier))

    def page_with_id(self, identifier: str) -> str | None:
        """Relative path of the page with an id; None if it is not in the folder."""
        return self._relative(self.paths.get(identifier))

    def attachment(self, name: str) -> str:
        """Relative path of an attachment of the page."""
        return self._relative(f"{attachment_folder(self.path)}/{self.files.get(name) or file_name(name)}") or name

    def person(self, account: str) -> str:
        """Name of a person; the account if it is unknown."""
        return self.people.get(account) or account

    def page_url(self, path: str) -> str | None:
        """URL by id of the page at a relative path; None if no page lies there."""
        whole = self._absolute(path)
        identifier = next((page for page, place in self.paths.items() if place == whole), None)
        return f"{self.page_prefix}{identifier}" if identifier else None

    def attachment_name(self, path: str) -> str | None:
        """Name of the attachment at a relative path; None if the path is not one of an attachment of this page."""
        folder, _, name = self._absolute(path).rpartition("/")
        if folder != attachment_folder(self.path) or not name:
            return None
        return next((title for title, file in self.files.items() if file == name), name)

    def _relative(self, path: str | None) -> str | None:
        if path is None:
            return None
        return quote(posixpath.relpath(path, posixpath.dirname(self.path) or "."), safe="/~!$'()*,;=:@+-._")

    def _absolute(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(posixpath.dirname(self.path), unquote(path)))


def moved_paths(before: Mapping[str, str], after: Mapping[str, str]) -> Collection[str]:
    """Ids of the pages whose path changed, came or went."""
    return {page for page in {*before, *after} if before.get(page) != after.get(page)}
