"""The API of Data Center over HTTP on loopback: version 1 alone, below a context path, with personal tokens."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import unquote, urlencode

from confluence.server import ApiRequest, SiteHandler
from confluence.site import MOMENT, Comment, Page

CONTEXT = "/confluence"
MAX_ROWS_WITH_BODY = 3
"""Rows of a listing with bodies, whatever limit is asked for."""

_OPERATIONS = (
    ("GET", r"rest/api/space", "_spaces"),
    ("GET", r"rest/api/space/([^/]+)", "_one_space"),
    ("GET", r"rest/api/content", "_contents"),
    ("POST", r"rest/api/content", "_create"),
    ("GET", r"rest/api/content/search", "_search"),
    ("GET", r"rest/api/content/([^/]+)", "_one_page"),
    ("PUT", r"rest/api/content/([^/]+)", "_update"),
    ("GET", r"rest/api/content/([^/]+)/child/attachment", "_files"),
    ("POST", r"rest/api/content/([^/]+)/child/attachment", "_upload_new"),
    ("POST", r"rest/api/content/([^/]+)/child/attachment/([^/]+)/data", "_upload"),
    ("GET", r"rest/api/content/([^/]+)/child/comment", "_comments"),
    ("GET", r"rest/api/user", "_person"),
    ("POST", r"rest/api/content/([^/]+)/label", "_add_labels"),
    ("DELETE", r"rest/api/content/([^/]+)/label", "_remove_label"),
    ("GET", r"download/attachments/([^/]+)/([^/]+)", "_download"),
)


class DataCenterHandler(SiteHandler):
    """Answers as version 1 does: what is not expanded is not there, and ids of people are keys."""

    def _token(self) -> str:
        return super()._token() if self.headers.get("Authorization", "").startswith("Bearer ") else ""

    def _answer(self, path: str, query: dict[str, list[str]], body: bytes) -> tuple[int, Any]:
        for method, pattern, operation in _OPERATIONS:
            match = re.fullmatch(f"{CONTEXT}/{pattern}", path)
            if method == self.command and match:
                return getattr(self, operation)(ApiRequest(path, match.groups(), query, body))
        return 404, b"<html>Page not found</html>"

    def _spaces(self, request: ApiRequest) -> tuple[int, Any]:
        return self._listed([self._space()], request)

    def _one_space(self, request: ApiRequest) -> tuple[int, Any]:
        return (200, self._space()) if unquote(request.names[0]) == self.server.site.key else self._missing()

    def _space(self) -> dict[str, Any]:
        site = self.server.site
        return {"id": 9001, "key": site.key, "name": site.name, "type": "global", "homepage": {"id": site.home}}

    def _contents(self, request: ApiRequest) -> tuple[int, Any]:
        site, query = self.server.site, request.query
        pages = site.listed() if query["spaceKey"] == [site.key] else []
        pages = [page for page in pages if page.title == query.get("title", [page.title])[0]]
        return self._listed([self._content(page, query) for page in pages], request)

    def _one_page(self, request: ApiRequest) -> tuple[int, Any]:
        page = self.server.site.visible(request.names[0])
        if page is None or page.status not in {"current", *(["trashed"] if request.query.get("status") else [])}:
            return self._missing()
        return 200, self._content(page, request.query)

    def _search(self, request: ApiRequest) -> tuple[int, Any]:
        cql = re.fullmatch(
            r'space = "([^"]*)" and type in \(([a-z, ]*)\)(?: and lastmodified >= "([-\d]*)")?', request.query["cql"][0]
        )
        if not self.server.searchable or cql is None or not set(cql[2].split(", ")) <= {"attachment", "comment"}:
            return 400, {"message": "Could not parse cql"}
        rows = [row for kind, day, row in self._everything() if kind in cql[2].split(", ") and day >= (cql[3] or "")]
        return self._listed(rows if cql[1] == self.server.site.key else [], request)

    def _files(self, request: ApiRequest) -> tuple[int, Any]:
        page, wanted = self.server.site.visible(request.names[0]), request.query.get("filename")
        if page is None:
            return self._missing()
        rows = [self._attachment(page, name) for name in page.files if wanted in (None, [name])]
        return self._listed(rows, request)

    def _attachment(self, page: Page, name: str) -> dict[str, Any]:
        row = self._file(page, name)
        keys = ("id", "title", "status", "version")
        return {**{key: row[key] for key in keys}, "type": "attachment", "_links": {"download": row["downloadLink"]}}

    def _upload_new(self, request: ApiRequest) -> tuple[int, Any]:
        name = re.search(rb'filename="([^"]*)"', request.body)
        if name and name[1].decode() in self.server.site.pages[request.names[0]].files:
            return 400, {"message": "Cannot add a new attachment with same file name as an existing attachment"}
        return self._upload(request)

    def _comments(self, request: ApiRequest) -> tuple[int, Any]:
        page = self.server.site.visible(request.names[0])
        comments = page.comments if page else []
        queue = [comment for other in self.server.site.pages.values() for comment in other.comments]
        for comment in queue:
            queue += comment.replies
            comments = comment.replies if comment.id == request.names[0] else comments
        return self._listed([self._remark(comment) for comment in comments], request)

    def _remark(self, comment: Comment) -> dict[str, Any]:
        extensions: dict[str, Any] = {"location": "inline" if comment.ref else "footer"}
        if comment.ref:
            extensions["inlineProperties"] = {"originalSelection": comment.text, "markerRef": comment.ref}
            extensions["resolution"] = {"status": "resolved" if comment.resolved else "open"}
        return {
            "id": comment.id,
            "type": "comment",
            "history": {"createdDate": MOMENT.format(3), "createdBy": self._who(comment.author)},
            "body": {"storage": {"representation": "storage", "value": comment.body}},
            "extensions": extensions,
        }

    def _person(self, request: ApiRequest) -> tuple[int, Any]:
        account = request.query["key"][0]
        return (200, self._who(account)) if account in self.server.site.people else self._missing()

    def _who(self, account: str) -> dict[str, Any]:
        name = self.server.site.people.get(account, (account, ""))[0]
        return {"type": "known", "userKey": account, "username": f"u-{account}", "displayName": name}

    def _update(self, request: ApiRequest) -> tuple[int, Any]:
        return self._written(*super()._update(self._as_v2(request)), request)

    def _create(self, request: ApiRequest) -> tuple[int, Any]:
        return self._written(*super()._create(self._as_v2(request)), request)

    def _as_v2(self, request: ApiRequest) -> ApiRequest:
        content = json.loads(request.body)
        content["body"] = content["body"]["storage"]
        if content.get("ancestors"):
            content["parentId"] = content["ancestors"][-1]["id"]
        return ApiRequest(request.path, request.names, {}, json.dumps(content).encode())

    def _written(self, status: int, answer: Any, request: ApiRequest) -> tuple[int, Any]:
        if status != 200:
            return status, {"statusCode": status, "message": answer["errors"][0]["title"]}
        return 200, self._content(self.server.site.pages[answer["id"]], request.query)

    def _missing(self) -> tuple[int, Any]:
        return 404, {"statusCode": 404, "message": "No content found, or no permission"}

    def _content(self, page: Page, query: dict[str, list[str]]) -> dict[str, Any]:
        site = self.server.site
        expanded = query.get("expand", [""])[0].split(",")
        row: dict[str, Any] = {
            "id": page.id,
            "type": "page",
            "status": page.status,
            "title": page.title,
            "_links": {"webui": f"/pages/viewpage.action?pageId={page.id}"},
        }
        more: dict[str, Any] = {
            "version": {"number": page.version, "when": MOMENT.format(2), "by": self._who(page.modifier)},
            "history": {"createdDate": MOMENT.format(1), "createdBy": self._who(page.author)},
            "space": {"key": site.key},
            "ancestors": [{"id": above.id, "title": above.title} for above in self._above(page)],
            "metadata.labels": {"results": [{"prefix": "global", "name": name} for name in sorted(page.labels)]},
            "body.storage": {"value": page.body, "representation": "storage"},
        }
        for name in expanded:
            outer, _, inner = name.partition(".")
            if name in more:
                row[outer] = {inner: more[name]} if inner else more[name]
        return row

    def _above(self, page: Page) -> list[Page]:
        above: list[Page] = []
        while page.parent and (parent := self.server.site.pages.get(page.parent)) and parent not in above:
            above.insert(0, parent)
            page = parent
        return above

    def _listed(self, rows: list[Any], request: ApiRequest) -> tuple[int, Any]:
        query = request.query
        start, limit = int(query.get("start", ["0"])[0]), int(query.get("limit", ["25"])[0])
        if "body.storage" in query.get("expand", [""])[0]:
            limit = min(limit, MAX_ROWS_WITH_BODY)
        links = {"base": f"{self.server.url}{CONTEXT}", "context": CONTEXT}
        if start + limit < len(rows):
            rest = [(key, value) for key, values in query.items() if key != "start" for value in values]
            path = request.path.removeprefix(CONTEXT)
            links["next"] = f"{path}?{urlencode([*rest, ('start', start + limit)])}"
        return 200, {"results": rows[start : start + limit], "start": start, "limit": limit, "_links": links}
