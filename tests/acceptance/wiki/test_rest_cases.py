"""Cases that clients of the older wiki's REST API rely on, one line each: requests over the real process.

Cases that differ by choice are in docs/differences.md.
"""

# ruff: noqa: E501 - one line a case

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from serving import Answer, Server, served
from support import GitRepo, new_repo

KEY = "the-key-of-the-wiki-behind-an-assistant"
PAGES = {
    "Docs/Intro.md": "---\ntitle: Introduction\ncategory: guide\ntags: [guide]\nlast_updated: 2026-03-01\n---\nIntro text, see [[Docs/Advanced]] and [[Missing Page]].\n",
    "Docs/Advanced.md": "---\ncategory: guide\ntags: [guide, api]\nlast_updated: 2026-03-05\n---\n# Other heading\nAdvanced text about foxes. [[Docs/Intro#Part|back]]\n",
    "Blog/First-Post.md": "---\ncategory: Blog\ntags: blog\n---\nThe quick brown fox jumps over the lazy dog. [[Docs/Intro]] [[docs/advanced]]\n",
    "Odd/Values.md": "---\ncategory: 5\ntags: {a: 1}\ntitle: null\nlast_updated: [x]\n---\nOdd.\n",
    "Lang/C#.md": "sharp\n",
    "Why is it?.md": "why\n",
    "A%2FB.md": "percent\n",
    "Wait... what.md": "wait\n",
    "notes.md": "notes\n",
    "notes/history.md": "the page\n",
    "foo.md": "foo bar foo\n",
}
Site = tuple[Server, GitRepo]


def _site(folder: Path) -> Iterator[Site]:
    repo = new_repo(folder / "wiki", PAGES)
    env = {"XDG_CACHE_HOME": str(folder / "cache"), "XDG_STATE_HOME": str(folder / "state"), "OTTERWIKI_API_KEY": KEY}
    with served(repo.path, "--toolset", "wiki", env=env) as server:
        yield server, repo


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    yield from _site(tmp_path_factory.mktemp("untouched"))


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    yield from _site(tmp_path_factory.mktemp("used"))


def test_the_page_of_a_piped_link_is_the_side_that_exists_and_else_the_last(tmp_path: Path) -> None:
    notes = {"From.md": "[[There|text]] [[text|There]] [[There|Also]] [[gone|lost]]\n", "There.md": "", "Also.md": ""}
    repo = new_repo(tmp_path / "wiki", notes)
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_STATE_HOME": str(tmp_path / "state")}
    with served(repo.path, env=env) as server:
        assert server.ask("GET", "/api/v1/links/From").json["links_to"] == ["There", "Also", "lost"]
        assert server.ask("GET", "/api/v1/pages/From").json["links_to"] == ["There", "Also", "lost"]
        assert server.ask("GET", "/api/v1/links/Also").json["linked_from"] == ["From"]
        assert server.ask("GET", "/api/v1/links/lost").json["linked_from"] == ["From"]
        assert server.ask("GET", "/api/v1/links/gone").status == 404
        graph = server.ask("GET", "/api/v1/links").json
        assert [edge["target"] for edge in graph["edges"]] == ["Also", "There", "lost"]
        assert [node["path"] for node in graph["nodes"] if not node["exists"]] == ["lost"]
        html = server.ask("GET", "/p/From").body.decode()
        assert '<a class="page-link" href="/p/There">text</a> <a class="page-link" href="/p/There">text</a>' in html
        assert '<a class="page-link" href="/p/There">Also</a> <a class="wanted" href="/wanted/gone"' in html
        moved = server.ask("POST", "/api/v1/pages/Also/rename", {"new_path": "New/One"})
        assert moved.json["updated_pages"] == ["From"]
        server.ask("POST", "/api/v1/pages/There/rename", {"new_path": "Two"})
    assert (repo.path / "From.md").read_text() == "[[Two|text]] [[text|Two]] [[There|One]] [[gone|lost]]\n"


def test_a_rename_names_the_pages_that_are_not_utf8(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "wiki", {"There.md": "# There\n"})
    latin = "# Café\n\n[it](There.md)\n".encode("latin-1")
    (repo.path / "Latin.md").write_bytes(latin)
    with served(repo.path, env={"XDG_CACHE_HOME": str(tmp_path / "cache")}) as server:
        moved = server.ask("POST", "/api/v1/pages/There/rename", {"new_path": "Two"})
        assert (moved.json["updated_pages"], moved.json["not_rewritten"]) == ([], ["Latin"])
    assert (repo.path / "Latin.md").read_bytes() == latin


def ask(server: Server, method: str, path: str, body: Any = None, **headers: str) -> Answer:
    """A request with the key; headers are written with `_` for `-`."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return server.ask(method, f"/api/v1{path}", body, key=KEY, headers=sent)


def paths(answer: Any) -> list[str]:
    return [page["path"] for page in answer["pages"]]


Check = Callable[[Any], bool]
READ: list[tuple[str, str, int, Check]] = [
    # Lists.
    ("a list holds every page", "/pages", 200, lambda a: a["total"] == len(a["pages"]) == len(PAGES)),
    ("a row has its fields", "/pages", 200, lambda a: set(a["pages"][0]) == {"name", "path", "category", "tags", "last_updated", "content_length"}),
    ("a list is newest first", "/pages?category=guide", 200, lambda a: paths(a) == ["Docs/Advanced", "Docs/Intro"]),
    ("name is the title", "/pages?prefix=Docs/I", 200, lambda a: a["pages"][0]["name"] == "Introduction"),
    ("name is the path's end without one", "/pages?prefix=Docs/A", 200, lambda a: a["pages"][0]["name"] == "Advanced"),
    ("content_length counts the words of the body", "/pages?prefix=Docs/I", 200, lambda a: a["pages"][0]["content_length"] == 7),
    ("prefix", "/pages?prefix=Docs/", 200, lambda a: sorted(paths(a)) == ["Docs/Advanced", "Docs/Intro"]),
    ("prefix in another case", "/pages?prefix=docs/", 200, lambda a: len(paths(a)) == 2),
    ("tag", "/pages?tag=guide", 200, lambda a: len(paths(a)) == 2),
    ("tag as one text", "/pages?tag=blog", 200, lambda a: paths(a) == ["Blog/First-Post"]),
    ("tag in another case", "/pages?tag=API", 200, lambda a: paths(a) == ["Docs/Advanced"]),
    ("part of a tag", "/pages?tag=gui", 200, lambda a: paths(a) == []),
    ("category in another case", "/pages?category=blog", 200, lambda a: paths(a) == ["Blog/First-Post"]),
    ("category and tag", "/pages?category=guide&tag=api", 200, lambda a: paths(a) == ["Docs/Advanced"]),
    ("since a day, itself included", "/pages?prefix=Docs/&updated_since=2026-03-05", 200, lambda a: paths(a) == ["Docs/Advanced"]),
    ("since long ago", "/pages?updated_since=2000-01-01", 200, lambda a: a["total"] == len(PAGES)),
    ("since the future", "/pages?updated_since=2999-01-01", 200, lambda a: a["total"] == 0),
    ("since no date", "/pages?updated_since=not-a-date", 422, lambda a: "updated_since" in a["error"]),
    ("a page of a list", "/pages?limit=2&offset=1", 200, lambda a: (len(a["pages"]), a["total"]) == (2, len(PAGES))),
    ("behind the end", "/pages?offset=500", 200, lambda a: (a["pages"], a["total"]) == ([], len(PAGES))),
    ("odd frontmatter", "/pages?prefix=Odd", 200, lambda a: a["pages"][0]["name"] == "Values"),
    # A page.
    ("a page has its fields", "/pages/Docs/Intro", 200, lambda a: set(a) == {"name", "path", "content", "frontmatter", "links_to", "linked_from", "revision", "last_commit"}),
    ("content with frontmatter", "/pages/Docs/Intro", 200, lambda a: a["content"] == PAGES["Docs/Intro.md"]),
    ("frontmatter parsed", "/pages/Docs/Intro", 200, lambda a: (a["frontmatter"]["title"], a["frontmatter"]["tags"]) == ("Introduction", ["guide"])),
    ("a revision has 40 digits", "/pages/Docs/Intro", 200, lambda a: len(a["revision"]) == 40 and a["revision"] == a["last_commit"]["revision"]),
    ("the last commit", "/pages/Docs/Intro", 200, lambda a: all(a["last_commit"][key] for key in ("author", "date", "message"))),
    ("links of a page, wanted ones as written", "/pages/Docs/Intro", 200, lambda a: a["links_to"] == ["Docs/Advanced", "Missing Page"]),
    ("links to a page", "/pages/Docs/Intro", 200, lambda a: a["linked_from"] == ["Blog/First-Post", "Docs/Advanced"]),
    ("another case of a path", "/pages/docs/intro", 200, lambda a: a["path"] == "Docs/Intro"),
    ("odd values of a page", "/pages/Odd/Values", 200, lambda a: a["frontmatter"]["category"] == 5),
    ("an unknown page", "/pages/no-such-page", 404, lambda a: "not found" in a["error"].lower()),
    ("an unknown page names near ones", "/pages/Docs/Introo", 404, lambda a: "Docs/Intro" in a["nearest"]),
    ("an unknown revision", "/pages/foo?revision=deadbeef123456", 404, lambda a: a["kind"] == "revision"),
    ("a number sign", "/pages/Lang/C%23", 200, lambda a: a["content"] == "sharp\n"),
    ("a question mark", "/pages/Why%20is%20it%3F", 200, lambda a: a["content"] == "why\n"),
    ("a percent sign", "/pages/A%252FB", 200, lambda a: a["content"] == "percent\n"),
    ("dots", "/pages/Wait...%20what", 200, lambda a: a["content"] == "wait\n"),
    ("a page named history wins", "/pages/notes/history", 200, lambda a: a["content"] == "the page\n"),
    ("an encoded slash is the page's", "/pages/notes%2Fhistory", 200, lambda a: a["path"] == "notes/history"),
    ("a path that leads out", "/pages/..%2Fx", 422, lambda a: bool(a["hint"])),
    # History.
    ("history", "/pages/foo/history", 200, lambda a: (a["path"], set(a["history"][0])) == ("foo", {"revision", "author", "date", "message"})),
    ("history of an unknown page", "/pages/no-page/history", 404, lambda a: bool(a["error"])),
    ("the changelog", "/changelog", 200, lambda a: (a["total"], set(a["entries"][0])) == (1, {"revision", "author", "date", "message", "pages_affected"})),
    ("pages of a change", "/changelog?limit=1", 200, lambda a: "Docs/Intro" in a["entries"][0]["pages_affected"]),
    # Search.
    ("a search finds text", "/search?q=brown+fox", 200, lambda a: a["results"][0]["path"] == "Blog/First-Post"),
    ("a hit has its fields", "/search?q=fox", 200, lambda a: set(a["results"][0]) == {"name", "path", "snippet", "score"}),
    ("scores fall from 1 to 0", "/search?q=fox", 200, lambda a: 1 >= a["results"][0]["score"] >= a["results"][-1]["score"] > 0),
    ("a snippet shows the word", "/search?q=lazy", 200, lambda a: "lazy" in a["results"][0]["snippet"]),
    ("the query comes back", "/search?q=brown+fox", 200, lambda a: a["query"] == "brown fox"),
    ("nothing found", "/search?q=xyznonexistent", 200, lambda a: (a["results"], a["total"]) == ([], 0)),
    ("a phrase that no page has", "/search?q=%22lazy+brown+dog%22", 200, lambda a: (a["results"][0]["path"], a["notice"]) == ("Blog/First-Post", "No page contains the quoted phrase in its names, tags, description or text. These pages were found by its words.")),
    ("no notice where nothing is missing", "/search?q=fox", 200, lambda a: set(a) == {"query", "results", "total"}),
    ("no query", "/search", 422, lambda a: "q" in a["error"]),
    ("an empty query", "/search?q=", 422, lambda a: bool(a["error"])),
    ("a limit", "/search?q=text&limit=1", 200, lambda a: len(a["results"]) == 1),
    ("too high a limit", "/search?q=text&limit=101", 422, lambda a: "limit" in a["error"]),
    ("meaning that is not set up", "/semantic-search?q=fox", 503, lambda a: "search" in a["hint"]),
    # Links.
    ("links of one page", "/links/Docs/Intro", 200, lambda a: (a["links_to"], a["linked_from"]) == (["Docs/Advanced", "Missing Page"], ["Blog/First-Post", "Docs/Advanced"])),
    ("links of a wanted page", "/links/Missing%20Page", 200, lambda a: (a["links_to"], a["linked_from"]) == ([], ["Docs/Intro"])),
    ("links of nothing", "/links/nobody", 404, lambda a: bool(a["error"])),
    ("the graph has every page", "/links", 200, lambda a: sum(node["exists"] for node in a["nodes"]) == len(PAGES)),
    ("the graph has wanted pages", "/links", 200, lambda a: {"path": "Missing Page", "exists": False} in a["nodes"]),
    ("the graph has their edges", "/links", 200, lambda a: {"source": "Docs/Intro", "target": "Missing Page"} in a["edges"]),
    ("a link counts once", "/links", 200, lambda a: a["edges"].count({"source": "Blog/First-Post", "target": "Docs/Advanced"}) == 1),
    # The rest.
    ("no files", "/pages/foo/attachments", 200, lambda a: (a["attachments"], a["total"], a["path"]) == ([], 0, "foo")),
    ("files of nothing", "/pages/nobody/attachments", 404, lambda a: bool(a["error"])),
    ("an unknown file", "/pages/foo/attachments/x.png", 404, lambda a: a["kind"] == "attachment"),
    ("the index", "/reindex/status", 200, lambda a: a["pages_indexed"] == len(PAGES)),
    ("an unknown place", "/nothing", 404, lambda a: a["kind"] == "url"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "status", "holds"), [row[1:] for row in READ], ids=[row[0] for row in READ])
def test_a_read_answers_as_its_clients_know_it(untouched: Site, path: str, status: int, holds: Check) -> None:
    answer = ask(untouched[0], "GET", path)
    assert answer.status == status, answer.body
    assert holds(answer.json), answer.body


NEW = "---\ntitle: My Page\n---\nOne [[Docs/Intro]].\n"
Write = tuple[str, str, str, Any, int, Check]
WRITES: list[Write] = [  # `{rev}` stands for the page's revision before
    ("create", "PUT", "/pages/case/create", {"content": NEW}, 201, lambda a: (a["name"], a["path"], a["created"]) == ("My Page", "case/create", True)),
    ("create keeps case", "PUT", "/pages/Case/Keep-Me", {"content": "x"}, 201, lambda a: a["path"] == "Case/Keep-Me"),
    ("create with a message", "PUT", "/pages/case/msg", {"content": "x", "commit_message": "own words"}, 201, lambda a: len(a["revision"]) == 40),
    ("create without content", "PUT", "/pages/case/none", {"title": "oops"}, 422, lambda a: "content" in a["error"]),
    ("create an empty page", "PUT", "/pages/case/empty", {"content": ""}, 201, lambda a: a["created"]),
    ("update without a revision", "PUT", "/pages/foo", {"content": "x"}, 409, lambda a: "revision is required" in a["error"] and len(a["current_revision"]) == 40),
    ("update at a wrong revision", "PUT", "/pages/foo", {"content": "x", "revision": "deadbeef00000000"}, 409, lambda a: len(a["current_revision"]) == 40),
    ("update at a short revision", "PUT", "/pages/foo", {"content": "x", "revision": "abc"}, 422, lambda a: "7" in a["error"]),
    ("update at its revision", "PUT", "/pages/case/create", {"content": "two\n", "revision": "{rev}"}, 200, lambda a: a["created"] is False and a["name"] == "create"),
    ("update with its text again", "PUT", "/pages/case/create", {"content": "two\n", "revision": "{rev}"}, 200, lambda a: a["unchanged"] is True),
    ("edit", "PATCH", "/pages/case/create", {"revision": "{rev}", "old_string": "two", "new_string": "three"}, 200, lambda a: a["path"] == "case/create"),
    ("edit to nothing", "PATCH", "/pages/case/create", {"revision": "{rev}", "old_string": "three", "new_string": ""}, 200, lambda a: len(a["revision"]) == 40),
    ("edit at seven digits", "PATCH", "/pages/case/msg", {"revision": "{rev7}", "old_string": "x", "new_string": "y z y"}, 200, lambda a: len(a["revision"]) == 40),
    ("edit at a wrong revision", "PATCH", "/pages/foo", {"revision": "deadbeef00000000", "old_string": "bar", "new_string": "x"}, 409, lambda a: len(a["current_revision"]) == 40),
    ("edit of an absent text", "PATCH", "/pages/foo", {"revision": "{rev}", "old_string": "absent", "new_string": "x"}, 422, lambda a: "does not occur" in a["error"]),
    ("edit of an ambiguous text", "PATCH", "/pages/foo", {"revision": "{rev}", "old_string": "foo", "new_string": "x"}, 422, lambda a: "ambiguous" in a["error"] and "2" in a["error"]),
    ("edit of one of several", "PATCH", "/pages/case/msg", {"revision": "{rev}", "old_string": "y", "new_string": "x", "occurrence": 2}, 200, lambda a: len(a["revision"]) == 40),
    ("edit to the same", "PATCH", "/pages/foo", {"revision": "{rev}", "old_string": "bar", "new_string": "bar"}, 422, lambda a: "same" in a["error"]),
    ("edit of nothing", "PATCH", "/pages/foo", {"revision": "{rev}", "old_string": "", "new_string": "x"}, 422, lambda a: "empty" in a["error"]),
    ("edit without a new text", "PATCH", "/pages/foo", {"revision": "{rev}", "old_string": "bar"}, 422, lambda a: "new_string" in a["error"]),
    ("edit at an empty revision", "PATCH", "/pages/foo", {"revision": "", "old_string": "bar", "new_string": "x"}, 422, lambda a: "revision" in a["error"]),
    ("edit of an unknown page", "PATCH", "/pages/no-page", {"revision": "abcdef1", "old_string": "x", "new_string": "y"}, 404, lambda a: bool(a["error"])),
    ("rename", "POST", "/pages/Docs/Intro/rename", {"new_path": "Docs/Start"}, 200, lambda a: (a["old_path"], a["new_path"], sorted(a["updated_pages"])) == ("Docs/Intro", "Docs/Start", ["Blog/First-Post", "Docs/Advanced"])),
    ("rename to a page", "POST", "/pages/foo/rename", {"new_path": "notes"}, 409, lambda a: bool(a["error"])),
    ("rename to itself", "POST", "/pages/foo/rename", {"new_path": "foo"}, 422, lambda a: bool(a["error"])),
    ("rename without a path", "POST", "/pages/foo/rename", {}, 422, lambda a: "new_path" in a["error"]),
    ("rename of an unknown page", "POST", "/pages/nobody/rename", {"new_path": "x"}, 404, lambda a: bool(a["error"])),
    ("restore", "POST", "/pages/case/create/restore", {"revision": "{first}"}, 200, lambda a: a["name"] == "My Page"),
    ("attach", "POST", "/pages/foo/attachments", {"filename": "a.png", "content": base64.b64encode(b"png").decode()}, 201, lambda a: a == {"filename": "a.png", "path": "foo", "size": 3, "mime_type": "image/png"}),
    ("attach again", "POST", "/pages/foo/attachments", {"filename": "a.png", "content": "eA=="}, 409, lambda a: bool(a["hint"])),
    ("attach no base64", "POST", "/pages/foo/attachments", {"filename": "b.png", "content": "%%"}, 422, lambda a: "base64" in a["error"]),
    ("attach without a name", "POST", "/pages/foo/attachments", {"content": "eA=="}, 422, lambda a: "filename" in a["error"]),
    ("attach to an unknown page", "POST", "/pages/nobody/attachments", {"filename": "a.png", "content": "eA=="}, 404, lambda a: bool(a["error"])),
    ("detach", "DELETE", "/pages/foo/attachments/a.png", None, 200, lambda a: (a["deleted"], a["filename"]) == (True, "a.png")),
    ("detach again", "DELETE", "/pages/foo/attachments/a.png", None, 404, lambda a: bool(a["error"])),
    ("delete at a stale revision", "DELETE", "/pages/case/create", {"revision": "{first}"}, 409, lambda a: len(a["current_revision"]) == 40),
    ("delete with a message", "DELETE", "/pages/case/msg", {"commit_message": "obsolete"}, 200, lambda a: a == {"deleted": True, "path": "case/msg"}),
    ("delete without a body", "DELETE", "/pages/case/create", None, 200, lambda a: a["deleted"] is True),
    ("delete an unknown page", "DELETE", "/pages/case/create", None, 404, lambda a: bool(a["error"])),
    ("reindex", "POST", "/reindex", None, 202, lambda a: a == {"status": "started"}),
]  # fmt: skip


def test_writes_answer_as_their_clients_know_them(used: Site) -> None:
    """The writes run in this order; each builds on the previous ones."""
    server, repo = used
    first = ""
    wrong: list[str] = []
    for name, method, path, body, status, holds in WRITES:
        page = "/pages/" + path.removeprefix("/pages/").removesuffix("/restore")
        now = ask(server, "GET", page).json.get("revision", "") if "{rev" in str(body) else ""
        known_values = {"{rev}": now, "{rev7}": now[:7], "{first}": first}
        sent = {key: known_values.get(value, value) for key, value in body.items()} if body else body
        answer = ask(server, method, path, sent)
        if answer.status != status or not holds(answer.json):
            wrong.append(f"{name}: {answer.status} {answer.body.decode()[:300]}")
        first = first or answer.json.get("revision", "")
    assert wrong == []
    assert repo.git("status", "--porcelain") == ""
    subjects = repo.git("log", "--format=%s").splitlines()
    assert {
        "[api] Create: case/create",
        "own words",
        "[api] Update: case/create",
        "[api] Edit: case/create",
        "obsolete",
    } <= set(subjects)
    assert "[api] Rename: Docs/Intro -> Docs/Start" in subjects
    assert "[[Docs/Start#Part|back]]" in (repo.path / "Docs/Advanced.md").read_text()


def test_links_follow_every_write(used: Site) -> None:
    server, _ = used
    made = ask(server, "PUT", "/pages/links/from", {"content": "[[OldTarget]]"}).json
    assert ask(server, "GET", "/links/links/from").json["links_to"] == ["OldTarget"]
    ask(server, "PUT", "/pages/links/from", {"content": "[[NewTarget]]", "revision": made["revision"]})
    assert ask(server, "GET", "/links/links/from").json["links_to"] == ["NewTarget"]
    assert ask(server, "GET", "/links/newtarget").json["linked_from"] == ["links/from"]
    assert ask(server, "GET", "/links/OldTarget").status == 404
    ask(server, "PUT", "/pages/NewTarget", {"content": "here"})
    assert ask(server, "GET", "/links/NewTarget").json["linked_from"] == ["links/from"]
    ask(server, "DELETE", "/pages/links/from")
    assert ask(server, "GET", "/links/NewTarget").json["linked_from"] == []


def test_old_revisions_and_a_limited_history(used: Site) -> None:
    server, repo = used
    revisions = [ask(server, "PUT", "/pages/many", {"content": "v0"}).json["revision"]]
    for number in range(1, 5):
        body = {"content": f"v{number}", "revision": revisions[-1]}
        revisions.append(ask(server, "PUT", "/pages/many", body).json["revision"])
    assert ask(server, "GET", f"/pages/many?revision={revisions[0]}").json["content"] == "v0"
    assert ask(server, "GET", f"/pages/many?revision={revisions[2][:7]}").json["content"] == "v2"
    assert ask(server, "GET", "/pages/many").json["content"] == "v4"
    history = ask(server, "GET", "/pages/many/history?limit=2").json["history"]
    assert [element["revision"] for element in history] == [revisions[4], revisions[3]]
    commits = int(repo.git("rev-list", "--count", "HEAD"))
    for limit in (2, commits, commits + 1):
        changes = ask(server, "GET", f"/changelog?limit={limit}").json
        assert (len(changes["entries"]), changes["total"]) == (min(limit, commits), commits)


def test_of_two_renames_and_two_deletions_at_once_one_finds_no_page(used: Site) -> None:
    server, _ = used
    for number in range(6):
        path = f"both/{number}"
        ask(server, "PUT", f"/pages/{path}", {"content": "x"})
        calls: list[Callable[[], Answer]] = [
            partial(ask, server, "POST", f"/pages/{path}/rename", {"new_path": f"{path}-{side}"}) for side in "ab"
        ]
        if number % 2:
            calls = [partial(ask, server, "DELETE", f"/pages/{path}", {})] * 2
        with ThreadPoolExecutor(len(calls)) as pool:
            answers = [future.result() for future in [pool.submit(call) for call in calls]]
        assert sorted(answer.status for answer in answers) == [200, 404]
        (lost,) = (answer.json for answer in answers if answer.status == 404)
        assert (lost["error"], lost["kind"]) == (f"Page not found: {path}.", "page")
        assert path not in lost.get("nearest", [])


@pytest.mark.parametrize("header", ["", "Basic abc", "Bearer wrong-key", "Bearer", f"bearer{KEY}"])
def test_a_request_without_the_key_is_refused_and_health_is_not(untouched: Site, header: str) -> None:
    server, _ = untouched
    headers = {"Authorization": header} if header else {}
    answer = server.ask("GET", "/api/v1/pages", headers=headers)
    assert (answer.status, bool(answer.json["error"])) == (401, True)
    assert server.ask("GET", "/api/v1/health", headers=headers).json == {"status": "ok"}
