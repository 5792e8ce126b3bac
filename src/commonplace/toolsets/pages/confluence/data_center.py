"""The REST API of Confluence Data Center, which has version 1 alone: no folders, whiteboards, databases or embeds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar
from urllib.parse import quote, urlsplit

from commonplace.domain.errors import ForbiddenError, NotFoundError
from commonplace.toolsets.pages.confluence.api import MAX_REPLIES, PAGE_SIZE, Api
from commonplace.toolsets.pages.confluence.remote import (
    ContentHit,
    Json,
    Product,
    RemoteAttachment,
    RemoteComment,
    RemotePage,
    RemoteSpace,
    body_of,
    content_hit_of,
    identifier_of,
    part_of,
    rows_of,
    text_of,
    version_of,
)

REST = "/rest/api"
_EXPANDED = "version,ancestors,history,space,metadata.labels"
_WITH_BODY = f"{_EXPANDED},body.storage"
_OF_COMMENTS = "body.storage,version,history,extensions.inlineProperties,extensions.resolution"


@dataclass(slots=True)
class DataCenterApi(Api):
    """A signed-in session with one site of Confluence Data Center; the key of a space stands for its id."""

    product: ClassVar[Product] = "data center"
    _PROBE: ClassVar[str] = f"{REST}/space"
    _REST: ClassVar[str] = REST
    _names: dict[str, str] = field(init=False, default_factory=dict[str, str])
    _labels: dict[str, list[str]] = field(init=False, default_factory=dict[str, list[str]])

    # What there is.

    def space(self, key: str) -> RemoteSpace:
        """The space with a key."""
        try:
            return self.space_with_id(key)
        except NotFoundError:
            raise self._no_space(key) from None

    def space_with_id(self, identifier: str) -> RemoteSpace:
        """The same: a key never changes here."""
        path = f"{REST}/space/{quote(identifier, safe='~')}"
        row = self._json("GET", path, query={"expand": "homepage"}, kind="remote_space")
        key = text_of(row, "key") or identifier
        return RemoteSpace(key, key, text_of(row, "name") or key, text_of(part_of(row, "homepage"), "id"))

    def pages(self, space: str, *, bodies: bool = False) -> Iterator[list[RemotePage]]:
        """All current pages of a space, one list for each request."""
        query = {"spaceKey": space, "type": "page", "status": "current", "limit": PAGE_SIZE}
        for rows in self._batches(f"{REST}/content", {**query, "expand": _WITH_BODY if bodies else _EXPANDED}):
            yield [self._page(row) for row in rows]

    def pages_with_ids(
        self, identifiers: Sequence[str], *, status: str = "current", bodies: bool = True
    ) -> list[RemotePage]:
        """The pages with ids that there are and that you may see."""
        del bodies  # one request a page: the search, which takes many ids, may be behind
        pages = self.each(self._visible_page, list(identifiers))
        return [page for page in pages if page is not None and page.status == status]

    def _visible_page(self, identifier: str) -> RemotePage | None:
        try:
            return self.page(identifier)
        except (NotFoundError, ForbiddenError):
            return None

    def page(self, identifier: str) -> RemotePage:
        """One page with its body, whatever its status is."""
        query = {"status": "any", "expand": _WITH_BODY}
        return self._page(self._json("GET", f"{REST}/content/{identifier}", query=query, kind="page"))

    def node(self, kind: str, identifier: str) -> RemotePage:
        """Raises, because there are pages alone."""
        raise NotFoundError(f"There is no {kind} {identifier}.", kind="page")

    def labels(self, space: str) -> dict[str, list[str]]:
        """The labels by page id, as the last listing of the space gave them."""
        del space
        return self._labels

    def attachments(self, page: str) -> list[RemoteAttachment]:
        """The files of a page."""
        path = f"{REST}/content/{page}/child/attachment"
        rows = self._list(path, {"expand": "version", "limit": PAGE_SIZE})
        return [
            RemoteAttachment(
                id=identifier_of(row),
                title=text_of(row, "title") or identifier_of(row),
                version=version_of(row),
                download=text_of(part_of(row, "_links"), "download"),
            )
            for row in rows
        ]

    def search(self, space: str, held: Sequence[str], since: str) -> list[ContentHit]:
        """The attachments and comments of a space, as the site's search knows them."""
        recent = f' and lastmodified >= "{since}"' if since else ""
        cql = f"space = {json.dumps(space)} and type in ({', '.join(held)}){recent}"
        query = {"cql": cql, "limit": PAGE_SIZE, "expand": "container,version"}
        return [content_hit_of(row) for row in self._list(f"{REST}/content/search", query)]

    def comments(self, page: str) -> list[RemoteComment]:
        """The comments of a page: those below it, then those in its text."""
        rows = [*self._list(f"{REST}/content/{page}/child/comment", self._comment_query())]
        below_first = sorted(rows, key=lambda row: _location(row) != "footer")
        return [self._comment(row, _location(row)) for row in below_first]

    def _comment_query(self) -> dict[str, Json]:
        return {"expand": _OF_COMMENTS, "limit": PAGE_SIZE, "location": ["footer", "inline", "resolved"]}

    def _comment(self, row: Mapping[str, Json], kind: str, depth: int = 0) -> RemoteComment:
        path = f"{REST}/content/{identifier_of(row)}/child/comment"
        replies = [*self._list(path, self._comment_query())] if depth < MAX_REPLIES else []
        extensions = part_of(row, "extensions")
        history = part_of(row, "history")
        return RemoteComment(
            author=self._account(part_of(history, "createdBy")),
            created=text_of(history, "createdDate"),
            body=body_of(row) or b"",
            marked=text_of(part_of(extensions, "inlineProperties"), "originalSelection"),
            status=text_of(part_of(extensions, "resolution"), "status"),
            replies=tuple(self._comment(reply, kind, depth + 1) for reply in replies),
        )

    def names(self, accounts: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Names as the pages gave them; people who are only mentioned are asked for. There are no e-mail addresses."""
        self.each(self._ask_name, [account for account in accounts if account not in self._names])
        return {account: (self._names[account], "") for account in accounts if self._names.get(account)}

    def _ask_name(self, account: str) -> None:
        try:
            row = self._json("GET", f"{REST}/user", query={"key": account}, kind="person")
        except (NotFoundError, ForbiddenError):
            self._names[account] = ""
        else:
            self._names[account] = text_of(row, "displayName")

    # Changes.

    def update(self, page: RemotePage, body: bytes, *, message: str) -> RemotePage:
        """Write a page; `page.version` is the new number."""
        content = {**_content(page.space, page.title, page.parent, body), "id": page.id}
        content["version"] = {"number": page.version, "message": message}
        query = {"expand": _WITH_BODY}
        return self._page(self._json("PUT", f"{REST}/content/{page.id}", content=content, query=query, kind="page"))

    def create(self, space: str, title: str, parent: str, body: bytes) -> RemotePage:
        """Create a page."""
        content, query = _content(space, title, parent, body), {"expand": _WITH_BODY}
        return self._page(self._json("POST", f"{REST}/content", content=content, query=query, kind="page"))

    def find_title(self, space: str, title: str) -> RemotePage | None:
        """The current page of a space with exactly this title, with its body."""
        query = {"spaceKey": space, "title": title, "type": "page", "expand": _WITH_BODY, "limit": 1}
        return next((self._page(row) for row in self._list(f"{REST}/content", query)), None)

    def upload(self, page: str, name: str, content: bytes) -> None:
        """Add a file to a page, or a new version of it."""
        path = f"{REST}/content/{page}/child/attachment"
        present = next(self._list(path, {"filename": name, "limit": 1}), None)
        self._send(
            "POST",
            f"{path}/{identifier_of(present)}/data" if present else path,
            files={"file": (name, content)},
            headers={"X-Atlassian-Token": "no-check"},
            kind="attachment",
        )

    # Answers.

    def _inner_path(self, path: str) -> str:
        context = urlsplit(self.site).path
        return path.removeprefix(context) if path.startswith(f"{context}/") else path

    def _page(self, row: Mapping[str, Json]) -> RemotePage:
        version, history = part_of(row, "version"), part_of(row, "history")
        above = rows_of(row, "ancestors")
        parent = identifier_of(above[-1]) if above else ""
        page = RemotePage(
            id=identifier_of(row),
            title=text_of(row, "title"),
            version=version_of(row),
            parent=parent,
            parent_type="page" if parent else "",
            status=text_of(row, "status") or "current",
            space=text_of(part_of(row, "space"), "key"),
            created=text_of(history, "createdDate"),
            updated=text_of(version, "when"),
            author=self._account(part_of(history, "createdBy")),
            modifier=self._account(part_of(version, "by")),
            url=text_of(part_of(row, "_links"), "webui"),
            body=body_of(row),
        )
        self._labels[page.id] = _labels(row)
        return page

    def _account(self, person: Mapping[str, Json]) -> str:
        """The key of a person, whose name is kept."""
        account = text_of(person, "userKey") or text_of(person, "username")
        if account:
            self._names[account] = text_of(person, "displayName")
        return account


def _content(space: str, title: str, parent: str, body: bytes) -> dict[str, Json]:
    content: dict[str, Json] = {
        "type": "page",
        "title": title,
        "space": {"key": space},
        "body": {"storage": {"value": body.decode(), "representation": "storage"}},
    }
    if parent:
        content["ancestors"] = [{"id": parent}]
    return content


def _location(row: Mapping[str, Json]) -> str:
    return text_of(part_of(row, "extensions"), "location") or "footer"


def _labels(row: Mapping[str, Json]) -> list[str]:
    labels = rows_of(part_of(part_of(row, "metadata"), "labels"), "results")
    return [text_of(label, "name") for label in labels if text_of(label, "prefix") == "global"]
