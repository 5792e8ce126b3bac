"""The REST API over a real socket: every endpoint, odd names, revisions, and what is refused."""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from serving import Server, served
from support import GitRepo, new_repo
from wiki_base import NOTES, STRATEGY

API = "/api/v1"


def _site(folder: Path) -> Iterator[tuple[Server, GitRepo]]:
    repo = new_repo(folder / "wiki", NOTES)
    env = {"XDG_CACHE_HOME": str(folder / "cache"), "XDG_STATE_HOME": str(folder / "state")}
    with served(repo.path, env=env) as server:
        yield server, repo


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, GitRepo]]:
    """One server for all that only reads and all that is refused: nothing may change it."""
    yield from _site(tmp_path_factory.mktemp("untouched"))


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, GitRepo]]:
    """One server for all that writes; each test to pages of its own."""
    yield from _site(tmp_path_factory.mktemp("used"))


def test_every_endpoint_answers_as_listed(untouched: tuple[Server, GitRepo]) -> None:
    server, repo = untouched
    head = repo.git("rev-parse", "HEAD")
    when = repo.git("log", "-1", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", "--format=%ad")
    assert server.ask("GET", f"{API}/health").json == server.ask("GET", "/health").json == {"status": "ok"}

    pages = server.ask("GET", f"{API}/pages?category=proposition").json
    assert pages["total"] == 2
    assert pages["pages"][0] == {
        "name": "Iran Rationing Ballistic Missiles",
        "path": "Propositions/Iran Rationing Ballistic Missiles",
        "category": "proposition",
        "tags": [],
        "last_updated": "2026-03-08",
        "content_length": 487,
    }
    assert server.ask("GET", f"{API}/pages?limit=2&offset=5").json["total"] == 6
    assert len(server.ask("GET", f"{API}/pages?limit=2&offset=5").json["pages"]) == 1

    commit = {"revision": head, "author": "Test Writer", "date": when, "message": "Begin"}
    read = server.page("GET", "Trends/Iran Attrition Strategy")
    assert read.headers["etag"] == f'"{head}"'
    assert read.json == {
        "name": "Iran Attrition Strategy",
        "path": "Trends/Iran Attrition Strategy",
        "content": STRATEGY,
        "frontmatter": {
            "category": "trend",
            "tags": ["military", "p2-interceptor-race", "p3-infrastructure"],
            "confidence": "high",
            "last_updated": "2026-03-08",
        },
        "links_to": ["Variables/Interceptor Stockpiles", "Actors/Iran"],
        "linked_from": ["Actors/Iran", "Propositions/Iran Rationing Ballistic Missiles"],
        "revision": head,
        "last_commit": commit,
    }
    path = "Trends/Iran%20Attrition%20Strategy"
    assert server.ask("GET", f"{API}/pages/{path}").json == read.json
    assert server.ask("GET", f"{API}/pages/{path}/history").json == {
        "path": "Trends/Iran Attrition Strategy",
        "history": [commit],
    }
    assert server.ask("GET", f"{API}/links/{path}").json == {
        key: read.json[key] for key in ("path", "links_to", "linked_from")
    }


def test_finding_answers_as_listed(untouched: tuple[Server, GitRepo]) -> None:
    server, repo = untouched
    head = repo.git("rev-parse", "HEAD")
    when = repo.git("log", "-1", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", "--format=%ad")
    commit = {"revision": head, "author": "Test Writer", "date": when, "message": "Begin"}
    graph = server.ask("GET", f"{API}/links").json
    paths = sorted(name.removesuffix(".md") for name in NOTES)
    assert graph["nodes"] == [{"path": path, "exists": True} for path in paths]
    assert {"source": "Hub", "target": "Actors/Iran"} in graph["edges"]
    changes = server.ask("GET", f"{API}/changelog").json
    assert changes == {"entries": [{**commit, "pages_affected": paths}], "total": 1}

    found_json = server.ask("GET", f"{API}/search?q=interceptor%20inventories&limit=1").json
    assert found_json["query"] == "interceptor inventories"
    (hit,) = found_json["results"]
    assert set(hit) == {"name", "path", "snippet", "score"}
    assert hit["path"] == "Variables/Interceptor Stockpiles"
    assert 0 <= hit["score"] <= 1

    semantic = server.ask("GET", f"{API}/semantic-search?q=x")
    assert semantic.status == 503
    assert "search" in semantic.json["hint"]
    started = server.ask("POST", f"{API}/reindex")
    assert (started.status, started.json) == (202, {"status": "started"})
    status = server.ask("GET", f"{API}/reindex/status").json
    assert status["pages_indexed"] == 6
    assert status["chunks_created"] >= 6
    assert server.ask("GET", f"{API}/openapi.json").json["openapi"] == "3.1.0"
    assert b"commonplace_calls_total" in server.ask("GET", "/metrics").body


def test_a_page_lives_through_put_patch_rename_and_delete(used: tuple[Server, GitRepo]) -> None:
    server, repo = used

    def head() -> str:
        return repo.git("rev-parse", "HEAD")

    created = server.page("PUT", "New/Page", {"content": "One [[Hub]]\n"})
    assert (created.status, created.json) == (
        201,
        {"name": "Page", "path": "New/Page", "revision": head(), "created": True},
    )
    assert repo.git("log", "-1", "--format=%s") == "[api] Create: New/Page"
    blind = server.page("PUT", "New/Page", {"content": "Two\n"})
    assert blind.status == 409
    assert "a revision is required" in blind.json["error"]
    assert blind.json["current_revision"] == head()
    put = server.page("PUT", "New/Page", {"content": "Two [[Hub]]\n"}, headers={"If-Match": f'"{head()}"'})
    assert (put.status, put.json["created"], put.headers["etag"]) == (200, False, f'"{head()}"')
    stale = server.page("PUT", "New/Page", {"content": "Three\n", "revision": created.json["revision"]})
    assert (stale.status, stale.json["current_revision"]) == (409, head())
    patch = {"revision": head()[:7], "old_string": "Two", "new_string": "Three", "commit_message": "Count"}
    patched = server.page("PATCH", "new/page", patch)
    assert patched.json == {"name": "Page", "path": "New/Page", "revision": head()}
    assert repo.git("log", "-1", "--format=%s") == "Count"
    for wrong in ({"old_string": "absent"}, {"old_string": "e"}, {"old_string": "Three", "new_string": "Three"}):
        assert server.page("PATCH", "New/Page", {**patch, "revision": head(), **wrong}).status == 422
    renamed = server.page("POST", "Hub", {"new_path": "Home"}, below="/rename")
    assert renamed.json == {
        "old_path": "Hub",
        "new_path": "Home",
        "revision": head(),
        "updated_pages": ["New/Page"],
        "not_rewritten": [],
    }
    assert server.page("POST", "Home", {"new_path": "Home"}, below="/rename").status == 422
    assert server.page("POST", "Home", {"new_path": "New/Page"}, below="/rename").status == 409
    assert server.page("POST", "Hub", {"new_path": "x"}, below="/rename").status == 404
    assert server.page("DELETE", "New/Page", {"revision": created.json["revision"]}).status == 409
    deleted = server.page("DELETE", "New/Page")
    assert deleted.json == {"deleted": True, "path": "New/Page"}
    assert server.page("GET", "New/Page").status == 404
    assert server.page("GET", f"New/Page?revision={created.json['revision']}").status == 404
    old = server.ask("GET", f"{API}/pages/New/Page?revision={created.json['revision'][:9]}")
    assert old.json["content"] == "One [[Hub]]\n"
    assert server.page("PUT", "New/Page", {"content": "x", "revision": patched.json["revision"]}).status == 409
    assert repo.git("status", "--porcelain") == ""


NAMES = ("Lang/C#", "Why is it?", "A%2FB", "Wait... what", "notes/history", "history", "日" * 80, "pages/rename")


def test_odd_names_are_names_like_others(used: tuple[Server, GitRepo]) -> None:
    server, repo = used
    repo.commit("Neighbours", **{"Lang/C.md": "c\n", "A/B.md": "ab\n", "notes.md": "n\n"})
    for name in NAMES:
        saved = server.page("PUT", name, {"content": f"{name}\n"})
        assert (saved.status, saved.json["path"]) == (201, name)
        assert server.page("GET", name).json["content"] == f"{name}\n"
        assert server.page("GET", name, below="/history").json["path"] == name
        moved = server.page("POST", name, {"new_path": f"moved/{name}"}, below="/rename")
        assert (moved.status, moved.json["new_path"]) == (200, f"moved/{name}")
        assert server.page("DELETE", f"moved/{name}").json == {"deleted": True, "path": f"moved/{name}"}
    assert (repo.path / "Lang" / "C.md").read_text() == "c\n"
    assert (repo.path / "A" / "B.md").read_text() == "ab\n"
    assert repo.git("status", "--porcelain") == ""


def test_a_page_named_history_wins_over_the_history(used: tuple[Server, GitRepo]) -> None:
    server, repo = used
    repo.commit("One", **{"notes.md": "n\n"})
    assert "history" in server.ask("GET", f"{API}/pages/notes/history").json
    assert server.ask("PUT", f"{API}/pages/notes/history", {"content": "page\n"}).status == 405
    assert server.ask("PUT", f"{API}/pages/notes%2Fhistory", {"content": "page\n"}).status == 201
    assert server.ask("GET", f"{API}/pages/notes/history").json["content"] == "page\n"
    assert server.ask("GET", f"{API}/pages/notes/history/history").json["path"] == "notes/history"
    assert server.ask("DELETE", f"{API}/pages/notes/history").status == 200
    assert server.ask("GET", f"{API}/pages/notes%2Fhistory").status == 404
    assert server.ask("GET", f"{API}/pages/notes/history").json["path"] == "notes"


def test_attachments_come_and_go(used: tuple[Server, GitRepo]) -> None:
    server, repo = used
    content = base64.b64encode(b"\x00\xffbytes").decode()
    body = {"filename": "a b.png", "content": content}
    uploaded = server.page("POST", "Actors/Iran", body, below="/attachments")
    assert (uploaded.status, uploaded.json) == (
        201,
        {"filename": "a b.png", "path": "Actors/Iran", "size": 7, "mime_type": "image/png"},
    )
    listed = server.page("GET", "Actors/Iran", below="/attachments").json
    assert (listed["total"], listed["path"], listed["attachments"][0]["filename"]) == (1, "Actors/Iran", "a b.png")
    assert server.page("POST", "Actors/Iran", body, below="/attachments").status == 409
    got = server.page("GET", "Actors/Iran", below="/attachments/a%20b.png").json
    assert got == {"filename": "a b.png", "content": content, "size": 7, "mime_type": "image/png"}
    gone = server.page("DELETE", "Actors/Iran", below="/attachments/a%20b.png").json
    assert (gone["deleted"], gone["filename"]) == (True, "a b.png")
    assert server.page("GET", "Actors/Iran", below="/attachments/a%20b.png").status == 404
    assert server.page("POST", "No/Page", body, below="/attachments").status == 404
    for wrong in ({"filename": "../x"}, {"filename": ".git"}, {"content": "%%"}, {"content": 5}):
        assert server.page("POST", "Actors/Iran", {**body, **wrong}, below="/attachments").status == 422
    large = base64.b64encode(bytes(10 * 1024 * 1024 + 1)).decode()
    assert server.page("POST", "Actors/Iran", {**body, "content": large}, below="/attachments").status == 413
    assert repo.git("status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("PUT", "/pages/x", b"no json", 400),
        ("PUT", "/pages/x", b"[1]", 400),
        ("PUT", "/pages/x", b"", 400),
        ("PUT", "/pages/x", b"[" * 100_000, 400),
        ("PUT", "/pages/x", b'{"content": "\\ud800"}', 400),
        ("PUT", "/pages/x", b"\xff\xfe", 400),
        ("PUT", "/pages/x", {"content": 5}, 422),
        ("PUT", "/pages/x", {}, 422),
        ("PUT", "/pages/x", {"content": "x", "revision": 5}, 422),
        ("PUT", "/pages/Hub", {"content": "x", "revision": "--output=/x"}, 422),
        ("PUT", "/pages/Hub", {"content": "x", "revision": "0000000"}, 409),
        ("PUT", "/pages/x", b'{"content": "' + b"x" * (4 * 1024 * 1024) + b'"}', 413),
        ("PUT", "/pages/..%2F..%2Fx", {"content": "x"}, 422),
        ("PUT", "/pages/.git/config", {"content": "x"}, 422),
        ("PUT", "/pages/GIT~1/config", {"content": "x"}, 422),
        ("PUT", "/pages/a%00b", {"content": "x"}, 422),
        ("PUT", "/pages/a%0Ab", {"content": "x"}, 422),
        ("PUT", "/pages/a%5Cb", {"content": "x"}, 422),
        ("PUT", "/pages/%ff", {"content": "x"}, 422),
        ("PUT", "/pages/C:%2Fx", {"content": "x"}, 422),
        ("PUT", "/pages/", {"content": "x"}, 422),
        ("PUT", "/pages/" + "%E6%97%A5" * 90, {"content": "x"}, 422),
        ("GET", "/pages/a%0Ab", None, 422),
        ("GET", "/pages?updated_since=yesterday", None, 422),
        ("GET", "/pages?updated_since=0001-01-01T00:00:00%2B23:00", None, 422),
        ("GET", "/pages?updated_since=9999-12-31T23:59:59-23:59", None, 422),
        ("GET", "/pages?limit=x", None, 422),
        ("GET", "/pages?limit=0", None, 422),
        ("GET", "/pages?offset=-1", None, 422),
        ("GET", "/pages?prefix=%ff", None, 422),
        ("GET", "/search", None, 422),
        ("GET", "/search?q=", None, 422),
        ("GET", "/search?q=%20", None, 422),
        ("GET", "/search?q=x&limit=101", None, 422),
        ("GET", "/pages/Hub?revision=zzzzzzz", None, 422),
        ("GET", "/pages/Hub?revision=1234567", None, 404),
        ("PATCH", "/pages/nope", {"revision": "1234567", "old_string": "a", "new_string": "b"}, 404),
        ("DELETE", "/pages/nope", None, 404),
        ("POST", "/pages/x", {}, 405),
        ("PUT", "/search", {}, 405),
        ("GET", "/nothing", None, 404),
        ("GET", "/pages%2Fx", None, 404),
    ],
)
def test_bad_input_is_refused_in_json_and_changes_nothing(
    untouched: tuple[Server, GitRepo], method: str, path: str, body: Any, status: int
) -> None:
    server, repo = untouched
    answer = server.ask(method, f"{API}{path}", body)
    assert answer.status == status, answer.body[:300]
    assert answer.json["error"]
    assert answer.json["hint"]
    assert "Traceback" not in str(answer.json)
    assert str(repo.path) not in str(answer.json)
    assert repo.git("rev-list", "--count", "HEAD") == "1"
    assert repo.git("status", "--porcelain") == ""


def test_a_client_that_goes_away_within_its_request_changes_nothing(untouched: tuple[Server, GitRepo]) -> None:
    server, repo = untouched
    head = b"PUT /api/v1/pages/Half HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 40\r\n\r\n"
    whole = b"DELETE /api/v1/pages/Hub HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n"
    for started in (head + b'{"content": "h', whole):
        with server.connect() as connection:
            connection.sendall(started)
            connection.shutdown(socket.SHUT_WR)
            assert b" 200 " not in connection.recv(100)
    assert server.page("GET", "Half").status == 404
    assert server.page("GET", "Hub").status == 200
    assert repo.git("rev-list", "--count", "HEAD") == "1"


def test_the_document_lists_every_endpoint(untouched: tuple[Server, GitRepo]) -> None:
    paths = untouched[0].ask("GET", f"{API}/openapi.json").json["paths"]
    methods = {(path, method) for path, item in paths.items() for method in item if method != "parameters"}
    assert len(methods) == 31
    assert json.dumps(paths).count('"401"') == len(methods)
