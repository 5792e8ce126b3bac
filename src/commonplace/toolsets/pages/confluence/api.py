"""The REST API of Confluence: requests that are repeated where that is safe, and what they return as values."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import urljoin, urlsplit

import httpx2

from commonplace.domain.errors import (
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    RateLimitedError,
    UnauthenticatedError,
    UnavailableError,
)
from commonplace.toolsets.pages.confluence.credentials import Login

CONCURRENT = 8
"""Maximum number of requests at once."""
PAGE_SIZE = 250
"""Number of results of one listing request, the most that the API gives."""
ATTEMPTS = 6
MAX_PAUSE = 60.0
"""Longest pause between two attempts in seconds, unless the server asks for a longer one."""
MAX_ASKED_PAUSE = 600.0
"""Longest pause in seconds that a server may ask for; a longer one ends the command."""
TIMEOUT = httpx2.Timeout(60.0, connect=10.0)
_LIMITED = frozenset({HTTPStatus.TOO_MANY_REQUESTS})
_BUSY_OR_LIMITED = _LIMITED | {HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}
V2 = "/wiki/api/v2"
V1 = "/wiki/rest/api"

Json = Any


@dataclass(frozen=True, slots=True)
class RemotePage:
    """A page, or another node of the tree, as a listing gives it."""

    id: str
    title: str
    version: int
    parent: str = ""
    parent_type: str = ""
    status: str = "current"
    space: str = ""
    created: str = ""
    updated: str = ""
    author: str = ""
    modifier: str = ""
    url: str = ""
    """Path of the page on the site."""
    position: int = 0
    body: bytes | None = None
    """The body in storage format; None if the listing was without bodies."""


@dataclass(frozen=True, slots=True)
class RemoteAttachment:
    """A file of a page."""

    id: str
    title: str
    version: int
    download: str
    size: int = 0
    media_type: str = ""


@dataclass(frozen=True, slots=True)
class RemoteSpace:
    """A space."""

    id: str
    key: str
    name: str
    home: str


@dataclass(slots=True)
class Api:
    """A signed-in session with one site.

    Args:
        site: Scheme and host of the site.
        login: The credentials.
        sleep: Waits for a number of seconds.
    """

    site: str
    login: Login
    sleep: Callable[[float], None] = time.sleep
    _client: httpx2.Client = field(init=False)
    requests: int = 0
    """Number of requests that were sent."""

    def __post_init__(self) -> None:
        self._client = httpx2.Client(
            base_url=self.login.api or self.site,
            headers={"Authorization": self.login.header, "Accept": "application/json"},
            timeout=TIMEOUT,
            verify=(self.login.api or self.site).startswith("https"),  # without TLS there is nothing to verify
            http2=importlib.util.find_spec("h2") is not None,
            limits=httpx2.Limits(max_connections=CONCURRENT, max_keepalive_connections=CONCURRENT),
            follow_redirects=False,
            trust_env=True,
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def check(self) -> None:
        """Ask for one space, which shows whether the site accepts the login."""
        self._json("GET", f"{V2}/spaces", query={"limit": 1}, kind="remote_space")

    # What there is.

    def space(self, key: str) -> RemoteSpace:
        """The space with a key.

        Raises:
            NotFoundError: kind "remote_space": there is none, or it is not yours to see.
        """
        for row in self._list(f"{V2}/spaces", {"keys": key, "limit": 1}):
            return RemoteSpace(row["id"], row["key"], row.get("name") or row["key"], row.get("homepageId") or "")
        raise NotFoundError(
            f"{self.site} has no space {key!r} that you may see.",
            kind="remote_space",
            hint="Its key is in the URL of its pages, behind /spaces/; capitals count.",
        )

    def space_with_id(self, identifier: str) -> RemoteSpace:
        """The space with an id, whatever its key is now."""
        row = self._json("GET", f"{V2}/spaces/{identifier}", kind="remote_space")
        return RemoteSpace(row["id"], row["key"], row.get("name") or row["key"], row.get("homepageId") or "")

    def pages(self, space: str, *, bodies: bool = False) -> Iterator[list[RemotePage]]:
        """All current pages of a space, one list for each request."""
        query: dict[str, Json] = {"limit": PAGE_SIZE, "status": "current"}
        if bodies:
            query["body-format"] = "storage"
        for results in self._batches(f"{V2}/spaces/{space}/pages", query):
            yield [_page(row) for row in results]

    def pages_with_ids(
        self, identifiers: Sequence[str], *, status: str = "current", bodies: bool = True
    ) -> list[RemotePage]:
        """The pages with ids that there are and that you may see."""
        batches = [identifiers[at : at + PAGE_SIZE] for at in range(0, len(identifiers), PAGE_SIZE)]

        def batch(ids: Sequence[str]) -> list[RemotePage]:
            query: dict[str, Json] = {"id": list(ids), "limit": PAGE_SIZE, "status": status}
            if bodies:
                query["body-format"] = "storage"
            return [_page(row) for row in self._list(f"{V2}/pages", query)]

        return [page for pages in self.each(batch, batches) for page in pages]

    def page(self, identifier: str) -> RemotePage:
        """One page with its body, whatever its status is.

        Raises:
            NotFoundError, ForbiddenError: there is none, or it is not yours to see.
        """
        return _page(self._json("GET", f"{V2}/pages/{identifier}", query={"body-format": "storage"}, kind="page"))

    def node(self, kind: str, identifier: str) -> RemotePage:
        """A folder, whiteboard, database or embed."""
        return _page(self._json("GET", f"{V2}/{kind}s/{identifier}", kind="page"))

    def labels_of_space(self, space: str) -> list[tuple[str, str]]:
        """Id and name of the labels in a space."""
        listed = self._list(f"{V2}/spaces/{space}/content/labels", {"limit": PAGE_SIZE})
        return [(row["id"], row["name"]) for row in listed if row.get("prefix", "global") == "global"]

    def pages_with_label(self, label: str, space: str) -> list[str]:
        """Ids of the pages of a space that have a label."""
        query = {"space-id": space, "limit": PAGE_SIZE}
        return [row["id"] for row in self._list(f"{V2}/labels/{label}/pages", query)]

    def attachments(self, page: str) -> list[RemoteAttachment]:
        """The files of a page."""
        return [_attachment(row) for row in self._list(f"{V2}/pages/{page}/attachments", {"limit": PAGE_SIZE})]

    def download(self, attachment: RemoteAttachment) -> bytes:
        """The bytes of a file."""
        path = attachment.download
        path = path if path.startswith("/wiki") else f"/wiki{path}"
        return self._send("GET", path, kind="attachment", redirects=True).content

    def names(self, accounts: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Name and e-mail address of people by account; addresses that the site hides are ""."""
        people: dict[str, tuple[str, str]] = {}
        for at in range(0, len(accounts), PAGE_SIZE):
            content = {"accountIds": list(accounts[at : at + PAGE_SIZE])}
            answer = self._json("POST", f"{V2}/users-bulk", content=content, kind="person", repeat=True)
            for row in answer.get("results", []):
                people[row["accountId"]] = (row.get("displayName") or "", row.get("email") or "")
        return people

    # Changes.

    def update(self, page: RemotePage, body: bytes, *, message: str) -> RemotePage:
        """Write a page; `page.version` is the new number.

        Raises:
            ConflictError: somebody wrote the page meanwhile.
        """
        content = {
            "id": page.id,
            "status": "current",
            "title": page.title,
            "body": {"representation": "storage", "value": body.decode()},
            "version": {"number": page.version, "message": message},
        }
        if page.parent:
            content["parentId"] = page.parent
        return _page(self._json("PUT", f"{V2}/pages/{page.id}", content=content, kind="page"))

    def create(self, space: str, title: str, parent: str, body: bytes) -> RemotePage:
        """Create a page."""
        content: dict[str, Json] = {
            "spaceId": space,
            "status": "current",
            "title": title,
            "body": {"representation": "storage", "value": body.decode()},
        }
        if parent:
            content["parentId"] = parent
        return _page(self._json("POST", f"{V2}/pages", content=content, kind="page"))

    def find_title(self, space: str, title: str) -> RemotePage | None:
        """The current page of a space with exactly this title, with its body."""
        query = {"title": title, "body-format": "storage", "limit": 1}
        for row in self._list(f"{V2}/spaces/{space}/pages", query):
            return _page(row)
        return None

    def add_labels(self, page: str, names: Iterable[str]) -> None:
        """Add labels to a page."""
        content = [{"prefix": "global", "name": name} for name in names]
        self._json("POST", f"{V1}/content/{page}/label", content=content, kind="page", repeat=True)

    def remove_label(self, page: str, name: str) -> None:
        """Remove a label from a page; none is removed if it is not there."""
        with contextlib.suppress(NotFoundError):
            self._send("DELETE", f"{V1}/content/{page}/label", query={"name": name}, kind="page")

    def upload(self, page: str, name: str, content: bytes) -> None:
        """Add a file to a page, or a new version of it."""
        self._send(
            "PUT",
            f"{V1}/content/{page}/child/attachment",
            files={"file": (name, content)},
            headers={"X-Atlassian-Token": "no-check"},
            kind="attachment",
        )

    # Requests.

    def each(self, work: Callable[[Json], Json], items: Sequence[Json]) -> list[Json]:
        """Call a function for each item, several at once; results in the items' order."""
        if len(items) <= 1:
            return [work(row) for row in items]
        with ThreadPoolExecutor(CONCURRENT) as pool:
            return list(pool.map(work, items))

    def _list(self, path: str, query: Mapping[str, Json]) -> Iterator[Json]:
        for results in self._batches(path, query):
            yield from results

    def _batches(self, path: str, query: Mapping[str, Json]) -> Iterator[list[Json]]:
        url: str | None = str(httpx2.URL(path, params=dict(query)))
        visited: set[str] = set()
        while url:
            if url in visited:
                raise UnavailableError("The site's listing goes round in a circle.", kind="site")
            visited.add(url)
            answer = self._json("GET", url, kind="remote_space")
            yield answer.get("results", [])
            following = _part(answer, "_links").get("next")
            url = self._next_url(following) if following else None

    def _next_url(self, following: str) -> str:
        parts = urlsplit(urljoin(self.site, following))
        path = parts.path if parts.path.startswith("/wiki") else f"/wiki{parts.path}"
        return f"{path}?{parts.query}"

    def _json(self, method: str, path: str, **options: Json) -> Json:
        response = self._send(method, path, **options)
        try:
            answer = response.json()
        except ValueError:
            raise UnavailableError(
                "The site answered with a page instead of data, as a proxy or a sign-in page does.",
                kind="site",
                hint=f"Open {self.site} in a browser from here.",
            ) from None
        if not isinstance(answer, (dict, list)):
            raise UnavailableError("The site's answer is not an object.", kind="site")
        return cast("Json", answer)

    def _send(
        self, method: str, path: str, *, kind: str, repeat: bool = False, redirects: bool = False, **request: Json
    ) -> httpx2.Response:
        """Send a request, and again after a pause where the server asks for it or nothing can have happened."""
        request = _request_arguments(request)
        safe = repeat or method in {"GET", "PUT", "DELETE"}
        for attempt in range(1, ATTEMPTS + 1):
            self.requests += 1
            try:
                response = self._client.request(method, path, follow_redirects=redirects, **request)
            except httpx2.ConnectError as error:
                pause = self._pause(attempt, None, f"{self.site} cannot be reached: {error}")
            except httpx2.HTTPError as error:
                if not safe:
                    raise UnavailableError(f"The connection ended in mid-request: {error}", kind="site") from None
                pause = self._pause(attempt, None, f"The connection ended in mid-request: {error}")
            else:
                if response.status_code not in (_BUSY_OR_LIMITED if safe else _LIMITED):
                    return self._checked(response, kind)
                pause = self._pause(attempt, response, f"The site answers {response.status_code}.")
            self.sleep(pause)
        raise AssertionError

    def _pause(self, attempt: int, response: httpx2.Response | None, reason: str) -> float:
        """Seconds until the next attempt; the last one has none."""
        delay = response.headers.get("Retry-After", "") if response is not None else ""
        limited = response is not None and response.status_code == HTTPStatus.TOO_MANY_REQUESTS
        seconds = float(delay) if delay.isdigit() else min(MAX_PAUSE, 0.5 * 2**attempt)
        if attempt == ATTEMPTS or seconds > MAX_ASKED_PAUSE:
            if limited:
                raise RateLimitedError(
                    "The site limits how often it may be asked.", kind="site", hint=f"Run it again in {seconds:.0f} s."
                )
            raise UnavailableError(
                reason.rstrip(".") + ".", kind="site", hint="Run the same command again: it goes on where it was."
            )
        return seconds + random.uniform(0, 0.25 * seconds)  # noqa: S311 - jitter, no secret

    def _checked(self, response: httpx2.Response, kind: str) -> httpx2.Response:
        status = response.status_code
        if status < HTTPStatus.MULTIPLE_CHOICES:
            return response
        reason = _reason(response)
        errors: dict[int, Callable[[], KnowledgeError]] = {
            401: lambda: UnauthenticatedError(
                "The site rejects the login.", kind="site", hint=f"Run 'cn login {self.site}' again."
            ),
            403: lambda: ForbiddenError(f"The site forbids this: {reason}", kind=kind),
            404: lambda: NotFoundError(f"Not there, or not yours to see: {reason}", kind=kind),
            409: lambda: ConflictError(
                "Somebody else wrote the page meanwhile.", kind=kind, hint="Run 'cn pull', then push again."
            ),
            400: lambda: InvalidInputError(f"The site rejects this: {reason}", kind=kind),
        }
        if status < HTTPStatus.BAD_REQUEST:
            raise UnavailableError("The site leads elsewhere, as a sign-in page does.", kind="site")
        error = errors.get(status)
        raise error() if error else UnavailableError(f"The site answers {status}: {reason}", kind="site")


def _request_arguments(request: dict[str, Any]) -> dict[str, Any]:
    """The arguments of httpx for `query` and for `content`, which is sent as JSON."""
    named = {"params" if name == "query" else name: value for name, value in request.items()}
    if "content" not in named:
        return named
    content = json.dumps(named["content"]).encode()
    return {**named, "content": content, "headers": {"Content-Type": "application/json"}}


def _reason(response: httpx2.Response) -> str:
    """Reason of an error as the site gives it, on one short line; never HTML."""
    try:
        answer = cast("object", response.json())
    except ValueError:
        return f"status {response.status_code}"
    errors = cast("Mapping[str, object]", answer).get("errors") if isinstance(answer, dict) else None
    rows = cast("list[object]", errors) if isinstance(errors, list) else []
    text = _part({"": rows[0]}, "") if rows else _part({"": cast("object", answer)}, "")
    shown = str(text.get("title") or text.get("message") or "")
    return " ".join(shown.split())[:200] or f"status {response.status_code}"


def _part(answer: object, name: str) -> Mapping[str, Json]:
    """An object in an object; {} if there is none."""
    value = cast("Mapping[str, Json]", answer).get(name) if isinstance(answer, dict) else None
    return cast("Mapping[str, Json]", value) if isinstance(value, dict) else {}


def _text(row: Mapping[str, Json], name: str) -> str:
    """The text of a key; "" if it is missing or null."""
    return str(row.get(name) or "")


def _page(row: Mapping[str, Json]) -> RemotePage:
    version = _part(row, "version")
    storage = _part(_part(row, "body"), "storage")
    value = storage.get("value")
    return RemotePage(
        id=str(row["id"]),
        title=_text(row, "title"),
        version=int(version.get("number") or 1),
        parent=_text(row, "parentId"),
        parent_type=_text(row, "parentType"),
        status=_text(row, "status") or "current",
        space=_text(row, "spaceId"),
        created=_text(row, "createdAt"),
        updated=_text(version, "createdAt"),
        author=_text(row, "authorId"),
        modifier=_text(version, "authorId"),
        url=_text(_part(row, "_links"), "webui"),
        position=int(row.get("position") or 0),
        body=value.encode("utf-8", "surrogatepass") if isinstance(value, str) else None,
    )


def _attachment(row: Mapping[str, Json]) -> RemoteAttachment:
    return RemoteAttachment(
        id=str(row["id"]),
        title=str(row.get("title") or row["id"]),
        version=int(_part(row, "version").get("number") or 1),
        download=str(row.get("downloadLink") or ""),
        size=int(row.get("fileSize") or 0),
        media_type=str(row.get("mediaType") or ""),
    )
