"""The site's API over HTTP on loopback."""

from __future__ import annotations

import base64
import gzip
import json
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit
from zlib import crc32

from confluence.judge import judge
from confluence.site import LONG_AGO, MOMENT, Comment, Page, Site

V2 = "/wiki/api/v2"
Fault = Callable[[int, str, str], str | None]
"""What happens to a request by its number, method and path: None, `cut`, `cut-after`, a status such as `429`, or the
answer of a program that is no site: `html`, `deep` JSON, or an `odd header`."""


_OPERATIONS = (
    ("GET", r"api/v2/spaces", "_spaces"),
    ("GET", r"api/v2/spaces/([^/]+)", "_one_space"),
    ("GET", r"api/v2/spaces/([^/]+)/pages", "_pages_of_space"),
    ("GET", r"api/v2/spaces/([^/]+)/content/labels", "_labels_of_space"),
    ("GET", r"api/v2/pages", "_pages_with_ids"),
    ("GET", r"api/v2/pages/([^/]+)", "_one_page"),
    ("GET", r"api/v2/pages/([^/]+)/attachments", "_files"),
    ("GET", r"api/v2/(folder|whiteboard|database|embed)s/([^/]+)", "_node"),
    ("GET", r"api/v2/labels/([^/]+)/pages", "_pages_with_label"),
    ("POST", r"api/v2/users-bulk", "_people"),
    ("PUT", r"api/v2/pages/([^/]+)", "_update"),
    ("POST", r"api/v2/pages", "_create"),
    ("GET", r"api/v2/pages/([^/]+)/(footer|inline)-comments", "_comments"),
    ("GET", r"api/v2/(footer|inline)-comments/([^/]+)/children", "_replies"),
    ("GET", r"rest/api/search", "_search"),
    ("GET", r"download/attachments/([^/]+)/([^/]+)", "_download"),
    ("POST", r"rest/api/content/([^/]+)/label", "_add_labels"),
    ("DELETE", r"rest/api/content/([^/]+)/label", "_remove_label"),
    ("PUT", r"rest/api/content/([^/]+)/child/attachment", "_upload"),
)
"""Method, path and handler of each operation."""


@dataclass(frozen=True)
class ApiRequest:
    """A request to an operation."""

    path: str
    names: tuple[str, ...]
    query: dict[str, list[str]]
    body: bytes


class SiteServer(ThreadingHTTPServer):
    """Serves a site. `violations` are what the API's description does not allow, on either side."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, site: Site, handler: type[SiteHandler] | None = None) -> None:
        super().__init__(("127.0.0.1", 0), handler or SiteHandler)
        self.site = site
        self.count = 0
        self.log: list[str] = []
        self.violations: list[str] = []
        self.fault: Fault = lambda _number, _method, _path: None
        self.tokens = {"secret"}
        self.granted = 0
        self.searchable = True
        self.judged = True
        self.redirect = ""
        self.packing = ""
        self.ahead = 0
        """Seconds by which the clock of the answers is ahead."""
        self.counting = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # a client that was killed


@contextmanager
def serving(site: Site, handler: type[SiteHandler] | None = None) -> Iterator[SiteServer]:
    """Serve a site for the duration of a `with` block."""
    server = SiteServer(site, handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class SiteHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else the body of an answer waits 40 ms for the acknowledgement of its head
    server: SiteServer

    def log_message(self, *_: Any) -> None:
        pass

    def date_time_string(self, timestamp: float | None = None) -> str:
        return super().date_time_string((time.time() if timestamp is None else timestamp) + self.server.ahead)

    def _handle(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with self.server.counting:
            self.server.count += 1
            number = self.server.count
            self.server.log.append(f"{self.command} {self.path}")
        fault = self.server.fault(number, self.command, self.path)
        if fault == "cut":
            self._cut()
            return
        if fault and fault != "cut-after":
            self._fault(fault)
            return
        if "secret" not in self._token():
            self._send(401, {"errors": [{"title": "Unauthorized"}]})
            return
        if self.server.redirect and "/download/" in self.path:
            self._raw(302, b"", "text/plain", {"Location": self.server.redirect})
            return
        with self.server.site.lock:
            status, answer = self._answer(parts.path, parse_qs(parts.query), body)
        self._judge(parts.path, parts.query, body, status, answer)
        if fault == "cut-after":
            self._cut()
            return
        self._send(status, answer)

    do_GET = do_PUT = do_POST = do_DELETE = _handle  # noqa: N815

    def _token(self) -> str:
        kind, _, value = self.headers.get("Authorization", "").partition(" ")
        text = base64.b64decode(value).decode() if kind == "Basic" else value
        return next((token for token in self.server.tokens if text.endswith(token)), "") and "secret"

    def _judge(self, path: str, query: str, body: bytes, status: int, answer: Any) -> None:
        if self.server.judged and judge() is not None and path.startswith(V2):
            inner = path.removeprefix(V2)
            faults = judge().request(self.command, inner, query, body) + judge().reply(
                self.command, inner, status, answer
            )
            self.server.violations += faults

    def _cut(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def _fault(self, fault: str) -> None:
        if fault == "html":
            self._raw(200, b"<html><body>Sign in to the proxy</body></html>", "text/html")
        elif fault == "deep":
            self._raw(200, b"[" * 100_000, "application/json")
        elif fault == "odd header":
            self._raw(503, b"[" * 100_000, "application/json", {"Retry-After": "\xb2"})
        else:
            self._send(int(fault), {"errors": [{"title": "later"}]}, {"Retry-After": "0"})

    def _send(self, status: int, answer: Any, headers: dict[str, str] | None = None) -> None:
        if isinstance(answer, bytes):
            self._raw(status, answer, "application/octet-stream")
        else:
            self._raw(status, json.dumps(answer).encode(), "application/json", headers)

    def _raw(self, status: int, content: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        if self.server.packing:
            content = gzip.compress(content)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    # The operations.

    def _answer(self, path: str, query: dict[str, list[str]], body: bytes) -> tuple[int, Any]:
        for method, pattern, operation in _OPERATIONS:
            match = re.fullmatch(pattern, path.removeprefix("/wiki/"))
            if method == self.command and match:
                return getattr(self, operation)(ApiRequest(path, match.groups(), query, body))
        return self._missing()

    def _spaces(self, request: ApiRequest) -> tuple[int, Any]:
        keys = request.query.get("keys", [self.server.site.key])
        return 200, {"results": [self._space()] if self.server.site.key in keys else [], "_links": {}}

    def _one_space(self, request: ApiRequest) -> tuple[int, Any]:
        return (200, self._space()) if request.names[0] == self.server.site.space else self._missing()

    def _pages_of_space(self, request: ApiRequest) -> tuple[int, Any]:
        pages = self.server.site.listed()
        if "title" in request.query:
            pages = [page for page in pages if page.title == request.query["title"][0]]
        return self._listed([self._page(page, request.query) for page in pages], request)

    def _pages_with_ids(self, request: ApiRequest) -> tuple[int, Any]:
        pages = [self.server.site.visible(number) for number in request.query.get("id", [])]
        rows = [self._page(page, request.query) for page in pages if page and page.status == "current"]
        return self._listed(rows, request)

    def _one_page(self, request: ApiRequest) -> tuple[int, Any]:
        page = self.server.site.visible(request.names[0])
        return (200, self._page(page, request.query)) if page else self._missing()

    def _node(self, request: ApiRequest) -> tuple[int, Any]:
        page = self.server.site.visible(request.names[1])
        return (200, {**self._page(page, {}), "type": page.kind}) if page else self._missing()

    def _labels_of_space(self, _: ApiRequest) -> tuple[int, Any]:
        names = sorted({label for page in self.server.site.listed() for label in page.labels})
        return 200, {"results": [{"id": self._label(n), "name": n, "prefix": "global"} for n in names], "_links": {}}

    def _pages_with_label(self, request: ApiRequest) -> tuple[int, Any]:
        pages = [
            page
            for page in self.server.site.listed()
            if request.names[0] in {self._label(name) for name in page.labels}
        ]
        return self._listed([self._page(page, {}) for page in pages], request)

    def _files(self, request: ApiRequest) -> tuple[int, Any]:
        page = self.server.site.visible(request.names[0])
        return self._listed([self._file(page, name) for name in page.files], request) if page else self._missing()

    def _comments(self, request: ApiRequest) -> tuple[int, Any]:
        page = self.server.site.visible(request.names[0])
        if page is None:
            return self._missing()
        comments = [comment for comment in page.comments if bool(comment.ref) == (request.names[1] == "inline")]
        return self._listed([self._comment(comment, page.id) for comment in comments], request)

    def _replies(self, request: ApiRequest) -> tuple[int, Any]:
        queue = [comment for page in self.server.site.pages.values() for comment in page.comments]
        for comment in queue:
            if comment.id == request.names[1]:
                return self._listed([self._comment(reply, "") for reply in comment.replies], request)
            queue += comment.replies
        return self._missing()

    def _comment(self, comment: Comment, page: str) -> dict[str, Any]:
        answer = {
            "id": comment.id,
            "status": "current",
            "title": "Re: x",
            "version": {"number": 1, "createdAt": MOMENT.format(3), "authorId": comment.author},
            "body": {"storage": {"representation": "storage", "value": comment.body}},
        }
        if page:
            answer["pageId"] = page
        if comment.ref:
            marked = {"inlineMarkerRef": comment.ref, "inlineOriginalSelection": comment.text}
            answer |= {"resolutionStatus": "resolved" if comment.resolved else "open", "properties": marked}
        return answer

    def _search(self, request: ApiRequest) -> tuple[int, Any]:
        cql = request.query["cql"][0]
        space = re.match(r'space = "([^"]*)" and \(', cql)
        if not self.server.searchable or space is None:
            return 403, {"message": "Not permitted to use confluence"}
        since = re.search(r'type in \(([^)]*)\) and lastmodified >= "(\d{4}-\d\d-\d\d)"', cql)
        kinds = {kind for kinds in re.findall(r"type in \(([^)]*)\)", cql) for kind in kinds.split(", ")}
        first_day = dict.fromkeys(since[1].split(", "), since[2]) if since else {}
        hits = [row for row in self._everything() if row[0] in kinds and row[1] >= first_day.get(row[0], "")]
        rows = (
            [{"content": content, "title": "x"} for _, _, content in hits] if space[1] == self.server.site.key else []
        )
        return self._listed(rows, request)

    def _everything(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Kind, day of the last change and content of what the search knows beside pages."""
        pages = [page for page in self.server.site.pages.values() if page.status == "current" and not page.restricted]
        for page in pages:
            if page.kind != "page":
                yield page.kind, LONG_AGO, {"id": page.id, "type": page.kind, "title": page.title}
            held = [("attachment", name, self._file(page, name)) for name in page.files]
            held += [("comment", "", self._comment(comment, page.id)) for comment in page.comments]
            for kind, name, row in held:
                content = {"id": row["id"], "type": kind, "version": row["version"], "container": {"id": page.id}}
                yield kind, page.days.get(name, LONG_AGO), content

    def _people(self, request: ApiRequest) -> tuple[int, Any]:
        people = self.server.site.people
        accounts = [account for account in json.loads(request.body)["accountIds"] if account in people]
        rows = [{"accountId": a, "displayName": people[a][0], "email": people[a][1]} for a in accounts]
        return 200, {"results": rows, "_links": {}}

    def _download(self, request: ApiRequest) -> tuple[int, Any]:
        page, name = self.server.site.visible(request.names[0]), unquote(request.names[1])
        return (200, page.files[name][1]) if page and name in page.files else self._missing()

    def _add_labels(self, request: ApiRequest) -> tuple[int, Any]:
        self.server.site.writes.append(("label", request.names[0]))
        self.server.site.pages[request.names[0]].labels |= {one["name"] for one in json.loads(request.body)}
        return 200, {"results": []}

    def _remove_label(self, request: ApiRequest) -> tuple[int, Any]:
        self.server.site.writes.append(("label", request.names[0]))
        self.server.site.pages[request.names[0]].labels -= set(request.query["name"])
        return 200, {}

    def _upload(self, request: ApiRequest) -> tuple[int, Any]:
        page, body = self.server.site.pages[request.names[0]], request.body
        if self.headers.get("X-Atlassian-Token") != "no-check":
            return 403, {"message": "XSRF check failed"}
        boundary = self.headers["Content-Type"].partition("boundary=")[2].encode()
        part = body.split(b"--" + boundary)[1]
        head, _, content = part.partition(b"\r\n\r\n")
        name = head.split(b'filename="')[1].split(b'"')[0].decode()
        self.server.site.attach(page, name, content.removesuffix(b"\r\n"))
        self.server.site.writes.append(("file", page.id))
        return 200, {"results": []}

    def _update(self, request: ApiRequest) -> tuple[int, Any]:
        page, wanted = self.server.site.visible(request.names[0]), json.loads(request.body)
        if page is None or page.status != "current":
            return self._missing()
        if wanted["version"]["number"] != page.version + 1:
            return 409, {"errors": [{"status": 409, "title": "Version must be incremented on update"}]}
        if wanted["title"] != page.title and self._is_taken(wanted["title"], page):
            return self._taken()
        message = wanted["version"].get("message", "")
        self.server.site.write(page, wanted["title"], wanted["body"]["value"], wanted.get("parentId"), message)
        return 200, self._page(page, {"body-format": ["storage"]})

    def _create(self, request: ApiRequest) -> tuple[int, Any]:
        wanted = json.loads(request.body)
        if self._is_taken(wanted["title"], None):
            return self._taken()
        site = self.server.site
        page = site.add(wanted["title"], wanted.get("parentId") or site.home, site.store(wanted["body"]["value"]))
        site.writes.append(("POST", page.id))
        return 200, self._page(page, {"body-format": ["storage"]})

    def _is_taken(self, title: str, page: Page | None) -> bool:
        others = (other for other in self.server.site.pages.values() if other is not page and other.status == "current")
        return any(other.title.lower() == title.lower() for other in others)

    def _taken(self) -> tuple[int, Any]:
        return 400, {"errors": [{"title": "A page with this title already exists in this space"}]}

    def _missing(self) -> tuple[int, Any]:
        return 404, {"errors": [{"status": 404, "title": "Not Found"}]}

    def _listed(self, rows: list[Any], request: ApiRequest) -> tuple[int, Any]:
        query = request.query
        start, limit = int(query.get("cursor", ["0"])[0]), int(query.get("limit", ["25"])[0])
        links = {}
        if start + limit < len(rows):
            rest = [(key, value) for key, values in query.items() if key != "cursor" for value in values]
            links["next"] = f"{request.path}?{urlencode([*rest, ('cursor', start + limit)])}"
        return 200, {"results": rows[start : start + limit], "_links": links}

    def _space(self) -> dict[str, Any]:
        site = self.server.site
        return {"id": site.space, "key": site.key, "name": site.name, "type": "global", "homepageId": site.home}

    def _page(self, page: Page, query: dict[str, list[str]]) -> dict[str, Any]:
        site = self.server.site
        parent = site.pages.get(page.parent)
        answer = {
            "id": page.id,
            "status": page.status,
            "title": page.title,
            "spaceId": site.space,
            "authorId": page.author,
            "createdAt": MOMENT.format(1),
            "version": {
                "number": page.version,
                "createdAt": MOMENT.format(2),
                "authorId": page.modifier,
                "message": page.message,
            },
            "_links": {"webui": f"/spaces/{site.key}/{'pages' if page.kind == 'page' else page.kind}/{page.id}"},
        }
        if parent is not None:
            answer |= {"parentId": parent.id, "parentType": parent.kind}
        if "body-format" in query:
            answer["body"] = {"storage": {"representation": "storage", "value": page.body}}
        return answer

    def _label(self, name: str) -> str:
        return str(sum(name.encode()) * 1000 + len(name))

    def _file(self, page: Page, name: str) -> dict[str, Any]:
        version, content = page.files[name]
        return {
            "id": f"att{page.id}-{crc32(name.encode())}",
            "title": name,
            "status": "current",
            "pageId": page.id,
            "fileSize": len(content),
            "mediaType": "application/octet-stream",
            "version": {"number": version},
            "downloadLink": f"/download/attachments/{page.id}/{quote(name, safe='')}",
        }
