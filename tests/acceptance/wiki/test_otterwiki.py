"""The wiki tools on the API of an Otterwiki, whose answers are those that Otterwiki 2.26.1 with its API plugin gave.

The empty answers, the 404 of the changelog and the 503s are made up after the contract.
"""

# ruff: noqa: E501 - one line a case

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest

from agent import Agent, RefusedError, agent

HTML = "<!doctype html>\n<html lang=en>\n<title>{0}</title>\n<h1>{0}</h1>\n<p>{1}</p>\n"
REVISION = "a0859fb11f1ef6d220b48cc1575f707d3ee2a162"
CONTENT = (
    "---\ncategory: actor\ntags: [military]\nlast_updated: 2026-03-08\n---\n# Iran\n\nAttacks. [[Trends/Attrition]]\n"
)
ROWS = [
    {"category": "actor", "content_length": 4, "last_updated": "2026-11-27", "name": "Iran", "path": "Actors/Iran", "tags": ["military"]},
    {"category": None, "content_length": 3, "last_updated": "2026-11-27", "name": "Alone", "path": "Alone", "tags": []},
    {"category": "index", "content_length": 3, "last_updated": "2026-11-27", "name": "Home", "path": "Home", "tags": []},
]  # fmt: skip
HITS = [{"name": name, "path": path, "score": 0.5, "snippet": f"About {name}"} for name, path in (("Iran", "Actors/Iran"), ("Home", "Home"))]  # fmt: skip
COMMIT = {"author": "U", "date": "2026-11-27T17:00:39+00:00", "message": "Begin\n", "revision": REVISION}
PAGE = {
    "content": CONTENT,
    "frontmatter": {"category": "actor", "last_updated": "Sun, 08 Mar 2026 00:00:00 GMT", "tags": ["military"]},
    "last_commit": COMMIT,
    "linked_from": ["Home"],
    "links_to": ["Trends/Attrition"],
    "name": "Iran",
    "path": "Actors/Iran",
    "revision": REVISION,
}
ANSWERS: dict[str, tuple[int, Any]] = {
    "GET /pages": (200, {"pages": ROWS, "total": 3}),
    "GET /pages/Actors/Iran": (200, PAGE),
    "GET /pages/Nobody": (404, {"error": "Page not found: Nobody"}),
    "GET /pages/Actors/Iran?revision=0000000": (404, {"error": "Page not found: Actors/Iran"}),
    "GET /pages/Nobody?revision=0000000": (404, {"error": "Page not found: Nobody"}),
    "GET /search": (200, {"query": "x", "results": HITS, "total": 2}),
    "GET /semantic-search": (404, HTML.format("404 Page not found", 'Page "Api/V1/Semantic-Search" not found.')),
    "GET /pages/Actors/Iran/attachments/no.txt": (404, {"error": "Attachment not found: no.txt"}),
    "POST /pages/Home/rename": (409, {"error": "A page already exists at: Alone"}),
    "PUT /pages/New": (400, HTML.format("400 Bad Request", "The CSRF token is missing.")),
    "PUT /pages/Silent": (200, {}),
    "DELETE /pages/Silent": (200, {}),
    "GET /pages/Silent": (200, {}),
    "GET /links/Silent": (200, ""),
    "GET /changelog": (404, HTML.format("404 Not Found", "")),
    "GET /pages/Busy": (503, HTML.format("503 Service Unavailable", "")),
}


class Otterwiki(BaseHTTPRequestHandler):
    def answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.removeprefix("/api/v1")
        exact = f"{self.command} {path}"
        status, body = ANSWERS[exact if exact in ANSWERS else f"{self.command} {urlsplit(path).path}"]
        raw = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html" if isinstance(body, str) else "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815 - names of the library

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def wiki() -> Iterator[Agent]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Otterwiki) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        there = {"OTTERWIKI_API_URL": f"http://127.0.0.1:{server.server_port}", "OTTERWIKI_API_KEY": "k"}
        with agent("mcp", "--toolset", "wiki", env=there) as client:
            yield client
        server.shutdown()
        thread.join()


def test_dates_are_days(wiki: Agent) -> None:
    shown = wiki.text("read_note", path="Actors/Iran")
    assert "Category: actor | Tags: military\nLast updated: 2026-03-08\nLinks to: Trends/Attrition\n" in shown


def test_limits_hold_although_the_server_has_none(wiki: Agent) -> None:
    assert wiki.text("list_notes", limit=1, offset=1) == (
        "Found 3 notes:\n\n- Alone (3 words, updated 2026-11-27)\n\nShowing 1 of 3; pass offset=2 for more."
    )
    assert wiki.text("search_notes", query="x", limit=1) == (
        '2 results for "x":\n\n1. Actors/Iran (score: 0.50)\n   About Iran\n\n'
        "Showing 1 of 2; pass a higher limit or ask more narrowly."
    )


MISSING = "Page not found: Nobody. Use write_note to create it, or list_notes to see available pages."
NO_API = "Check OTTERWIKI_API_URL: it must name a server of the wiki API, without /api/v1 or with it."
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("read_note", {"path": "Nobody"}, MISSING),
    ("read_note", {"path": "Nobody", "revision": "0000000"}, MISSING),
    ("read_note", {"path": "Actors/Iran", "revision": "0000000"}, "Revision not found: 0000000 of Actors/Iran. Use the page's history to see its revisions."),
    ("semantic_search", {"query": "x"}, "Semantic search is not set up on this server. Use search_notes instead: it searches by keywords."),
    ("download_attachment", {"path": "Actors/Iran", "filename": "no.txt"}, "Attachment not found: no.txt"),
    ("rename_note", {"path": "Home", "new_path": "Alone"}, "A page already exists at: Alone. Choose another path."),
    ("write_note", {"path": "New", "content": "x"}, "PUT /api/v1/pages/New was answered with status 400 and not as the wiki API answers. This Otterwiki refuses every write of its API until it is started with WTF_CSRF_ENABLED=False."),
    ("write_note", {"path": "Silent", "content": "x"}, f"PUT /api/v1/pages/Silent was answered with status 200 and not as the wiki API answers. {NO_API}"),
    ("delete_note", {"path": "Silent"}, f"DELETE /api/v1/pages/Silent was answered with status 200 and not as the wiki API answers. {NO_API}"),
    ("read_note", {"path": "Silent"}, f"GET /api/v1/pages/Silent was answered with status 200 and not as the wiki API answers. {NO_API}"),
    ("get_links", {"path": "Silent"}, f"GET /api/v1/links/Silent was answered with status 200 and not as the wiki API answers. {NO_API}"),
    ("get_recent_changes", {}, f"GET /api/v1/changelog was answered with status 404 and not as the wiki API answers. {NO_API}"),
    ("read_note", {"path": "Busy"}, "The wiki API is not responding. It may be restarting. Try again in a few seconds."),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "shown"), REFUSED, ids=[f"{row[0]} {row[1].get('path', '')}" for row in REFUSED])  # fmt: skip
def test_an_answer_that_is_no_success_is_told_as_what_it_is(
    wiki: Agent, tool: str, arguments: dict[str, Any], shown: str
) -> None:
    with pytest.raises(RefusedError) as caught:
        wiki.text(tool, **arguments)
    assert caught.value.text == shown


def test_semantic_search_that_is_switched_off_is_told_as_such(wiki: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ANSWERS, "GET /semantic-search", (503, {"error": "Semantic search is not available"}))
    with pytest.raises(RefusedError, match="Use search_notes instead"):
        wiki.text("semantic_search", query="x")
