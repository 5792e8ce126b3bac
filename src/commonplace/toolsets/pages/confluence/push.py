"""Edits in a space's folder, and their way to the site: one request that writes for each page.

Bodies are compared in a normal form: Confluence rewrites what it stores, and means the same.
"""

from __future__ import annotations

import difflib
import html
import posixpath
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from commonplace.domain.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
)
from commonplace.domain.frontmatter import set_fields
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.records import iso_timestamp
from commonplace.domain.slugs import slug
from commonplace.toolsets.pages.confluence.api import Api
from commonplace.toolsets.pages.confluence.elements import ATTRIBUTE, MARKUP
from commonplace.toolsets.pages.confluence.from_markdown import EditError
from commonplace.toolsets.pages.confluence.page_files import PageFile, read_page_file, write_page_file
from commonplace.toolsets.pages.confluence.pull import REMOTE_SUFFIX, Say
from commonplace.toolsets.pages.confluence.remote import RemotePage
from commonplace.toolsets.pages.confluence.repository import FolderChange
from commonplace.toolsets.pages.confluence.to_storage import merge_edit, view_of
from commonplace.toolsets.pages.confluence.tree import attachment_folder, file_name
from commonplace.toolsets.pages.confluence.workspace import SyncedPage, Tree, Workspace
from commonplace.toolsets.pages.rules.page import as_one_line

_GIVEN_BY_SITE = frozenset(
    {"ac:macro-id", "ac:local-id", "local-id", "ac:schema-version", "data-layout", "ri:version-at-save"}
)
"""Attributes that the site adds or renews when it stores a body."""


def normal_form(body: bytes) -> str:
    """A body with sorted attributes, resolved characters and plain white space, without what the site adds itself."""
    pieces: list[str] = []
    at = 0
    for match in MARKUP.finditer(body):
        pieces.append(_text(body[at : match.start()].decode("utf-8", "replace")))
        at = match.end()
        if match[2] is not None:
            attributes = {
                name: html.unescape(double or single)
                for name, double, single in ATTRIBUTE.findall(match[3].decode("utf-8", "replace"))
                if name not in _GIVEN_BY_SITE
            }
            shown = "".join(f" {name}={value!r}" for name, value in sorted(attributes.items()))
            pieces.append(f"<{match[2].decode()}{shown}>" + (f"</{match[2].decode()}>" if match[4] else ""))
        elif match[1] is not None:
            pieces.append(f"</{match[1].decode()}>")
        elif match[0].startswith(b"<![CDATA["):
            pieces.append(match[0][9:-3].decode("utf-8", "replace"))
    pieces.append(_text(body[at:].decode("utf-8", "replace")))
    shown = "".join(pieces)
    return re.sub(r"\s+(?=<)|(?<=>)\s+", " ", shown).strip()


def _text(markup: str) -> str:
    return re.sub(r"[ \t\r\n]+", " ", html.unescape(markup))


MESSAGE = "Edited as Markdown"
"""Message of the versions that a push writes."""


@dataclass(frozen=True, slots=True)
class LocalChange:
    """A page that differs from what the last sync wrote."""

    path: str
    file: PageFile
    page: SyncedPage | None
    """The page as of the last sync; None for a page that the site does not have yet."""
    title: str = ""
    """The old title if it changed."""
    body: bool = False
    """Whether the text changed."""
    parent: str | None = None
    """Id of the new parent if the file moved."""
    added_labels: tuple[str, ...] = ()
    removed_labels: tuple[str, ...] = ()
    conflict: bool = False
    """Whether the site changed the page, too, and the last pull could not merge."""

    @property
    def summary(self) -> str:
        """The changed parts, in one line."""
        if self.page is None:
            return "new page"
        parts = [
            "conflict" if self.conflict else "",
            "text" if self.body else "",
            f"title (was {self.title})" if self.title else "",
            "place" if self.parent is not None else "",
            *(f"+{name}" for name in self.added_labels),
            *(f"-{name}" for name in self.removed_labels),
        ]
        return ", ".join(part for part in parts if part)

    def target(self, page: SyncedPage) -> tuple[str, str]:
        """Title and parent that the page is to have."""
        return self.file.title if self.title else page.title, page.parent if self.parent is None else self.parent


@dataclass(slots=True)
class SpaceStatus:
    """Differences from the last sync."""

    changes: list[LocalChange] = field(default_factory=list[LocalChange])
    missing: list[str] = field(default_factory=list[str])
    """Paths of the pages whose file is gone; a push deletes nothing."""
    restricted: list[str] = field(default_factory=list[str])
    """Paths of the pages that the site no longer shows."""
    repeated: list[str] = field(default_factory=list[str])
    """Paths of the files with the id of a page that lies elsewhere."""

    @property
    def values(self) -> JsonObject:
        """The differences as JSON."""
        changes: list[Json] = [
            {"path": change.path, "page_id": change.file.id or None, "change": change.summary}
            for change in self.changes
        ]
        return {
            "changes": changes,
            "missing": [*self.missing],
            "restricted": [*self.restricted],
            "repeated": [*self.repeated],
        }


@dataclass(slots=True)
class PushReport:
    """Outcome of a push, by path."""

    pushed: list[str] = field(default_factory=list[str])
    unchanged: list[str] = field(default_factory=list[str])
    refused: dict[str, KnowledgeError] = field(default_factory=dict[str, KnowledgeError])
    requests: int = 0
    dry_run: bool = False

    @property
    def values(self) -> JsonObject:
        """The outcome as JSON."""
        refused: list[Json] = [{"path": path, "error": error.advice} for path, error in self.refused.items()]
        return {"pushed": [*self.pushed], "refused": refused, "dryRun": self.dry_run}


@dataclass(frozen=True, slots=True)
class PushOptions:
    """Permissions of a push."""

    dry_run: bool = False
    allow_loss: bool = False
    message: str = MESSAGE


def status(workspace: Workspace) -> SpaceStatus:
    """The edits since the last sync."""
    result = SpaceStatus()
    tree, path_by_id = workspace.tree, dict[str, str]()
    for path, file in workspace.files():
        page = workspace.state.pages.get(file.id)
        if file.is_new:
            result.changes.append(LocalChange(path, file, None))
        elif page is not None and page.id in path_by_id and tree.paths[page.id] != path:
            result.repeated.append(path)
        elif page is not None:
            path_by_id[page.id] = path
            change = _change_of(workspace, path, file, page)
            if change is not None:
                result.changes.append(change)
    pages = workspace.state.pages
    result.missing = sorted(map(tree.paths.__getitem__, pages.keys() - path_by_id))
    result.restricted = sorted(tree.paths[page.id] for page in pages.values() if page.status == "restricted")
    return result


def change_at(workspace: Workspace, path: str, raw: bytes) -> LocalChange | None:
    """The edit that these bytes of a page are; None if they are what the last sync wrote.

    Args:
        workspace: The space.
        path: The page's path.
        raw: The page's bytes, in the folder or as proposed.
    """
    file = read_page_file(raw)
    if file.is_new:
        return LocalChange(path, file, None)
    page = workspace.state.pages.get(file.id)
    return None if page is None else _change_of(workspace, path, file, page)


def _change_of(workspace: Workspace, path: str, file: PageFile, page: SyncedPage) -> LocalChange | None:
    moved = path != workspace.tree.paths[page.id]
    if not moved and workspace.repository.digest(file.raw) == page.file:
        return None
    based = workspace.base_view(page, file.version or page.version)
    base = based[1].markdown if based is not None else ""
    parent = _parent_of(workspace, path) if moved else page.parent
    labels = set(page.labels)
    change = LocalChange(
        path=path,
        file=file,
        page=page,
        title=page.title if file.title != as_one_line(page.title) else "",
        body=file.body.strip() != base.strip(),
        parent=parent if parent != page.parent else None,
        added_labels=tuple(sorted(file.labels - labels)),
        removed_labels=tuple(sorted(labels - file.labels)),
        conflict=(file.version or page.version) != page.version,
    )
    return change if change.summary else None


def _parent_of(workspace: Workspace, path: str) -> str:
    """Id of the page in whose folder a file lies; the home page at the top."""
    folder = posixpath.dirname(path)
    if posixpath.basename(path) in {"README.md", "index.md"}:
        folder = posixpath.dirname(folder)
    while folder:
        for name in ("README.md", "index.md"):
            raw = workspace.repository.read(f"{folder}/{name}")
            if raw is not None and (page := read_page_file(raw).id):
                return page
        parent = next((page for page, place in workspace.tree.paths.items() if place == f"{folder}.md"), None)
        if parent is not None:
            return parent
        folder = posixpath.dirname(folder)
    return workspace.state.home


def diff(workspace: Workspace, change: LocalChange) -> str:
    """The change of a page's text as a unified diff."""
    base = ""
    if change.page is not None:
        based = workspace.base_view(change.page, change.file.version or change.page.version)
        base = f"# {change.page.title}\n\n{based[1].markdown}" if based is not None else ""
    new = f"# {change.file.title}\n\n{change.file.body}"
    lines = difflib.unified_diff(
        base.rstrip("\n").split("\n"), new.rstrip("\n").split("\n"), f"a/{change.path}", f"b/{change.path}", lineterm=""
    )
    return "\n".join(lines)


def edited_body(
    workspace: Workspace, change: LocalChange, page: SyncedPage, *, allow_loss: bool = False
) -> tuple[bytes, bytes]:
    """The body of a page before and after an edit.

    Raises:
        ConflictError: the version that was edited was never fetched.
        EditError, InvalidInputError: the edit cannot be stored.
    """
    version = change.file.version or page.version
    based = workspace.base_view(page, version)
    if based is None:
        raise ConflictError(f"Version {version} of the page was never pulled.", kind="page", hint="Run 'cn pull'.")
    view = based[1]
    links = workspace.tree.links(workspace.tree.paths[page.id])
    return view.body, merge_edit(view, change.file.body, links, allow_loss=allow_loss) if change.body else view.body


def push(api: Api, workspace: Workspace, changes: Sequence[LocalChange], options: PushOptions, say: Say) -> PushReport:
    """Write changes to the site. A page that fails does not stop the others; a killed push goes on where it was.

    Raises:
        KnowledgeError: the site cannot be reached, or rejects the login.
    """
    pushed = _Push(api, workspace, options, say)
    try:
        top_down = sorted(changes, key=lambda change: (change.path.count("/"), not change.path.endswith("README.md")))
        for left, change in zip(range(len(changes) - 1, -1, -1), top_down, strict=True):
            pushed.page(change, left)
    finally:
        pushed.finish()
    pushed.report.requests = api.requests
    return pushed.report


class _Push:
    """One push of several pages."""

    def __init__(self, api: Api, workspace: Workspace, options: PushOptions, say: Say) -> None:
        self.api = api
        self.workspace = workspace
        self.options = options
        self.say = say
        self.report = PushReport(dry_run=options.dry_run)
        self.state = workspace.state
        self.old_paths = dict(workspace.tree.paths)
        self.written: dict[str, str] = {}  # path of the file by id of the page

    def page(self, change: LocalChange, left: int) -> None:
        """Push one page, and record the outcome; `left` is the number of changes after it."""
        try:
            done = self._create(change) if change.page is None else self._update(change, change.page)
        except (ConflictError, InvalidInputError, NotFoundError) as error:
            self.report.refused[change.path] = placed(error, change)
            return
        (self.report.pushed if done else self.report.unchanged).append(change.path)
        if done:
            rest = f" ({left} left)" if left else ""
            self.say(f"{'would push' if self.options.dry_run else 'pushed'} {change.path}: {change.summary}{rest}")

    def _update(self, change: LocalChange, page: SyncedPage) -> bool:
        version = change.file.version or page.version
        base, body = edited_body(self.workspace, change, page, allow_loss=self.options.allow_loss)
        title, parent = change.target(page)
        writes = body != base or title != page.title or parent != page.parent
        remote = self._current(page.id)
        is_done = not writes or _is_done(remote, version, title, body)
        if not is_done:
            self._require_version(change, remote, version)
        if self.options.dry_run:
            return writes or bool(change.added_labels + change.removed_labels)
        if not is_done:
            remote = self._put(replace(remote, title=title, parent=parent, version=version + 1), body)
        self._labels(change, page.id)
        self._record(change.path, remote, change.file.labels)
        return True

    def _current(self, identifier: str) -> RemotePage:
        remote = self.api.page(identifier)
        if remote.status != "current":
            raise NotFoundError("The page is deleted on the site.", kind="page", hint="Run 'cn pull'.")
        return remote

    def _require_version(self, change: LocalChange, remote: RemotePage, edited: int) -> None:
        if remote.version == edited:
            return
        has_remote = self.workspace.repository.exists(change.path + REMOTE_SUFFIX)
        raise ConflictError(
            f"The site has version {remote.version} of the page, and your edit is of version {edited}.",
            kind="page",
            hint=both_changed(change.path, remote.version) if has_remote else "Run 'cn pull', then push again.",
        )

    def _put(self, page: RemotePage, body: bytes) -> RemotePage:
        stored = self.api.update(page, body, message=self.options.message)
        return stored if stored.body is not None else self.api.page(page.id)

    def _create(self, change: LocalChange) -> bool:
        parent = _parent_of(self.workspace, change.path)
        title = change.file.title
        if not title:
            raise InvalidInputError("The page has no title: write it as `# Title`.", kind="page")
        links = self.workspace.tree.links(change.path)
        body = merge_edit(view_of(b"", links), change.file.body, links)
        if self.options.dry_run:
            return True
        remote = self._begun(change.path, title, body)
        if remote is None:
            self.state.creating[change.path] = title
            self.workspace.repository.save(self.state.values, [])
            remote = self.api.create(self.state.space, title, parent, body)
        if remote.body is None:
            remote = self.api.page(remote.id)
        labels = sorted(change.file.labels)
        if labels:
            self.api.add_labels(remote.id, labels)
        self.state.creating.pop(change.path, None)
        self._record(change.path, remote, set(labels))
        return True

    def _begun(self, path: str, title: str, body: bytes) -> RemotePage | None:
        """The page that a killed push created from this file; never a page that only has the same title."""
        recorded = self._page_at(path)
        if recorded is not None:
            remote = self.api.page(recorded.id)
            if remote.title == title and _has_body(remote, body):
                return remote
            raise ConflictError(
                f"The page {recorded.id} lies at this path.", kind="page", hint=f"Write page_id: {recorded.id} into it."
            )
        if self.state.creating.get(path) != title:
            return None
        remote = self.api.find_title(self.state.space, title)
        if remote is None or remote.id in self.state.pages:
            return None
        return remote if remote.version == 1 and _has_body(remote, body) else None

    def _page_at(self, path: str) -> SyncedPage | None:
        return next((page for page in self.state.pages.values() if page.path == path), None)

    def _labels(self, change: LocalChange, page: str) -> None:
        if change.added_labels:
            self.api.add_labels(page, change.added_labels)
        for name in change.removed_labels:
            self.api.remove_label(page, name)

    def _record(self, path: str, remote: RemotePage, labels: set[str]) -> None:
        """Keep what the site has now, before the next page is pushed."""
        before_push = self.state.pages.get(remote.id) or SyncedPage(id=remote.id, title=remote.title, version=0)
        if before_push.title != remote.title:
            self.state.renamed[before_push.title] = remote.id
        self.state.pages[remote.id] = replace(
            before_push,
            title=remote.title,
            version=remote.version,
            parent=remote.parent,
            created=remote.created or before_push.created,
            updated=remote.updated,
            author=remote.author or before_push.author,
            modifier=remote.modifier,
            url=remote.url or before_push.url,
            labels=tuple(sorted(labels)),
            path=path,
            status="current",
        )
        self.workspace.repository.save(self.state.values, [(remote.id, remote.version, remote.body or b"")])
        self.written[remote.id] = path

    def finish(self) -> None:
        """Write the files of the pushed pages as the site has them now, in one commit."""
        if not self.options.dry_run:
            self._remove_settled()
        if not self.written:
            return
        synced = iso_timestamp(int(time.time()))
        tree = Tree(self.state)
        files: dict[str, str] = {}
        seen: dict[str, str] = {}
        repository = self.workspace.repository
        for identifier, path in self.written.items():
            page = self.state.pages[identifier]
            view = tree.view(page, repository.body(identifier, page.version) or b"")
            clean = tree.file(page, view, synced)
            self.state.pages[identifier] = replace(page, file=repository.digest(clean))
            seen[path] = repository.digest(repository.read(path))
            files[path] = repository.store(clean)
            old = self.old_paths.get(identifier, path)
            if old != path:
                files.setdefault(old, "")
            if repository.exists(path + REMOTE_SUFFIX):
                files[path + REMOTE_SUFFIX] = ""
        files[".confluence.json"] = repository.store(self.workspace.space_file(tree, synced))
        titles = ", ".join(self.state.pages[page].title for page in self.written)
        message = f"Push {self.state.key}: {titles}"[:400] + "\n"
        committed = {path: digest for path, digest in files.items() if not path.endswith(REMOTE_SUFFIX)}
        repository.apply(FolderChange(files, committed, message, seen), self.state.values, [])

    def _remove_settled(self) -> None:
        """Remove the site's text beside pages that agree with it by now."""
        repository = self.workspace.repository
        for identifier, path in self.old_paths.items():
            if not repository.exists(path + REMOTE_SUFFIX):
                continue
            if repository.digest(repository.read(path)) == self.state.pages[identifier].file:
                repository.remove(path + REMOTE_SUFFIX)


def both_changed(path: str, version: int) -> str:
    """The way out of a conflict that a pull could not merge."""
    return f"The site's text is in {path}{REMOTE_SUFFIX}: bring it into the page, and set `version: {version}` there."


def _is_done(remote: RemotePage, version: int, title: str, body: bytes) -> bool:
    """Whether the site has this edit already, because a push was killed before it could record it."""
    return remote.version == version + 1 and remote.title == title and _has_body(remote, body)


def _has_body(remote: RemotePage, body: bytes) -> bool:
    """Whether the site stores this body, in whatever spelling."""
    return normal_form(remote.body or b"") == normal_form(body)


def placed(error: KnowledgeError, change: LocalChange) -> KnowledgeError:
    """An error of an edit with the line of the file instead of the body's."""
    if not isinstance(error, EditError):
        return error
    reason = str(error).partition(": ")[2]
    return EditError(error.line + change.file.body_line, reason)


# Files that people begin or change by a command; a push writes them to the site.


def new_page(workspace: Workspace, title: str, parent: str, *, dry_run: bool = False) -> str:
    """Write the file of a new page, and return its path.

    Args:
        workspace: The space.
        title: Title of the page.
        parent: Path or id of the page above; "" for the home page.
        dry_run: Write nothing.

    Raises:
        InvalidInputError: the title makes no name.
        AlreadyExistsError: the file is there.
    """
    name = slug(title)
    above = workspace.path_of(parent, workspace.repository.folder) if parent else "README.md"
    if above is None:
        raise NotFoundError(f"There is no page {parent!r}.", kind="page", hint="Name it by its path or id.")
    folder = posixpath.dirname(above) if posixpath.basename(above) == "README.md" else above.removesuffix(".md")
    path = posixpath.join(folder, f"{name}.md")
    if workspace.repository.exists(path):
        raise AlreadyExistsError(f"{path} exists already.", kind="page")
    if not dry_run:
        workspace.repository.write(path, write_page_file({"title": title}, title, ""))
    return path


def set_labels(
    workspace: Workspace, path: str, added: Sequence[str], removed: Sequence[str], *, dry_run: bool = False
) -> list[str]:
    """Change the labels in a page's file, and return them all."""
    raw = workspace.repository.read(path) or b""
    labels = sorted((read_page_file(raw).labels | set(added)) - set(removed))
    if not dry_run:
        workspace.repository.write(path, set_fields(raw, {"labels": list[Json](labels) or None}))
    return labels


def attach(api: Api, workspace: Workspace, path: str, files: Sequence[Path], *, dry_run: bool) -> list[str]:
    """Add files to a page on the site and to the folder; returns the link to each, as the page writes it."""
    page = workspace.state.pages.get(read_page_file(workspace.repository.read(path) or b"").id)
    if page is None:
        raise NotFoundError(f"{path} is not on the site yet.", kind="page", hint="Run 'cn push'.")
    links = workspace.tree.links(path)
    shown: list[str] = []
    for file in files:
        try:
            content = file.read_bytes()
        except OSError as error:
            raise NotFoundError(f"{file.name} cannot be read: {error.strerror}.", kind="file") from None
        if not dry_run:
            api.upload(page.id, file.name, content)
            workspace.repository.write(f"{attachment_folder(path)}/{file_name(file.name)}", content)
        shown.append(f"[{file.name}]({links.attachment(file.name)})")
    return shown
