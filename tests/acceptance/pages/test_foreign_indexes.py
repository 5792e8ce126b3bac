"""Indexes that other programs built, and servers that cannot be used: recognised at start; our own index is taken."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from agent import agent
from shell import TIMEOUT
from spaces.places import Served, cn
from spaces.server import KEY, SearchServer

PAGES = {"one": "elephant rain", "two": "elephant sun"}
OLDER_SETTINGS = {
    "searchableAttributes": ["title", "content"],
    "filterableAttributes": ["space_key", "labels", "author_email", "last_modifier_email"],
    "sortableAttributes": ["created_at", "updated_at"],
}
"""Settings of an index built by the older command, which cannot filter by authors' names and dates."""
OUR_SETTINGS = {
    **OLDER_SETTINGS,
    "filterableAttributes": [*OLDER_SETTINGS["filterableAttributes"], "author_name", "created_at", "updated_at"],
}
AGAIN = "Run 'cn search index' to build it anew."


class Server:
    """A server that other programs use as well."""

    def __init__(self, server: SearchServer) -> None:
        self.environment = server.environment
        self._url = server.url

    def ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """The answer of a request; of one that starts a task, after the task has succeeded."""
        request = urllib.request.Request(  # noqa: S310 - our own process
            f"{self._url}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"},
        )
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:  # noqa: S310 - our own process
            answer = json.loads(response.read() or b"{}")
        deadline = time.monotonic() + TIMEOUT
        while "taskUid" in answer and time.monotonic() < deadline:
            task = self.ask("GET", f"/tasks/{answer['taskUid']}")
            if task["status"] == "succeeded":
                return task
            assert task["status"] in {"enqueued", "processing"}, task
            time.sleep(0.02)
        return answer

    def build(self, name: str, settings: Mapping[str, Any], space_keys: Sequence[str]) -> None:
        """An index with a document for each space key."""
        if not any(index["uid"] == name for index in self.ask("GET", "/indexes?limit=1000")["results"]):
            self.ask("POST", "/indexes", {"uid": name, "primaryKey": "id"})
        self.ask("PATCH", f"/indexes/{name}/settings", settings)
        documents = [
            {"id": f"d{at}", "title": "Old", "content": "elephant", "space_key": key, "labels": []}
            for at, key in enumerate(space_keys)
        ]
        if documents:
            self.ask("POST", f"/indexes/{name}/documents", documents)


@pytest.fixture(scope="module")
def server(search_server: SearchServer) -> Server:
    return Server(search_server)


def space_at(folder: Path, index: str, pages: Mapping[str, str] = PAGES) -> Path:
    folder.mkdir(parents=True)
    (folder / ".confluence.json").write_text(json.dumps({"spaceKey": "ENG", "search": {"indexName": index}}))
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(f"---\npage_id: {name}\n---\n# Page {name}\n\n{text}\n")
    return folder


@pytest.mark.parametrize(
    ("name", "settings", "space_keys", "reason"),
    [
        ("older", OLDER_SETTINGS, ["", ""], "Attribute `author_name` is not filterable"),
        ("unsorted", {**OUR_SETTINGS, "sortableAttributes": []}, ["ENG"], "is not sortable"),
        ("nameless", OUR_SETTINGS, ["", "", ""], "none of its 3 documents is a page of this space"),
        ("another", OUR_SETTINGS, ["OPS"], "none of its 1 documents is a page of this space"),
        ("hollow", OUR_SETTINGS, [], "it is empty"),
    ],
)
@pytest.mark.sampled(6)
def test_an_index_that_cannot_be_used_ends_every_start_until_it_is_built_anew(
    tmp_path: Path, server: Server, name: str, settings: Mapping[str, Any], space_keys: Sequence[str], reason: str
) -> None:
    server.build(f"foreign-{name}", settings, space_keys)
    folder = space_at(tmp_path / "eng", f"foreign-{name}")
    for _ in range(2):
        done = Served(folder, ".", env=server.environment).end(None)
        said = f'Error: The search index "foreign-{name}" cannot be used for space "ENG": '
        assert (done.code, said in done.stderr, reason in done.stderr, AGAIN in done.stderr) == (10, True, True, True)
        assert done.stdout == b""
    status = cn(folder, "search", "status", "--json", env=server.environment)
    assert (status.code, status.json["connected"], reason in status.json["error"]) == (10, True, True)
    assert cn(folder, "search", "index", env=server.environment).text == "Indexed 2 pages\n"
    with agent("mcp", folder, env={"HOME": str(tmp_path), **server.environment}, module="commonplace.cn") as client:
        assert client.call("search", query="elephant", author="nobody")["total"] == 0
        assert client.call("search", query="elephant", sort="updated_at")["total"] == 2


def test_our_own_fresh_index_is_taken_also_that_of_a_space_without_pages(tmp_path: Path, server: Server) -> None:
    for name, pages in (("own", PAGES), ("bare", {})):
        folder = space_at(tmp_path / name, f"foreign-{name}", pages)
        assert cn(folder, "search", "index", env=server.environment).code == 0
        done = Served(folder, ".", env=server.environment).end(None)
        assert done.code == 0, done.stderr
        assert f'cn mcp: index "foreign-{name}" ready ({len(pages)} documents)' in done.stderr


def test_an_index_that_is_replaced_while_the_server_runs_is_named_by_the_next_search(
    tmp_path: Path, server: Server
) -> None:
    folder = space_at(tmp_path / "eng", "foreign-replaced")
    assert cn(folder, "search", "index", env=server.environment).code == 0
    with agent("mcp", folder, env={"HOME": str(tmp_path), **server.environment}, module="commonplace.cn") as client:
        assert client.call("search", query="elephant", author="nobody")["total"] == 0
        server.ask("PUT", "/indexes/foreign-replaced/settings/filterable-attributes", ["space_key", "labels"])
        error = client.protocol_error("search", query="elephant", author="nobody")
        assert error.error.message.startswith('Search error: The search index "foreign-replaced" cannot be used')
        assert AGAIN in error.error.message


def test_an_index_whose_pages_are_replaced_by_others_is_named_where_it_is_searched(
    tmp_path: Path, server: Server
) -> None:
    folder = space_at(tmp_path / "eng", "foreign-emptied")
    assert cn(folder, "search", "index", env=server.environment).code == 0
    environment = {"HOME": str(tmp_path), **server.environment}
    with agent("mcp", folder, env=environment, module="commonplace.cn") as client:
        assert client.call("search", query="zzzyxw")["total"] == 0
        server.ask("DELETE", "/indexes/foreign-emptied/documents")
        server.build("foreign-emptied", OUR_SETTINGS, ["", ""])
        error = client.protocol_error("search", query="elephant")
        assert "none of its 2 documents is a page of this space" in error.error.message
    done = cn(folder, "search", "elephant", env=server.environment)
    assert (done.code, AGAIN in done.stderr) == (10, True)


@contextmanager
def answering(answers: Mapping[str, tuple[int, bytes]]) -> Iterator[str]:
    """The URL of a server with these answers, and 404 for everything else."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = answers.get(self.path, (404, b"<html>not here</html>"))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as served:
        thread = threading.Thread(target=served.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{served.server_port}"
        finally:
            served.shutdown()
            thread.join()


HEALTHY = (200, b'{"status": "available"}')


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ({}, "is no Meilisearch: it answered with status 404. Check the URL"),
        ({"/health": (200, b"<html>hello</html>")}, "is no Meilisearch: its answer is not JSON"),
        ({"/health": (200, b'{"status": "green"}')}, "is no Meilisearch: its health is not that of a Meilisearch"),
        ({"/health": (301, b"")}, "is no Meilisearch: it answered with status 301"),
        ({"/health": HEALTHY, "/version": (200, b'{"number": "8.1"}')}, "is no Meilisearch: it names no version"),
        ({"/health": HEALTHY, "/version": (200, b'{"pkgVersion": "0.27.2"}')}, "is version 0.27.2, which is too old"),
        ({"/health": (500, b"")}, "not available at"),
    ],
)  # fmt: skip
@pytest.mark.sampled(8)
def test_a_server_that_cannot_be_used_is_named(
    tmp_path: Path, answers: Mapping[str, tuple[int, bytes]], says: str
) -> None:
    folder = space_at(tmp_path / "eng", "never")
    with answering(answers) as url:
        done = Served(folder, ".", env={"MEILI_URL": url}).end(None)
    assert (done.code, url in done.stderr, says in done.stderr, "Traceback" in done.stderr) == (9, True, True, False)


def test_a_wrong_path_in_the_url_of_a_real_server_is_named(tmp_path: Path, search_server: SearchServer) -> None:
    folder = space_at(tmp_path / "eng", "never")
    url = f"{search_server.url}/search"
    done = cn(folder, "search", "x", env={**search_server.environment, "MEILI_URL": url})
    assert (done.code, done.stdout) == (9, b"")
    assert f"The server at {url} is no Meilisearch: it answered with status 404." in done.stderr
