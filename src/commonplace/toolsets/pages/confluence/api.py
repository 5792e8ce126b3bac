"""The REST API of Confluence: requests that are repeated where that is safe, and what they return as values."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from threading import Lock
from typing import Any, ClassVar, cast
from urllib.parse import urljoin, urlsplit

import httpx2

from commonplace.domain.errors import (
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    RateLimitedError,
    TooLargeError,
    UnauthenticatedError,
    UnavailableError,
)
from commonplace.domain.sources import is_loopback
from commonplace.toolsets.pages.confluence.credentials import Login
from commonplace.toolsets.pages.confluence.remote import (
    NODE_KINDS,
    ContentHit,
    Json,
    Product,
    RemoteAttachment,
    RemoteComment,
    RemotePage,
    RemoteSpace,
    attachment_of,
    body_of,
    content_hit_of,
    identifier_of,
    page_of,
    part_of,
    rows_of,
    space_of,
    text_of,
)

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
MAX_ANSWER = 1 << 30
"""Longest answer in bytes, unpacked; a longer one is no answer of a site."""
MAX_REDIRECTS = 5
MAX_REPLIES = 8
"""Depth of replies to replies down to which they are asked for."""
_LIMITED = frozenset({HTTPStatus.TOO_MANY_REQUESTS})
_BUSY_OR_LIMITED = _LIMITED | {HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}
V2 = "/wiki/api/v2"
V1 = "/wiki/rest/api"
Renewal = Callable[[Login], Login]
"""Gives the next login for one whose token has expired."""


class OtherPageError(UnavailableError):
    """An answer of no API: a page of a proxy, a sign-in page, or another program."""


@dataclass(slots=True)
class Api:
    """A signed-in session with one site of Confluence Cloud.

    Args:
        site: Scheme and host of the site.
        login: The credentials.
        sleep: Waits for a number of seconds.
        renewal: Called once when the token has expired; None if it cannot be renewed.
    """

    product: ClassVar[Product] = "cloud"
    _PROBE: ClassVar[str] = f"{V2}/spaces"
    _REST: ClassVar[str] = V1
    site: str
    login: Login
    sleep: Callable[[float], None] = time.sleep
    renewal: Renewal | None = None
    _client: httpx2.Client = field(init=False)
    _renewing: Lock = field(init=False, default_factory=Lock)
    _is_accepted: bool = True
    """Whether the site accepted the login since it was renewed."""
    requests: int = 0
    """Number of requests that were sent."""
    date: str = ""
    """Day of the last answer by the site's clock, such as 2026-05-31; "" before the first."""

    def __post_init__(self) -> None:
        self._client = httpx2.Client(
            base_url=self.login.api or self.site,
            headers={"Accept": "application/json"},
            timeout=TIMEOUT,
            verify=(self.login.api or self.site).startswith("https"),  # without TLS there is nothing to verify
            http2=importlib.util.find_spec("h2") is not None,
            limits=httpx2.Limits(max_connections=CONCURRENT, max_keepalive_connections=CONCURRENT),
            follow_redirects=False,
            trust_env=not is_loopback(urlsplit(self.login.api or self.site).hostname or ""),
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def answers(self) -> bool:
        """Whether the site has this API; asks for one space.

        Raises:
            UnauthenticatedError: the site rejects the login.
        """
        with contextlib.suppress(NotFoundError, OtherPageError):
            return isinstance(self._json("GET", self._PROBE, query={"limit": 1}, kind="remote_space"), dict)
        return False

    # What there is.

    def space(self, key: str) -> RemoteSpace:
        """The space with a key.

        Raises:
            NotFoundError: kind "remote_space": there is none, or it is not yours to see.
        """
        for row in self._list(f"{V2}/spaces", {"keys": key, "limit": 1}):
            return space_of(row)
        raise self._no_space(key)

    def _no_space(self, key: str) -> NotFoundError:
        return NotFoundError(
            f"{self.site} has no space {key!r} that you may see.",
            kind="remote_space",
            hint="Its key is in the URL of its pages, behind /spaces/ or /display/; capitals count.",
        )

    def space_with_id(self, identifier: str) -> RemoteSpace:
        """The space with an id, whatever its key is now."""
        row = self._json("GET", f"{V2}/spaces/{identifier}", kind="remote_space")
        return space_of(row)

    def pages(self, space: str, *, bodies: bool = False) -> Iterator[list[RemotePage]]:
        """All current pages of a space, one list for each request."""
        query: dict[str, Json] = {"limit": PAGE_SIZE, "status": "current"}
        if bodies:
            query["body-format"] = "storage"
        for results in self._batches(f"{V2}/spaces/{space}/pages", query):
            yield [page_of(row) for row in results]

    def pages_with_ids(
        self, identifiers: Sequence[str], *, status: str = "current", bodies: bool = True
    ) -> list[RemotePage]:
        """The pages with ids that there are and that you may see."""
        batches = [identifiers[at : at + PAGE_SIZE] for at in range(0, len(identifiers), PAGE_SIZE)]

        def batch(ids: Sequence[str]) -> list[RemotePage]:
            query: dict[str, Json] = {"id": list(ids), "limit": PAGE_SIZE, "status": status}
            if bodies:
                query["body-format"] = "storage"
            return [page_of(row) for row in self._list(f"{V2}/pages", query)]

        return [page for pages in self.each(batch, batches) for page in pages]

    def page(self, identifier: str) -> RemotePage:
        """One page with its body, whatever its status is.

        Raises:
            NotFoundError, ForbiddenError: there is none, or it is not yours to see.
        """
        return page_of(self._json("GET", f"{V2}/pages/{identifier}", query={"body-format": "storage"}, kind="page"))

    def node(self, kind: str, identifier: str) -> RemotePage:
        """A folder, whiteboard, database or embed."""
        return page_of(self._json("GET", f"{V2}/{kind}s/{identifier}", kind="page"))

    def labels(self, space: str) -> dict[str, list[str]]:
        """The labels of a space by page id. A label raises no version, so each is asked for its pages."""
        listed = self._list(f"{V2}/spaces/{space}/content/labels", {"limit": PAGE_SIZE})
        names = [(identifier_of(row), text_of(row, "name")) for row in listed if _is_global(row)]
        query = {"space-id": space, "limit": PAGE_SIZE}
        holders = self.each(lambda label: [*self._list(f"{V2}/labels/{label[0]}/pages", query)], names)
        labels: dict[str, list[str]] = {}
        for (_, name), rows in zip(names, holders, strict=True):
            for row in rows:
                labels.setdefault(identifier_of(row), []).append(name)
        return labels

    def attachments(self, page: str) -> list[RemoteAttachment]:
        """The files of a page."""
        return [attachment_of(row) for row in self._list(f"{V2}/pages/{page}/attachments", {"limit": PAGE_SIZE})]

    def search(self, space: str, held: Sequence[str], since: str) -> list[ContentHit]:
        """The nodes of a space and what pages hold, as the site's search knows them, which may be some minutes behind.

        Args:
            space: Key of the space.
            held: Kinds of what pages hold: attachment, comment.
            since: Day from which on an attachment or comment was changed, such as 2026-05-31; "" for all.

        Raises:
            ForbiddenError, InvalidInputError, NotFoundError: this login or site has no such search.
        """
        recent = f' and lastmodified >= "{since}"' if since else ""
        clauses = f"(type in ({', '.join(NODE_KINDS)})) or (type in ({', '.join(held)}){recent})"
        cql = f"space = {json.dumps(space)} and ({clauses})"
        query = {"cql": cql, "limit": PAGE_SIZE, "expand": "content.container,content.version"}
        contents = (part_of(row, "content") for row in self._list(f"{V1}/search", query))
        return [content_hit_of(content) for content in contents if content]

    def comments(self, page: str) -> list[RemoteComment]:
        """The comments of a page, oldest first: those below it, then those in its text."""
        return [
            self._comment(row, kind)
            for kind in ("footer-comments", "inline-comments")
            for row in self._list(f"{V2}/pages/{page}/{kind}", {"body-format": "storage", "limit": PAGE_SIZE})
        ]

    def _comment(self, row: Mapping[str, Json], kind: str, depth: int = 0) -> RemoteComment:
        path = f"{V2}/{kind}/{identifier_of(row)}/children"
        query = {"body-format": "storage", "limit": PAGE_SIZE}
        rows = list(self._list(path, query)) if depth < MAX_REPLIES else list[Json]()
        version = part_of(row, "version")
        return RemoteComment(
            author=text_of(version, "authorId"),
            created=text_of(version, "createdAt"),
            body=body_of(row) or b"",
            marked=text_of(part_of(row, "properties"), "inlineOriginalSelection"),
            status=text_of(row, "resolutionStatus"),
            replies=tuple(self._comment(reply, kind, depth + 1) for reply in rows),
        )

    def download(self, page: str, attachment: RemoteAttachment) -> bytes:
        """The bytes of a file."""
        path = self._inner_path(attachment.download)
        if self.login.api:  # the gateway has the API alone, not the paths of the site
            path = f"{V1}/content/{page}/child/attachment/{attachment.id}/download"
        return self._send("GET", path, kind="attachment", redirects=True).content

    def names(self, accounts: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Name and e-mail address of people by account; addresses that the site hides are ""."""
        people: dict[str, tuple[str, str]] = {}
        for at in range(0, len(accounts), PAGE_SIZE):
            content = {"accountIds": list(accounts[at : at + PAGE_SIZE])}
            answer = self._json("POST", f"{V2}/users-bulk", content=content, kind="person", repeat=True)
            for row in answer.get("results", []):
                people[text_of(row, "accountId")] = (text_of(row, "displayName"), text_of(row, "email"))
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
        return page_of(self._json("PUT", f"{V2}/pages/{page.id}", content=content, kind="page"))

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
        return page_of(self._json("POST", f"{V2}/pages", content=content, kind="page"))

    def find_title(self, space: str, title: str) -> RemotePage | None:
        """The current page of a space with exactly this title, with its body."""
        query = {"title": title, "body-format": "storage", "limit": 1}
        for row in self._list(f"{V2}/spaces/{space}/pages", query):
            return page_of(row)
        return None

    def add_labels(self, page: str, names: Iterable[str]) -> None:
        """Add labels to a page."""
        content = [{"prefix": "global", "name": name} for name in names]
        self._json("POST", f"{self._REST}/content/{page}/label", content=content, kind="page", repeat=True)

    def remove_label(self, page: str, name: str) -> None:
        """Remove a label from a page; none is removed if it is not there."""
        with contextlib.suppress(NotFoundError):
            self._send("DELETE", f"{self._REST}/content/{page}/label", query={"name": name}, kind="page")

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
            yield [*rows_of(answer, "results")]
            following = text_of(part_of(answer, "_links"), "next")
            url = self._next_url(following) if following else None

    def _next_url(self, following: str) -> str:
        try:
            parts = urlsplit(urljoin(self.site, following))
        except ValueError:
            raise UnavailableError("The site's listing leads to no address.", kind="site") from None
        return f"{self._inner_path(parts.path)}?{parts.query}"

    def _inner_path(self, path: str) -> str:
        """A path that the site names, as requests write it."""
        return path if path.startswith("/wiki/") else f"/wiki{path}"

    def _json(self, method: str, path: str, **options: Json) -> Json:
        response = self._send(method, path, **options)
        try:
            answer = response.json()
        except (ValueError, RecursionError):
            raise OtherPageError(
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
            try:
                response = self._signed_answer(method, path, redirects=redirects, **request)
            except httpx2.ConnectError as error:
                pause = self._pause(attempt, None, f"{self.site} cannot be reached: {error}")
            except httpx2.InvalidURL as error:
                raise UnavailableError(f"The site names an address that is none: {error}", kind="site") from None
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

    def _signed_answer(self, method: str, path: str, **request: Json) -> httpx2.Response:
        """The answer to a request, which is sent again with a renewed login if its login has expired."""
        login = self.login
        response = self._answer(method, path, **request)
        if response.status_code != HTTPStatus.UNAUTHORIZED:
            self._is_accepted = True
        elif self._is_renewed(login):
            response = self._answer(method, path, **request)
        return response

    def _is_renewed(self, rejected: Login) -> bool:
        """Whether there is another login than the one that the site rejected. One that never worked is not renewed."""
        with self._renewing:
            if self.login == rejected and self.renewal is not None and self._is_accepted:
                self.login, self._is_accepted = self.renewal(rejected), False
            return self.login != rejected

    def _answer(self, method: str, path: str, *, redirects: bool, **request: Json) -> httpx2.Response:
        """The answer to a request, read within bounds; redirects lead to https or stay on the site."""
        headers = {"Authorization": self.login.header, **request.pop("headers", {})}
        sent = self._client.build_request(method, path, headers=headers, **request)
        self.requests += 1
        for hop in range(MAX_REDIRECTS + 1):
            response = self._client.send(sent, stream=True)
            try:
                content = _bounded(response)
            finally:
                response.close()
            self.date = _day(response.headers.get("Date", "")) or self.date
            if not (redirects and response.next_request) or hop == MAX_REDIRECTS:
                return httpx2.Response(response.status_code, headers=_unpacked(response.headers), content=content)
            if not self._may_follow(response.next_request):
                raise UnavailableError("The site leads to an address that is neither its own nor https.", kind="site")
            sent = response.next_request
        raise AssertionError

    def _may_follow(self, request: httpx2.Request) -> bool:
        return request.url.scheme == "https" or str(request.url).startswith(f"{self.login.api or self.site}/")

    def _pause(self, attempt: int, response: httpx2.Response | None, reason: str) -> float:
        """Seconds until the next attempt; the last one has none."""
        delay = response.headers.get("Retry-After", "") if response is not None else ""
        limited = response is not None and response.status_code == HTTPStatus.TOO_MANY_REQUESTS
        seconds = float(delay) if re.fullmatch("[0-9]{1,9}", delay) else min(MAX_PAUSE, 0.5 * 2**attempt)
        if attempt == ATTEMPTS or seconds > MAX_ASKED_PAUSE:
            if limited:
                raise RateLimitedError(
                    "The site limits how often it may be asked.", kind="site", hint=f"Run it again in {seconds:.0f} s."
                )
            raise UnavailableError(
                reason.rstrip(".") + ".",
                kind="site",
                hint="Run the same command again; a clone, pull or push goes on where it was.",
            )
        return seconds + random.uniform(0, 0.25 * seconds)  # noqa: S311 - jitter, no secret

    def _checked(self, response: httpx2.Response, kind: str) -> httpx2.Response:
        status = response.status_code
        if status < HTTPStatus.MULTIPLE_CHOICES:
            return response
        reason = _reason(response)
        errors: dict[int, Callable[[], KnowledgeError]] = {
            401: lambda: UnauthenticatedError(
                "The site rejects the login.",
                kind="site",
                hint=f"Run 'cn login {self.site}', or renew CN_TOKEN; then the same command goes on where it was.",
            ),
            403: lambda: ForbiddenError(f"The site forbids this: {reason}", kind=kind),
            404: lambda: NotFoundError(f"Not there, or not yours to see: {reason}", kind=kind),
            409: lambda: ConflictError(
                "Somebody else wrote the page meanwhile.", kind=kind, hint="Run 'cn pull', then push again."
            ),
            400: lambda: InvalidInputError(f"The site rejects this: {reason}", kind=kind),
        }
        if status < HTTPStatus.BAD_REQUEST:
            raise OtherPageError("The site leads elsewhere, as a sign-in page does.", kind="site")
        error = errors.get(status)
        raise error() if error else UnavailableError(f"The site answers {status}: {reason}", kind="site")


def _is_global(row: Mapping[str, Json]) -> bool:
    return row.get("prefix", "global") == "global"


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
    except (ValueError, RecursionError):
        return f"status {response.status_code}"
    rows = rows_of(answer, "errors")
    text = rows[0] if rows else part_of({"": answer}, "")
    shown = str(text.get("title") or text.get("message") or "")
    return " ".join(shown.split())[:200] or f"status {response.status_code}"


def _bounded(response: httpx2.Response) -> bytes:
    """The content of an answer, unpacked."""
    content = bytearray()
    for piece in response.iter_bytes():
        content += piece
        if len(content) > MAX_ANSWER:
            raise TooLargeError(f"An answer of the site is over {MAX_ANSWER >> 20} MB.", kind="site")
    return bytes(content)


def _day(date: str) -> str:
    """Day of a date as HTTP writes it; "" for any other text."""
    with contextlib.suppress(ValueError, TypeError):
        return parsedate_to_datetime(date).astimezone(UTC).date().isoformat()
    return ""


def _unpacked(headers: httpx2.Headers) -> list[tuple[bytes, bytes]]:
    """The headers of an answer whose content is read."""
    left_out = {b"content-encoding", b"content-length", b"transfer-encoding"}
    return [(name, value) for name, value in headers.raw if name.lower() not in left_out]
