"""Names that are empty, short, long, mixed, shared or come back: what moves, links, history and checks say of them."""

from __future__ import annotations

import json
from html import unescape
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import pytest
from lsprotocol.types import RenameParams
from pygls.exceptions import JsonRpcException

from agent import Agent, RefusedError, agent
from editor import editing
from forms import HTML, fields, page, sent
from serving import commonplace, served
from support import GitRepo, new_repo

TEXT = "# Alpha\n\nText of alpha.\n"
LINKING = "---\naliases: [Nick]\n---\n# Beta\n\nSee [[a]] and [x](a.md) and [[a#Alpha]].\n"
FILES = {"a.md": TEXT, "b.md": LINKING, "c.md": "# Nick\n\nIts title is an alias of [[b]].\n", "d.md": "[[Nick]]\n"}
NO_NAMES = {
    "": "at least 1 character",
    " ": "Invalid path",
    "word " * 10_000: "at most 2000 characters",
    "../a.md": "'.' and '..' are not allowed",
    "a\u202eb.md": "bidirectional control character",
    "a|b.md": "cannot be written in a wiki link",
    "a.md": "The new path is the old one",
}
NAMES = ["x.md", "使用Python编写 אבג ไทย 3월 Grüße.md", "CON.md", "a#b.md", "in/a.md"]


@pytest.fixture
def repos(tmp_path: Path) -> list[GitRepo]:
    """Two bases of one name."""
    return [new_repo(tmp_path / side / "base", dict(FILES)) for side in ("one", "two")]


def test_names_that_come_and_go(repos: list[GitRepo]) -> None:
    repo, other = repos
    first = repo.git("rev-parse", "HEAD")
    with agent("mcp", repo.path, other.path, "--tier", "write", "--commit", "auto", "--no-embed") as client:
        _assert_shared_names(client, repo)
        for name, reason in NO_NAMES.items():
            with pytest.raises(RefusedError, match=reason):
                client.text("move", page="base:a.md", to=name)
        for name in NAMES:
            client.text("move", page="base:a.md", to=name)
            if name != "in/a.md":  # which `a.md` names, too
                with pytest.raises(RefusedError, match=f"moved to {name}"):
                    client.text("read", page="base:a.md")
            assert "<- base:b.md" in client.text("links", page=f"base:{name}")
            assert "Text of alpha." in client.text("read", page=f"base:{name}", at=first)
            client.text("move", page=f"base:{name}", to="a.md")
            assert (repo.path / "b.md").read_text() == LINKING
        names = ["a.md", *(f"n{number % 7}.md" for number in range(15)), "a.md"]
        for old, new in pairwise(names):
            client.text("move", page=f"base:{old}", to=new)
        assert (repo.path / "b.md").read_text() == LINKING
        _assert_onto_history(client, first)
        assert "Text of alpha." in client.text("read", page="base-2:a.md"), "the other base of the name is as it was"
    moves = json.loads(commonplace("log", "c.md", "--limit", "200", "--json", "--kb", repo.path).stdout)["commits"]
    assert len(moves) == 1 + 2 * len(NAMES) + len(names) - 1 + 1
    assert moves[-1]["path"] == "a.md"
    assert _broken(repo) == []
    assert _broken(other) == ["The link to 'Nick' is ambiguous: b.md, c.md. Give the path of one."]
    _assert_merge(repo, first)


def test_the_browser_rest_and_editors_refuse_and_take_the_same_names(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", dict(FILES))
    with served(repo.path, "--tier", "write") as server, editing(repo.path) as editor:
        page(server, "/p/a")
        editor.open("b.md")
        place = editor.place("b.md", "[[a]]", 3)
        for name, reason in NO_NAMES.items():
            answer = server.page("POST", "a", {"new_path": name}, below="/rename")
            shown = server.ask("GET", f"/move/a?to={quote(name)}", headers=HTML)
            assert answer.status == 422, (name, answer.body)
            if name.strip():
                assert (shown.status, reason_of(reason) in unescape(shown.body.decode())) == (422, True), name
                assert reason_of(reason) in answer.json["error"]
            with pytest.raises(JsonRpcException, match=reason_of(reason) if name.strip() else "path|name"):
                editor.call(editor.client.text_document_rename_async, RenameParams(new_name=name, **place))
        for name in NAMES:
            moved = server.page("POST", "a", {"new_path": name}, below="/rename")
            assert moved.status == 200, (name, moved.body)
            back = f"/move/{quote(moved.json['new_path'])}"
            form = fields(page(server, f"{back}?to=./a"), '<form class="edit-foot" method="post"')
            assert sent(server, back, **form).headers["location"] == "/p/a"
            assert (repo.path / "b.md").read_text() == LINKING
            edit = editor.call(editor.client.text_document_rename_async, RenameParams(new_name=name, **place))
            assert edit is not None, name
    assert {file.name: file.read_text() for file in repo.path.glob("*.md")} == FILES


def reason_of(reason: str) -> str:
    """The reason for a name in a face that limits the bytes of a path instead of the characters of an argument."""
    return "longer than 1,024 bytes" if "2000" in reason else reason


def _broken(base: GitRepo) -> list[str]:
    findings = json.loads(commonplace("check", "--json", "--kb", base.path).stdout)["findings"]
    return [finding["message"] for finding in findings if finding["rule"] == "broken_link"]


def _assert_shared_names(client: Agent, repo: GitRepo) -> None:
    """A title that is another page's alias names both, and no link to it wants a page."""
    with pytest.raises(RefusedError, match=r"'Nick' names 2 pages\. Nearest: b\.md, c\.md\."):
        client.text("read", page="base:Nick")
    with pytest.raises(RefusedError, match=r"'Nick' names 4 pages\. Nearest: base:b\.md, base:c\.md, base-2:b\.md\."):
        client.text("read", page="Nick")
    assert "?? Nick (ambiguous: base:b.md, base:c.md)" in client.text("links", page="base:d.md")
    for command in (("read", "Nick"), ("log", "Nick"), ("mv", "Nick", "x"), ("read", "Nick#Part")):
        refusal = commonplace(*command, "--kb", repo.path)
        assert "'Nick' names 2 pages.\nNearest: b.md, c.md\n" in refusal.stderr, command
    assert "not there): 0" in client.text("links", kind="wanted")


def _assert_onto_history(client: Agent, first: str) -> None:
    """A page that takes the name of a deleted one keeps its own history."""
    client.text("read", page="base:c.md")
    assert "now lead to base:b.md in base:d.md" in client.text("delete", page="base:c.md")
    client.text("move", page="base:a.md", to="c.md")
    assert "Rename: a -> c" in client.text("changes", page="base:c.md")
    assert "Its title is an alias" in client.text("read", page="base:c.md", at=first)


def _assert_merge(repo: GitRepo, first: str) -> None:
    """Two branches that each rename a page: both pages keep their history."""
    repo.git("switch", "-qc", "side")
    repo.git("mv", "c.md", "left.md")
    repo.git("commit", "-qm", "Left")
    repo.git("switch", "-q", "main")
    repo.git("mv", "d.md", "right.md")
    repo.git("commit", "-qm", "Right")
    repo.git("merge", "-q", "--no-edit", "side")
    for name, old in (("left.md", "a.md"), ("right.md", "d.md")):
        log = json.loads(commonplace("log", name, "--limit", "200", "--json", "--kb", repo.path).stdout)["commits"]
        assert log[-1]["path"] == old
        done = commonplace("read", name, "--at", first, "--kb", repo.path)
        assert done.stdout == FILES[old], done.stderr
