"""A cloned space: its state, its files, and each page as the site had it at the last sync."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from commonplace.domain.errors import ConfigError, NotFoundError
from commonplace.domain.json import Json, JsonObject
from commonplace.toolsets.pages.confluence.page_files import PageFile, read_page_file, write_page_file
from commonplace.toolsets.pages.confluence.remote import Product
from commonplace.toolsets.pages.confluence.repository import SpaceRepository
from commonplace.toolsets.pages.confluence.to_storage import PageView, view_of
from commonplace.toolsets.pages.confluence.tree import (
    ATTACHMENTS,
    COMMENTS_SUFFIX,
    FolderLinks,
    Node,
    attachment_names,
    page_paths,
)
from commonplace.toolsets.pages.rules.page import EXCLUDED_FOLDERS
from commonplace.toolsets.pages.rules.space import SPACE_FILE, as_object, no_space, read_object


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncedPage:
    """Facts of a page as of the last sync."""

    id: str
    title: str
    version: int
    parent: str = ""
    status: str = "current"
    """current; restricted: the site no longer shows the page; stub: a node without a body."""
    created: str = ""
    updated: str = ""
    author: str = ""
    modifier: str = ""
    url: str = ""
    labels: tuple[str, ...] = ()
    attachments: tuple[tuple[str, str, int], ...] = ()
    """Id, title and version of each file."""
    file: str = ""
    """Digest of the file as the sync wrote it, for a quick comparison."""
    path: str = ""
    kind: str = "page"

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> SyncedPage:
        """The page that `values` describe."""
        files = tuple((identifier, title, version) for identifier, title, version in values["attachments"])
        facts: dict[str, Any] = {**values, "labels": tuple(values["labels"]), "attachments": files}
        return cls(**facts)


@dataclass(slots=True)
class SpaceState:
    """The state of a space after a sync."""

    site: str
    space: str
    key: str
    name: str
    home: str
    product: Product = "cloud"
    pages: dict[str, SyncedPage] = field(default_factory=dict[str, SyncedPage])
    people: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    creating: dict[str, str] = field(default_factory=dict[str, str])
    """Path and title of the pages that a push is about to create, so that a killed push creates none twice."""
    renamed: dict[str, str] = field(default_factory=dict[str, str])
    """Page id by title of the titles that a push has changed since the last pull; bodies may still link to them."""
    comments: bool = False
    """Whether the comments of pages are kept in side files."""
    searched: str = ""
    """Day by the site's clock when the site was last searched for attachments and comments; "" for never."""

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> SpaceState:
        """The state that `values` describe."""
        pages = {page["id"]: SyncedPage.of(page) for page in values["pages"].values()}
        people = {account: (name, email) for account, (name, email) in values["people"].items()}
        facts = {key: values[key] for key in ("site", "space", "key", "name", "home")}
        rest = {key: values[key] for key in ("product", "renamed", "comments", "searched") if key in values}
        return cls(**facts, **rest, pages=pages, people=people, creating=dict(values.get("creating", {})))

    @property
    def values(self) -> dict[str, Any]:
        """The state as JSON."""
        facts = [each.name for each in fields(SyncedPage)]
        pages = {page.id: {name: getattr(page, name) for name in facts} for page in self.pages.values()}
        rest = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "pages"}
        return {**rest, "pages": pages}

    @property
    def web(self) -> str:
        """Address before the paths that the site gives its pages."""
        return f"{self.site}/wiki" if self.product == "cloud" else self.site

    @property
    def page_prefix(self) -> str:
        """Address of a page before its id."""
        if self.product == "cloud":
            return f"{self.web}/spaces/{quote(self.key)}/pages/"
        return f"{self.web}/pages/viewpage.action?pageId="

    def paths(self) -> dict[str, str]:
        """Path by page id."""
        return page_paths((Node(page.id, page.title, page.parent) for page in self.pages.values()), self.home)


class Tree:
    """The pages of a state with their paths, and the links between them.

    Args:
        state: The pages.
        laid_out: Whether the paths follow from titles and parents; else they are where the last sync left the files.
    """

    def __init__(self, state: SpaceState, *, laid_out: bool = False) -> None:
        self.state = state
        left = {} if laid_out else {page.id: page.path for page in state.pages.values() if page.path}
        self.paths = left if len(left) == len(state.pages) else {**state.paths(), **left}
        self.ids = {path: page for page, path in self.paths.items()}
        self._titles = dict(state.renamed)
        for page in sorted(state.pages.values(), key=lambda page: (page.kind != "page", page.id), reverse=True):
            self._titles[page.title] = page.id

    @cached_property
    def _names(self) -> dict[str, str]:
        return {account: name for account, (name, _) in self.state.people.items()}

    def links(self, path: str) -> FolderLinks:
        """The links of the page at a path."""
        page = self.state.pages.get(self.ids.get(path, ""))
        files = attachment_names(title for _, title, _ in page.attachments) if page else {}
        return FolderLinks(path, self.paths, self._titles, self.state.key, self._names, self.state.page_prefix, files)

    def file(self, page: SyncedPage, view: PageView, synced: str) -> bytes:
        """The file of a page as the site has it."""
        return write_page_file(self.fields(page, synced), page.title, view.markdown)

    def view(self, page: SyncedPage, body: bytes) -> PageView:
        """The Markdown of a page."""
        return view_of(body, self.links(self.paths[page.id]))

    def fields(self, page: SyncedPage, synced: str) -> dict[str, Json]:
        """The frontmatter of a page."""
        parent = self.state.pages.get(page.parent)
        author, author_email = self.state.people.get(page.author, ("", ""))
        modifier, modifier_email = self.state.people.get(page.modifier, ("", ""))
        url = f"{self.state.web}{page.url}" if page.url else ""
        return {
            "page_id": page.id,
            "title": page.title,
            "created_at": page.created,
            "updated_at": page.updated,
            "version": page.version,
            "parent_id": page.parent,
            "parent_title": parent.title if parent else "",
            "author_id": page.author,
            "author_name": author,
            "author_email": author_email,
            "last_modifier_id": page.modifier,
            "last_modifier_name": modifier,
            "last_modifier_email": modifier_email,
            "labels": list(page.labels) or None,
            "url": url,
            "synced_at": synced,
        }


class Workspace:
    """An opened space folder.

    Args:
        folder: The folder with the `.confluence.json`.

    Raises:
        NotFoundError: kind "space": the folder is no space.
        ConfigError: the folder was synced by another program, which left no bodies.
    """

    def __init__(self, folder: Path) -> None:
        try:
            self.settings = read_object((folder / SPACE_FILE.path).read_text(), SPACE_FILE.name)
        except (FileNotFoundError, NotADirectoryError):
            raise no_space() from None
        self.repository = SpaceRepository(folder)
        values = self.repository.state()
        if not values:
            raise ConfigError(
                "This folder was synced by another program, which left no bodies to push to.",
                kind="space",
                hint="Run 'cn clone' into a new folder, and bring your edits over.",
            )
        self.state = SpaceState.of(values)

    @cached_property
    def tree(self) -> Tree:
        """The pages as of the last sync."""
        return Tree(self.state)

    def space_file(self, tree: Tree, synced: str) -> bytes:
        """The space file for a tree; keys of other programs stay as they are."""
        return space_file(tree, synced, self.settings)

    def body(self, page: str, version: int) -> bytes | None:
        """The body of a version of a page."""
        return self.repository.body(page, version)

    def files(self) -> Iterator[tuple[str, PageFile]]:
        """Path and content of the Markdown files that are pages or may become pages."""
        for path in sorted(_markdown(self.repository.folder)):
            raw = self.repository.read(path)
            if raw is not None:
                yield path, read_page_file(raw)

    def base_view(self, page: SyncedPage, version: int) -> tuple[SyncedPage, PageView] | None:
        """A page as it was at a version; None if the version was never fetched."""
        body = self.body(page.id, version)
        return None if body is None else (replace(page, version=version), self.tree.view(page, body))

    def path_of(self, name: str, here: Path) -> str | None:
        """Path of the page that a path (from a folder `here`, or from the space) or an id names; None for no page."""
        inside = [here / name, self.repository.folder / name]
        for place in (path.resolve() for path in inside):
            if place.is_relative_to(self.repository.folder) and place.suffix == ".md" and place.is_file():
                return str(place.relative_to(self.repository.folder))
        return next((path for path, file in self.files() if file.id == name), None) if name.isalnum() else None

    def page_url(self, path: str) -> str:
        """URL of the page at a path.

        Raises:
            NotFoundError: the site does not have the page yet.
        """
        page = self.state.pages.get(read_page_file(self.repository.read(path) or b"").id)
        if page is None:
            raise NotFoundError(f"{path} is not on the site yet.", kind="page", hint="Run 'cn push'.")
        return f"{self.state.web}{page.url}" if page.url else f"{self.state.page_prefix}{page.id}"


def space_file(tree: Tree, synced: str, settings: JsonObject) -> bytes:
    """The bytes of the space file."""
    state = tree.state
    values = {
        **settings,
        "site": state.site,
        "spaceKey": state.key,
        "spaceId": state.space,
        "spaceName": state.name,
        "lastSync": synced if settings.get("pages") != tree.paths else settings.get("lastSync", synced),
        "pages": dict(sorted(tree.paths.items())),
    }
    if as_object(settings.get("syncState")):
        values.pop("syncState", None)
    return (json.dumps(values, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "backslashreplace")


def _markdown(folder: Path) -> Iterator[str]:
    for parent, folders, names in os.walk(folder):
        top = Path(parent) == folder
        folders[:] = [
            name for name in folders if _is_of_space(Path(parent, name)) and not (top and name == ATTACHMENTS)
        ]
        for name in names:
            if name.endswith(".md") and not name.startswith(".") and not name.endswith(COMMENTS_SUFFIX):
                yield str(Path(parent, name).relative_to(folder))


def _is_of_space(folder: Path) -> bool:
    if folder.name.startswith(".") or folder.name in EXCLUDED_FOLDERS:
        return False
    return not (folder / SPACE_FILE.path).exists()
