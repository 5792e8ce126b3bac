"""A site with one space, as far as `cn` speaks to it: pages, versions, labels, files, restrictions, the trash."""

from __future__ import annotations

import hashlib
import re
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime

TODAY = datetime.now(UTC).date().isoformat()
LONG_AGO = "2026-03-02"
MOMENT = "2026-03-0{}T10:00:00.000Z"


@dataclass
class Comment:
    """A comment on a page; `ref` names the marked text of an inline comment."""

    id: str
    body: str
    author: str = "a1"
    ref: str = ""
    text: str = ""
    resolved: bool = False
    replies: list[Comment] = field(default_factory=list)


@dataclass
class Page:
    id: str
    title: str
    parent: str = ""
    body: str = ""
    version: int = 1
    status: str = "current"
    kind: str = "page"
    author: str = "a1"
    modifier: str = "a1"
    labels: set[str] = field(default_factory=set)
    files: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    restricted: bool = False
    message: str = ""
    comments: list[Comment] = field(default_factory=list)
    days: dict[str, str] = field(default_factory=dict)
    """Day of the last change by name of a file, and of the comments by ""; others changed long ago."""


class Site:
    """The state of a site. Every method is what a person does there, or what the API does for one."""

    def __init__(self, key: str = "ENG", name: str = "Engineering") -> None:
        self.key, self.name, self.space = key, name, "9001"
        self.pages: dict[str, Page] = {}
        self.lock = threading.RLock()
        self.writes: list[tuple[str, str]] = []
        self.people = {"a1": ("Ann Lee", "ann@example.org"), "a2": ("Bo Ek", "")}
        self.home = self.add("Home", body="<p>Welcome.</p>").id

    def add(self, title: str, parent: str = "", body: str = "", kind: str = "page", status: str = "current") -> Page:
        with self.lock:
            page = Page(
                str(100 + len(self.pages)), title, parent or getattr(self, "home", ""), body, kind=kind, status=status
            )
            self.pages[page.id] = page
            return page

    def edit(self, page: Page, body: str, who: str = "a2") -> None:
        with self.lock:
            page.body, page.version, page.modifier = body, page.version + 1, who

    def attach(self, page: Page, name: str, content: bytes) -> None:
        """Add a file, or a version of it; the page's own version stays."""
        with self.lock:
            page.files[name] = (page.files.get(name, (0, b""))[0] + 1, content)
            page.days[name] = TODAY

    def comment(self, page: Page, comment: Comment) -> None:
        with self.lock:
            page.comments.append(comment)
            page.days[""] = TODAY

    def rename(self, page: Page, title: str) -> None:
        """Rename a page: links to it are rewritten in all bodies, whose versions stay."""
        with self.lock:
            for other in self.pages.values():
                other.body = other.body.replace(f'ri:content-title="{page.title}"', f'ri:content-title="{title}"')
            page.title, page.version = title, page.version + 1

    def move(self, page: Page, parent: Page) -> None:
        with self.lock:
            page.parent, page.version = parent.id, page.version + 1

    def store(self, body: str) -> str:
        """A body as the site stores it: other spelling, and an id for each macro."""
        body = re.sub(r"<(br|hr)\s*/>", r"<\1 />", body).replace("&rsquo;", "\u2019").replace("&mdash;", "\u2014")

        def with_id(match: re.Match[str]) -> str:
            if "ac:macro-id" in match[0]:
                return match[0]
            digest = hashlib.sha256(f"{match.start()}".encode()).hexdigest()
            return f'{match[0]} ac:schema-version="1" ac:macro-id="{digest[:8]}-0000-4000-8000-{digest[8:20]}"'

        return re.sub(
            r'<ac:structured-macro ac:name="[^"]*"(?: ac:schema-version="\d+")?(?: ac:macro-id="[^"]*")?', with_id, body
        )

    def visible(self, identifier: str) -> Page | None:
        page = self.pages.get(identifier)
        return None if page is None or page.restricted or page.status == "deleted" else page

    def listed(self) -> list[Page]:
        pages = [page for page in self.pages.values() if page.kind == "page" and page.status == "current"]
        return [page for page in pages if not page.restricted]

    def write(self, page: Page, title: str, body: str, parent: str | None, message: str = "") -> None:
        with self.lock:
            self.writes.append(("PUT", page.id))
            if title != page.title:
                self.rename(page, title)
                page.version -= 1
            page.body, page.version, page.modifier = self.store(body), page.version + 1, "a1"
            page.message = message
            if parent is not None:
                page.parent = parent
