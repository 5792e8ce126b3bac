"""Belongings of a space beside the text of its pages: nodes that are no pages, labels, attachments, and comments."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta

from commonplace.domain.errors import ForbiddenError, InvalidInputError, NotFoundError
from commonplace.toolsets.pages.confluence.api import Api
from commonplace.toolsets.pages.confluence.page_files import escaped
from commonplace.toolsets.pages.confluence.remote import (
    NODE_KINDS,
    ContentHit,
    RemoteAttachment,
    RemoteComment,
    RemotePage,
)
from commonplace.toolsets.pages.confluence.repository import SpaceRepository
from commonplace.toolsets.pages.confluence.storage import PageLinks
from commonplace.toolsets.pages.confluence.to_storage import view_of
from commonplace.toolsets.pages.confluence.workspace import SpaceState, SyncedPage

MAX_HEADING = 6


def accounts_of(comments: Iterable[RemoteComment]) -> set[str]:
    """The accounts that wrote comments and replies."""
    accounts: set[str] = set()
    for comment in comments:
        accounts |= {comment.author, *accounts_of(comment.replies)} - {""}
    return accounts


def comments_file(
    title: str, comments: Sequence[RemoteComment], links: PageLinks, people: Mapping[str, tuple[str, str]]
) -> bytes:
    """The bytes of the side file of a page.

    Args:
        title: Title of the page.
        comments: The comments, oldest first.
        links: Targets of links as the page writes them.
        people: Name and e-mail address by account.
    """
    lines = [f"# Comments on {escaped(title)}"]
    for comment in comments:
        lines += _comment(comment, links, people, 2)
    return ("\n\n".join(lines) + "\n").encode()


def _comment(comment: RemoteComment, links: PageLinks, people: Mapping[str, tuple[str, str]], level: int) -> list[str]:
    name = people.get(comment.author, ("", ""))[0] or comment.author or "Somebody"
    parts = [escaped(name), escaped(comment.created[:10]), escaped(comment.status)]
    lines = [f"{'#' * min(level, MAX_HEADING)} {', '.join(part for part in parts if part)}"]
    if comment.marked:
        lines.append(f"> {escaped(comment.marked)}")
    text = view_of(comment.body, links).markdown.strip("\n")
    lines += [text] if text else []
    for reply in comment.replies:
        lines += _comment(reply, links, people, level + 1)
    return lines


SEARCH_MARGIN = timedelta(days=2)
"""Time by which a search begins before the last one, for time zones and for a search index that is behind."""
PROGRESS_STEP = 50
"""Number of pages after which a line about progress is said."""
_FILE_NAME = re.compile(rb'ri:filename="([^"]*)"')
_SHOWS_FILES = re.compile(rb"view-file|viewpdf|attachments|gallery")
Body = Callable[[SyncedPage], bytes | None]


@dataclass(slots=True)
class Belongings:
    """Everything that the site has beside the text of the pages.

    Args:
        api: The site.
        repository: Receives the content of attachments.
        state: The last sync.
        body: The body of a page.
        say: Receives a line about progress.
    """

    api: Api
    repository: SpaceRepository
    state: SpaceState
    body: Body
    say: Callable[[str], None]
    downloads: dict[str, str] = field(default_factory=dict[str, str])
    """Digest of the content by id of the attachments that were fetched."""
    comments: dict[str, list[RemoteComment]] = field(default_factory=dict[str, list[RemoteComment]])
    """The comments by page, where they were asked for."""
    unreadable: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])
    """Sentences about what was not looked for, and why."""
    searched: str = ""
    _results: list[ContentHit] = field(default_factory=list[ContentHit])

    def search(self) -> None:
        """Ask the site's search once for nodes without pages below, and for attachments and comments that are new."""
        held = ["attachment", "comment"] if self.state.comments else ["attachment"]
        since = self.state.searched
        if since:
            since = (date.fromisoformat(since) - SEARCH_MARGIN).isoformat()
        try:
            self._results = self.api.search(self.state.key, held, since)
            self.searched = self.api.date
        except (ForbiddenError, InvalidInputError, NotFoundError) as error:
            self.searched = self.state.searched
            self.notes.append(
                "Attachments that no page names, and whiteboards, databases, embeds and folders without pages below, "
                f"were not looked for, because the site did not answer the search. {error}"
            )

    # Nodes.

    def add_nodes(self, pages: dict[str, SyncedPage], listed: Mapping[str, RemotePage]) -> list[str]:
        """Folders, whiteboards, databases and embeds become pages that say where they are.

        Returns:
            Ids of the nodes that the site no longer shows; they are kept.
        """
        queue = self._places(listed)
        hidden: list[str] = []
        visited: set[str] = set()
        while batch := {node: kind for node, kind in queue if kind in NODE_KINDS and node not in visited}:
            visited |= batch.keys()
            queue = list[tuple[str, str]]()
            for (identifier, kind), node in zip(
                batch.items(), self.api.each(self._node, [*batch.items()]), strict=True
            ):
                if node is None:
                    hidden += self._hidden(identifier, pages)
                elif self._is_here(node):
                    before_pull = self.state.pages.get(identifier)
                    pages[identifier] = replace(synced_page(node, before_pull), kind=kind, status="stub")
                    queue.append((node.parent, node.parent_type))
        return hidden

    def _places(self, listed: Mapping[str, RemotePage]) -> list[tuple[str, str]]:
        """Id and kind of what may be a node: what lies above pages, what the search found, and the nodes so far."""
        above = [(page.parent, page.parent_type) for page in listed.values()]
        results = [(result.id, result.kind) for result in self._results]
        return above + results + [(page.id, page.kind) for page in self.state.pages.values()]

    def _hidden(self, identifier: str, pages: dict[str, SyncedPage]) -> list[str]:
        """Keep a node that the site does not show; its id if it did show it."""
        before_pull = self.state.pages.get(identifier)
        if before_pull is None:
            return []
        pages[identifier] = replace(before_pull, status="restricted")
        return [identifier] if before_pull.status != "restricted" else []

    def _node(self, node: tuple[str, str]) -> RemotePage | None:
        try:
            return self.api.node(node[1], node[0])
        except (NotFoundError, ForbiddenError, InvalidInputError):
            return None

    def _is_here(self, node: RemotePage) -> bool:
        return node.status == "current" and node.space in {"", self.state.space}

    # Labels, attachments, comments.

    def described(self, pages: Mapping[str, SyncedPage]) -> dict[str, SyncedPage]:
        """The pages with their labels and attachments."""
        labels = self.api.labels(self.state.space)
        described = {
            page.id: page if page.status != "current" else replace(page, labels=tuple(sorted(labels.get(page.id, ()))))
            for page in pages.values()
        }
        changed = [page.id for page in described.values() if page.status == "current" and self._has_new_files(page)]
        done = 0

        def files_of(page: str) -> None:
            nonlocal done
            described[page] = replace(described[page], attachments=self._attachments(described[page]))
            done += 1
            self._progress("attachments", done, len(changed))

        self.api.each(files_of, changed)
        return described

    def fetch_comments(self, pages: Mapping[str, SyncedPage]) -> None:
        """Ask for the comments of pages that are new or have new ones."""
        if not self.state.comments:
            return
        new = {result.page for result in self._results if result.kind == "comment"}
        holders = sorted(page.id for page in pages.values() if page.status == "current" and page.id in new)
        done = 0

        def comments_of(page: str) -> None:
            nonlocal done
            try:
                self.comments[page] = self.api.comments(page)
            except (NotFoundError, ForbiddenError):
                self.unreadable.append(f"comments of page {page}")
            done += 1
            self._progress("comments", done, len(holders))

        self.api.each(comments_of, holders)

    def _progress(self, name: str, done: int, total: int) -> None:
        if done == total or done % PROGRESS_STEP == 0:
            self.say(f"{name} of {done} pages fetched, {total - done} left")

    def _has_new_files(self, page: SyncedPage) -> bool:
        before_pull = self.state.pages.get(page.id)
        current = {(identifier, version) for identifier, _, version in page.attachments}
        if any((file.id, file.version) not in current for file in self._by_page().get(page.id, ())):
            return True
        is_new = before_pull is None or before_pull.version != page.version
        return is_new and self._names_new_files(page)

    def _names_new_files(self, page: SyncedPage) -> bool:
        body = self.body(page) or b""
        names = {html.unescape(name.decode("utf-8", "replace")) for name in _FILE_NAME.findall(body)}
        if self.notes:  # without the search, a file may have another version
            return bool(names or _SHOWS_FILES.search(body))
        return not names <= {title for _, title, _ in page.attachments}

    def _by_page(self) -> Mapping[str, Sequence[ContentHit]]:
        by_page = dict[str, list[ContentHit]]()
        for result in self._results:
            if result.kind == "attachment":
                by_page.setdefault(result.page, []).append(result)
        return by_page

    def _attachments(self, page: SyncedPage) -> tuple[tuple[str, str, int], ...]:
        try:
            files = self.api.attachments(page.id)
        except (NotFoundError, ForbiddenError):
            return page.attachments
        for file in files:
            self._download(page, file)
        return tuple((file.id, file.title, file.version) for file in files)

    def _download(self, page: SyncedPage, file: RemoteAttachment) -> None:
        before_pull = self.state.pages.get(page.id)
        if before_pull is None or (file.id, file.title, file.version) not in before_pull.attachments:
            try:
                self.downloads[file.id] = self.repository.store(self.api.download(page.id, file))
            except (NotFoundError, ForbiddenError):
                self.unreadable.append(f"{file.title} of page {page.id}")


def synced_page(page: RemotePage, before_pull: SyncedPage | None) -> SyncedPage:
    """A page of a listing, with what only other requests know as it was."""
    return SyncedPage(
        id=page.id,
        title=page.title,
        version=page.version,
        parent=page.parent,
        created=page.created,
        updated=page.updated,
        author=page.author,
        modifier=page.modifier,
        url=page.url,
        labels=before_pull.labels if before_pull else (),
        attachments=before_pull.attachments if before_pull else (),
        file=before_pull.file if before_pull else "",
        path=before_pull.path if before_pull else "",
    )
