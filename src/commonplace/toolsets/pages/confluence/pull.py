"""Brings a space's folder up to what the site has; edits of people are merged, never overwritten."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from html import escape
from pathlib import Path
from xml.sax.saxutils import quoteattr

from commonplace.domain.changes import plain_message
from commonplace.domain.errors import AlreadyExistsError, ForbiddenError, NotFoundError, PreconditionError
from commonplace.domain.findings import shortened
from commonplace.domain.frontmatter import set_fields
from commonplace.domain.json import JsonObject
from commonplace.domain.records import iso_timestamp
from commonplace.toolsets.pages.confluence.api import Api
from commonplace.toolsets.pages.confluence.belongings import Belongings, accounts_of, comments_file, synced_page
from commonplace.toolsets.pages.confluence.page_files import PageFile, merged, read_page_file, write_page_file
from commonplace.toolsets.pages.confluence.remote import RemotePage, RemoteSpace
from commonplace.toolsets.pages.confluence.repository import FolderChange, SpaceRepository
from commonplace.toolsets.pages.confluence.to_storage import PageView
from commonplace.toolsets.pages.confluence.tree import (
    attachment_folder,
    attachment_names,
    comments_path,
    moved_paths,
)
from commonplace.toolsets.pages.confluence.workspace import SpaceState, SyncedPage, Tree, Workspace, space_file
from commonplace.toolsets.pages.rules.space import SPACE_FILE

MASS_DELETION = 5
"""One in how many pages may be deleted by a pull that nobody confirmed."""
MIN_MASS = 3
"""Number of deletions that are never a mass deletion."""
REMOTE_SUFFIX = ".remote"
"""Ending of the file with the site's state beside a page that both sides changed."""

Say = Callable[[str], None]


@dataclass(slots=True)
class PullReport:
    """Outcome of a pull, by path."""

    new: list[str] = field(default_factory=list[str])
    changed: list[str] = field(default_factory=list[str])
    moved: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    deleted: list[str] = field(default_factory=list[str])
    restricted: list[str] = field(default_factory=list[str])
    merged: list[str] = field(default_factory=list[str])
    conflicts: list[str] = field(default_factory=list[str])
    unreadable: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])
    """Sentences about what was not looked for, and why."""
    requests: int = 0

    @property
    def summary(self) -> str:
        """The counts that are not zero, in one line."""
        counts = {
            "new": self.new,
            "changed": self.changed,
            "moved": self.moved,
            "deleted": self.deleted,
            "restricted": self.restricted,
            "merged": self.merged,
            "in conflict": self.conflicts,
        }
        return ", ".join(f"{len(values)} {name}" for name, values in counts.items() if values) or "nothing changed"

    @property
    def values(self) -> dict[str, object]:
        """The report as JSON."""
        return {**asdict(self), "moved": [{"from": before, "to": after} for before, after in self.moved]}


@dataclass(frozen=True, slots=True)
class PullOptions:
    """Permissions of a pull."""

    dry_run: bool = False
    confirmed: bool = False
    """Whether a mass deletion is meant."""
    comments: bool | None = None
    """Whether comments are kept in side files from now on; None for as before."""


def clone(api: Api, key: str, folder: Path, options: PullOptions, say: Say) -> PullReport:
    """Copy a space into a new folder, which appears when it is whole. A killed clone goes on where it was.

    Raises:
        AlreadyExistsError: the folder exists and is not empty.
        NotFoundError: there is no such space.
    """
    if folder.is_dir() and any(folder.iterdir()):
        raise AlreadyExistsError(f"{folder.name} exists already.", kind="folder", hint="Run 'cn pull' in it.")
    space = api.space(key)
    draft = folder.with_name(f".{folder.name}.cn-clone")
    repository = SpaceRepository.create(draft, f"{api.site} {space.id}")
    with repository.locked():
        state = SpaceState(api.site, space.id, space.key, space.name, space.home, product=api.product)
        state.comments = bool(options.comments)
        synced = _Space(repository, state, {}, None)
        if repository.state():  # the killed run had everything, and only its change of the folder was finished now
            synced = _synced_space(Workspace(draft), space, options)
        report = _Pull(api, synced, options, say).run()
    if options.dry_run:
        shutil.rmtree(draft)
        return report
    if folder.is_dir():
        folder.rmdir()
    draft.rename(folder)
    return report


def pull(api: Api, workspace: Workspace, options: PullOptions, say: Say) -> PullReport:
    """Bring a folder up to date, which is locked.

    Raises:
        NotFoundError: the space is gone.
        PreconditionError: more than a fifth of the pages would be deleted, and nobody confirmed it.
    """
    space = api.space_with_id(workspace.state.space)
    return _Pull(api, _synced_space(workspace, space, options), options, say).run()


@dataclass(frozen=True, slots=True)
class _Space:
    """A space's folder as the last sync left it."""

    repository: SpaceRepository
    state: SpaceState
    """The state, with the name and the key that the space has now."""
    settings: JsonObject
    """Content of the space file."""
    old: Tree | None
    """The pages; None before the first sync."""


def _synced_space(workspace: Workspace, space: RemoteSpace, options: PullOptions) -> _Space:
    state = replace(workspace.state, key=space.key, name=space.name, home=space.home)
    if options.comments is not None and options.comments != state.comments:
        state = replace(state, comments=options.comments, searched="")
    return _Space(workspace.repository, state, workspace.settings, workspace.tree)


class _Pull:
    """One pull, from the listing to the change of the folder."""

    def __init__(self, api: Api, space: _Space, options: PullOptions, say: Say) -> None:
        self.api = api
        self.repository = space.repository
        self.state = space.state
        self.options = options
        self.say = say
        self.settings = space.settings
        self.old = space.old or Tree(replace(space.state, pages={}))
        self.bodies: dict[str, RemotePage] = {}
        self.belongings = Belongings(api, self.repository, self.state, self._body, say)
        self.seen: dict[str, str] = {}
        self.report = PullReport()
        self.synced = iso_timestamp(int(time.time()))

    def run(self) -> PullReport:
        listed = self._listing()
        self.belongings.search()
        pages = self._with_deletions(listed)
        self._fetch_bodies(pages)
        pages = self.belongings.described(pages)
        self.belongings.fetch_comments(pages)
        people = self._people(pages)
        state = replace(self.state, pages=pages, people=people, renamed={}, searched=self.belongings.searched)
        new = Tree(state, laid_out=True)
        change, state = self._change(new)
        self.report.requests = self.api.requests
        self.report.unreadable += self.belongings.unreadable
        self.report.notes += self.belongings.notes
        if not self.options.dry_run and (change.files or state != self.state):
            new_bodies = [(page.id, page.version, page.body or b"") for page in self.bodies.values()]
            self.repository.apply(change, state.values, new_bodies)
        return self.report

    # What the site has.

    def _listing(self) -> dict[str, RemotePage]:
        """All pages of the space. A listing that fails midway ends the pull."""
        listed: dict[str, RemotePage] = {}
        first = not self.state.pages
        done = self.repository.bodies() if first else set[tuple[str, int]]()
        for batch in self.api.pages(self.state.space, bodies=first and not done):
            listed.update((page.id, page) for page in batch)
            if first and not done:
                self.repository.keep_bodies(
                    (page.id, page.version, page.body) for page in batch if page.body is not None
                )
            self.say(f"{len(listed)} pages listed")
        return listed

    def _with_deletions(self, listed: Mapping[str, RemotePage]) -> dict[str, SyncedPage]:
        """The pages as the listing has them, and what became of those that it lacks."""
        pages = {page.id: synced_page(page, self.state.pages.get(page.id)) for page in listed.values()}
        missing = [page for page in self.state.pages.values() if page.id not in listed and page.kind == "page"]
        gone = self._gone(missing)
        for page in missing:
            if page.id not in gone:
                pages[page.id] = replace(page, status="restricted")
                if page.status != "restricted":
                    self.report.restricted.append(self.old.paths[page.id])
        hidden = self.belongings.add_nodes(pages, listed)
        self.report.restricted += [self.old.paths[page] for page in hidden]
        self._require_confirmed(gone)
        self.report.deleted += sorted(self.old.paths[page] for page in gone)
        return pages

    def _require_confirmed(self, gone: Collection[str]) -> None:
        before = len(self.state.pages)
        if len(gone) > MIN_MASS and len(gone) * MASS_DELETION > before and not self.options.confirmed:
            raise PreconditionError(
                f"{len(gone)} of {before} pages are gone on the site.",
                kind="space",
                hint="If that is meant, run 'cn pull --yes'.",
            )

    def _gone(self, missing: Sequence[SyncedPage]) -> set[str]:
        """The missing pages that the site says are deleted, archived or in another space."""
        gone: set[str] = set()
        for page in missing:
            try:
                answer = self.api.page(page.id)
            except (NotFoundError, ForbiddenError):
                continue
            if answer.status != "current" or (answer.space and answer.space != self.state.space):
                gone.add(page.id)
        return gone

    def _fetch_bodies(self, pages: dict[str, SyncedPage]) -> None:
        """The bodies of new versions, and of pages whose links the site rewrote because a page was renamed."""
        stale = self._stale(pages)
        ids = sorted(stale)
        for at in range(0, len(ids), 250):
            batch = self.api.pages_with_ids(ids[at : at + 250])
            for page in batch:
                if page.status == "current" and page.space in {"", self.state.space}:
                    self.bodies[page.id] = page
                    pages[page.id] = synced_page(page, self.state.pages.get(page.id))
            self.repository.keep_bodies((page.id, page.version, page.body or b"") for page in batch)
            done = min(at + 250, len(ids))
            self.say(f"{done} pages fetched, {len(ids) - done} left")
        for page in sorted(stale - set(self.bodies)):
            before_pull = self.state.pages.get(page)
            if before_pull is None:
                self.report.notes.append(
                    f"The site lists {shortened(pages[page].title)!r} (page {page}) and does not give it, so it is not"
                    " here. The next pull asks again."
                )
                del pages[page]
            else:  # it went between the listing and the request: the next pull asks what became of it
                pages[page] = before_pull

    def _stale(self, pages: Mapping[str, SyncedPage]) -> set[str]:
        """Ids of the pages whose body is to be fetched."""
        current_pages = [page for page in pages.values() if (page.kind, page.status) == ("page", "current")]
        there = self.repository.bodies()
        stale = {page.id for page in current_pages if (page.id, page.version) not in there}
        pattern = self._old_titles(pages)
        if pattern is None:
            return stale
        return stale | {page.id for page in current_pages if pattern.search(self._body(page) or b"")}

    def _old_titles(self, pages: Mapping[str, SyncedPage]) -> re.Pattern[bytes] | None:
        """Finds links to the pages that were renamed; None if there are none."""
        renamed = [
            page.title for page in self.state.pages.values() if page.id in pages and pages[page.id].title != page.title
        ]
        renamed += self.state.renamed
        if not renamed:
            return None
        return re.compile("|".join(re.escape(f'"{escape(title)}"') for title in renamed).encode())

    def _body(self, page: SyncedPage) -> bytes | None:
        fetched = self.bodies.get(page.id)
        if fetched is not None and fetched.version == page.version:
            return fetched.body or b""
        return self.repository.body(page.id, page.version)

    def _is_new(self, page: SyncedPage) -> bool:
        before_pull = self.state.pages.get(page.id)
        return before_pull is None or before_pull.version != page.version

    def _people(self, pages: Mapping[str, SyncedPage]) -> dict[str, tuple[str, str]]:
        accounts = {account for page in pages.values() for account in (page.author, page.modifier)}
        for page in pages.values():
            body = self._body(page) if self._is_new(page) else None
            mentioned = re.findall(rb'ri:(?:account-id|userkey)="([^"]+)"', body or b"")
            accounts |= {account.decode("utf-8", "replace") for account in mentioned}
        for comments in self.belongings.comments.values():
            accounts |= accounts_of(comments)
        unknown = sorted(accounts - {"", *self.state.people})
        return {**self.state.people, **(self.api.names(unknown) if unknown else {})}

    # What changes in the folder.

    def _change(self, new: Tree) -> tuple[FolderChange, SpaceState]:
        work: dict[str, str] = {}
        committed: dict[str, str] = {}
        state = new.state
        for page in sorted(self._touched(new), key=lambda page: new.paths[page]):
            self._change_page(new, state.pages[page], work, committed)
        for page in self.old.paths:
            if page not in state.pages:
                self._remove(self.old.paths[page], work, committed)
        for page in state.pages.values():
            self._change_attachments(new, page, work, committed)
            self._change_comments(new, page, work, committed)
        raw = self.repository.store(space_file(new, self.synced, self.settings))
        if work or committed or self._is_other_space_file(new):
            work[SPACE_FILE.path] = committed[SPACE_FILE.path] = raw
        work = {
            path: digest
            for path, digest in work.items()
            if digest != self.repository.digest(self.repository.read(path))
        }
        return FolderChange(work, committed, self._message(state), self.seen), state

    def _is_other_space_file(self, new: Tree) -> bool:
        names = (self.settings.get("spaceKey"), self.settings.get("spaceName"))
        return self.old.paths != new.paths or names != (new.state.key, new.state.name)

    def _touched(self, new: Tree) -> set[str]:
        """The pages whose file changes: other text, other facts, another place, or links to what moved."""
        touched: set[str] = set()
        moved = moved_paths(self.old.paths, new.paths)
        for page in new.state.pages.values():
            before_pull = self.state.pages.get(page.id)
            same = before_pull is not None and _facts(before_pull) == _facts(page)
            if not same or page.id in moved or page.id in self.bodies or self._names_parent(page, new):
                touched.add(page.id)
        touched |= self._linking(new, moved)
        touched |= {page for page in self._in_conflict() if page in new.paths}
        return touched

    def _names_parent(self, page: SyncedPage, new: Tree) -> bool:
        before, after = self.state.pages.get(page.parent), new.state.pages.get(page.parent)
        return (before.title if before else "") != (after.title if after else "")

    def _linking(self, new: Tree, moved: Collection[str]) -> set[str]:
        """The pages that link to a page which moved, came or went."""
        if not moved or not self.state.pages:
            return set()
        names = (
            [f'"{escape(title)}"' for title in self._titles(new, moved)]
            + [f"{place}{page}" for page in moved for place in ("/pages/", "?pageId=")]
            + [f'"{page}"' for page in moved]
        )
        pattern = re.compile("|".join(map(re.escape, names)).encode())
        return {page.id for page in new.state.pages.values() if pattern.search(self._body(page) or b"")}

    def _titles(self, new: Tree, moved: Collection[str]) -> set[str]:
        """The old and new titles of pages."""
        pages = (self.old.state.pages, new.state.pages)
        return {by_id[page].title for by_id in pages for page in moved if page in by_id}

    def _in_conflict(self) -> list[str]:
        """Pages beside whose file the site's state lies."""
        paths = self.old.paths
        return [page for page, path in paths.items() if self.repository.exists(path + REMOTE_SUFFIX)]

    def _change_page(self, new: Tree, page: SyncedPage, work: dict[str, str], committed: dict[str, str]) -> None:
        before, after = self.old.paths.get(page.id), new.paths[page.id]
        view = new.view(page, self._shown_body(page))
        clean = new.file(page, view, self.synced)
        new.state.pages[page.id] = replace(page, file=self.repository.digest(clean), path=after)
        if before is None:
            self._create(after, clean, work, committed)
            return
        before_pull = self.state.pages[page.id]
        sides = _Sides(self, before_pull, page, clean, view)
        raw, here = self.repository.read(before), self.repository.committed(before)
        self.seen[before] = self.repository.digest(raw)
        if raw is None:
            raw = clean if before_pull.version != page.version else None
        result = sides.merged(raw)
        head = result if here == raw else sides.merged(here)
        self._note(before, after, raw, result, clean)
        self._place(before, after, clean if raw is None and before_pull.version != page.version else result, raw, work)
        self._place(before, after, head, here, committed)
        if self.repository.exists(before + REMOTE_SUFFIX):
            work[before + REMOTE_SUFFIX] = ""
        if result is None and raw is not None:
            work[after + REMOTE_SUFFIX] = self.repository.store(clean)

    def _create(self, path: str, clean: bytes, work: dict[str, str], committed: dict[str, str]) -> None:
        self.report.new.append(path)
        digest = self.repository.store(clean)
        existing = self.repository.read(path)
        if existing is not None and existing != clean and path not in work:
            # somebody's own file has the name: it moves out of the way, and nothing of it is lost
            aside = f"{path.removesuffix('.md')}.mine-{self.repository.digest(existing)[:8]}.md"
            work[aside] = self.repository.store(existing)
        work[path] = committed[path] = digest

    def _place(self, before: str, after: str, result: bytes | None, raw: bytes | None, files: dict[str, str]) -> None:
        """Write a file, or move one that stays as it is because it is in conflict."""
        content = raw if result is None else result
        if content is not None:
            files[after] = self.repository.store(content)
        if before != after and files.get(before) is None:
            files[before] = ""

    def _note(self, before: str, after: str, raw: bytes | None, result: bytes | None, clean: bytes) -> None:
        if before != after:
            self.report.moved.append((before, after))
        if raw is not None and result is None:
            self.report.conflicts.append(after)
        elif raw is not None and result != clean:
            self.report.merged.append(after)
        elif raw is not None and result != raw:
            self.report.changed.append(after)

    def _remove(self, path: str, work: dict[str, str], committed: dict[str, str]) -> None:
        """Remove a page that is gone on the site; a file with edits stays, without its page's id."""
        page = self.old.ids[path]
        raw = self.repository.read(path)
        for beside in (path + REMOTE_SUFFIX, comments_path(path)):
            if self.repository.exists(beside):
                work.setdefault(beside, "")
                committed.setdefault(beside, "")
        if raw is not None and self.repository.digest(raw) != self.state.pages[page].file:
            self.report.conflicts.append(path)
            work.setdefault(path, self.repository.store(set_fields(raw, {"page_id": None, "version": None})))
        else:
            work.setdefault(path, "")
        committed.setdefault(path, "")

    def _change_attachments(self, new: Tree, page: SyncedPage, work: dict[str, str], committed: dict[str, str]) -> None:
        before_pull = self.state.pages.get(page.id)
        folder = attachment_folder(new.paths[page.id])
        old_folder = attachment_folder(self.old.paths[page.id]) if page.id in self.old.paths else folder
        if before_pull is not None and before_pull.attachments == page.attachments and folder == old_folder:
            return
        old_paths = _attachment_paths(old_folder, before_pull.attachments if before_pull else ())
        paths = _attachment_paths(folder, page.attachments)
        for identifier, path in paths.items():
            there = f"{old_folder}/{path.rpartition('/')[2]}"
            digest = self.belongings.downloads.get(identifier) or self._stored(there)
            if digest:
                work[path] = committed[path] = digest
        for path in sorted({*old_paths.values()} - {*paths.values()}):
            work.setdefault(path, "")
            committed.setdefault(path, "")

    def _change_comments(self, new: Tree, page: SyncedPage, work: dict[str, str], committed: dict[str, str]) -> None:
        """Write the comments of a page beside it, or move them with it."""
        after = new.paths[page.id]
        before = self.old.paths.get(page.id, after)
        path, old_path = comments_path(after), comments_path(before)
        comments = self.belongings.comments.get(page.id)
        if comments is not None:
            content = comments_file(page.title, comments, new.links(after), new.state.people)
            digest = self.repository.store(content) if comments else ""
        elif path != old_path or not self.state.comments:
            digest = self._stored(old_path) or "" if self.state.comments else ""
        else:
            return
        for place, value in {old_path: "", path: digest}.items():
            if value or self.repository.exists(place):
                work[place] = committed[place] = value

    def _shown_body(self, page: SyncedPage) -> bytes:
        return self._body(page) or self._stub(page)

    def _stored(self, path: str) -> str | None:
        raw = self.repository.read(path)
        return None if raw is None else self.repository.store(raw)

    def _stub(self, page: SyncedPage) -> bytes:
        """The body of a page that has none: what it is on the site, and where."""
        if page.kind == "page":
            return b""
        url = f"{self.state.web}{page.url}"
        return f"<p>A {page.kind} of the site: <a href={quoteattr(url)}>{escape(page.title)}</a></p>".encode()

    def _message(self, state: SpaceState) -> str:
        lines = [f"Pull {state.key}: {self.report.summary}", ""]
        for page in sorted(self.bodies):
            synced = state.pages.get(page)
            if synced is not None:
                name = state.people.get(synced.modifier, ("", ""))[0] or "somebody"
                lines.append(f"{synced.title}: version {synced.version} by {name}")
        return plain_message("\n".join(lines[:1000]).replace("\0", "")).rstrip() + "\n"


class _Sides:
    """The three states of a page that a merge compares.

    Args:
        pull: The pull.
        known: The page as the last sync left it.
        page: The page as it is now.
        clean: The file that the site's state makes.
        view: The Markdown of that state.
    """

    def __init__(self, pull: _Pull, before_pull: SyncedPage, page: SyncedPage, clean: bytes, view: PageView) -> None:
        self._pull = pull
        self._known = before_pull
        self._page = page
        self._clean = clean
        self._view = view

    def merged(self, raw: bytes | None) -> bytes | None:
        """A file with the site's changes; None if both changed the same place, or there is no file."""
        if raw is None:
            return None
        if self._pull.repository.digest(raw) == self._known.file or raw == self._clean:
            return self._clean
        file = read_page_file(raw)
        version = file.version or self._known.version
        if version == self._page.version != self._known.version:
            return raw  # somebody merged by hand, and says so by the version
        body = self._pull.repository.body(self._page.id, version)
        title = merged_value(self._known.title, file.title, self._page.title)
        if body is None or title is None or file.id != self._page.id:
            return None
        text = merged(self._pull.old.view(self._known, body).markdown, file.body, self._view.markdown)
        if text is None:
            return None
        return self._written(file, title, text)

    def _written(self, file: PageFile, title: str, text: str) -> bytes:
        labels = merged_set(set(self._known.labels), file.labels, set(self._page.labels))
        clean = read_page_file(self._clean)
        fields = {**file.fields, **clean.fields, "title": title, "labels": sorted(labels) or None}
        return write_page_file(fields, title, text)


def merged_value(base: str, ours: str, theirs: str) -> str | None:
    """The value that one side changed; None if both changed it differently."""
    if ours in {base, theirs}:
        return theirs
    return ours if theirs == base else None


def merged_set(base: set[str], ours: set[str], theirs: set[str]) -> set[str]:
    """A set with what either side added, and without what either side removed."""
    return (base & ours & theirs) | (ours - base) | (theirs - base)


def _attachment_paths(folder: str, attachments: Sequence[tuple[str, str, int]]) -> dict[str, str]:
    """The path of each attachment, by its id."""
    names = attachment_names(title for _, title, _ in attachments)
    return {identifier: f"{folder}/{names[title]}" for identifier, title, _ in attachments}


def _facts(page: SyncedPage) -> SyncedPage:
    """The facts of a page that its file shows."""
    return replace(page, file="", path="", status="", attachments=())
