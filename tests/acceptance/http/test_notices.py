"""Notices of changes and proposals: Atom feeds, and a webhook whose receiver fails, redirects, and is away."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from forms import page
from receiver import SECRET, Receiver, is_signed, receiving
from serving import Server, create_key, served
from shell import Shell
from support import GitRepo, eventually, new_repo

CANARY = "canary-7c1e"
FILES: dict[str, str | bytes] = {
    "inbox/a.md": f"---\ntags: [red/dark]\n---\n# A\n\n{CANARY}\n",
    "b.md": f"# B\n\n{CANARY}\n",
}
ATOM = "{http://www.w3.org/2005/Atom}"


def edit(server: Server, key: str, name: str, text: str) -> None:
    """One write of an agent over MCP."""
    done = server.call("notes", "edit", {"page": name, "changes": [{"do": "append", "text": text}]}, key=key)
    assert not done.get("isError"), done


def titles(server: Server, path: str, key: str) -> list[str]:
    """The titles of a feed's entries."""
    feed = ET.fromstring(page(server, path, key=key))  # noqa: S314 - the server's own
    assert CANARY not in ET.tostring(feed, "unicode")
    return [str(element.findtext(f"{ATOM}title")) for element in feed.iter(f"{ATOM}entry")]


def committed(repo: GitRepo, path: str, message: str) -> None:
    """A commit of a person with Git."""
    file = repo.path / path
    file.write_text(f"{file.read_text()}\nMore {CANARY}.\n")
    repo.git("commit", "-qam", message)


def not_taken(receiver: Receiver, write: Callable[[], None]) -> int:
    """Number of the requests before a write of which the receiver takes no notice."""
    requests = len(receiver.got)
    receiver.statuses += [500] * 100
    write()
    eventually(lambda: len(receiver.got) > requests)
    return requests


def require_fit(*receivers: Receiver) -> None:
    """Check that every notice is signed, small and without contents."""
    for _, headers, body in (request for receiver in receivers for request in receiver.got):
        assert is_signed(headers, body)
        assert CANARY.encode() not in body
        assert len(body) <= 64_000


def test_a_receiver_is_told_of_everything_in_order_whatever_happens(
    tmp_path: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cache_dir.is_dir()
    repo = new_repo(tmp_path / "notes", FILES)
    agent, person = create_key("agent", "--tier", "propose"), create_key("Ada", "--tier", "write")
    with receiving(500, 302, 503) as everything, receiving() as few:
        urls = f"{everything.url}/hook?x=1 {few.url}/#folder=inbox&tag=red&author=Ada&of=changes"
        monkeypatch.setenv("COMMONPLACE_NOTICE_URL", urls)
        monkeypatch.setenv("COMMONPLACE_NOTICE_SECRET", SECRET)
        monkeypatch.setenv("COMMONPLACE_NOTICE_PRIVATE", "true")
        with served(repo.path, "--commit", "auto") as server:
            page(server, "/p/b", key=person)
            eventually(lambda: len(list(Path(os.environ["XDG_STATE_HOME"]).rglob("notices/*.json"))) == 2)
            edit(server, person, "b", f"One {CANARY}.")
            (first,) = everything.wait(1)
            assert [path for path, _, _ in everything.got] == ["/hook?x=1"] * 4, "a redirect is not followed"
            assert len({headers["webhook-id"] for _, headers, _ in everything.got}) == 1
            assert (first["type"], first["base"], first["complete"]) == ("changes", "notes", True)
            assert [(commit["author"], commit["files"]) for commit in first["commits"]] == [("Ada", ["b.md"])]
            edit(server, agent, "inbox/a", f"Two {CANARY}.")
            opened = everything.wait(2)[1]
            assert (opened["type"], opened["event"], opened["files"]) == ("proposal", "opened", ["inbox/a.md"])
            edit(server, agent, "inbox/a", f"Three {CANARY}.")
            assert everything.wait(3)[2]["event"] == "amended"
            said = {"word": "Thank you", "tip": everything.taken[2]["tip"]}
            accept = server.ask("POST", f"/api/v1/proposals/{opened['id']}/accept", said, key=person)
            assert accept.status == 200, accept.body
            last = sorted(everything.wait(5)[3:5], key=lambda element: element["type"])
            assert (last[1]["event"], last[1]["word"], last[1]["commit"]) == (
                "accepted",
                "Thank you",
                last[0]["commits"][0]["id"],
            )
            edit(server, person, "inbox/a", "Four.")
            everything.wait(6)
            few.wait(1)
            requests = not_taken(everything, lambda: edit(server, person, "b", f"Five {CANARY}."))
        committed(repo, "b.md", "While the server is away")
        everything.statuses.clear()
        with served(repo.path, "--commit", "auto"):
            assert [row["subject"] for row in everything.wait(8)[7]["commits"]] == ["While the server is away"]
        assert len({headers["webhook-id"] for _, headers, _ in everything.got[requests:]}) == 2, "begun, and new"
        assert [element["commits"][0]["author"] for element in few.taken] == ["Ada"], "by folder, tag and author"
        require_fit(everything, few)
    commits = [row["id"] for notice in everything.taken if notice["type"] == "changes" for row in notice["commits"]]
    assert commits == repo.git("log", "--format=%H", "--reverse").split()[1:], "every commit once, in order"


def test_feeds_are_by_folder_tag_and_author_and_of_proposals(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    repo = new_repo(tmp_path / "notes", FILES)
    keys = {tier: create_key(f"Ada {tier}", "--tier", tier) for tier in ("read", "propose", "write")}
    other = create_key("other", "--tier", "propose")
    elsewhere = create_key("elsewhere", "--tier", "write", "--collection", "none")
    with served(repo.path, "--commit", "auto") as server:
        edit(server, keys["write"], "inbox/a", f"One {CANARY}.")
        edit(server, keys["write"], "b", f"Two {CANARY}.")
        edit(server, keys["propose"], "inbox/a", f"Three {CANARY}.")
        assert len(titles(server, "/feed.atom", keys["read"])) == 3
        for query, count in (
            ("folder=inbox", 2),
            ("folder=inbox&author=ada%20WRITE", 1),
            ("tag=RED", 2),
            ("tag=re", 0),
            ("author=Ada%20write", 2),
            ("author=Nobody", 0),
            ("base=notes", 3),
            ("base=other", 0),
        ):
            assert len(titles(server, f"/feed.atom?{query}", keys["read"])) == count, query
        for query, count in (("", 1), ("?folder=inbox&tag=red/dark&author=Ada%20propose", 1), ("?folder=x", 0)):
            for tier in ("propose", "write"):
                assert len(titles(server, f"/proposals.atom{query}", keys[tier])) == count, query
        assert titles(server, "/proposals.atom", keys["write"])[0].startswith("opened: ")
        assert titles(server, "/proposals.atom", other) == [], "others' proposals"
        assert titles(server, "/proposals.atom", elsewhere) == titles(server, "/feed.atom", elsewhere) == []
        assert server.ask("GET", "/proposals.atom", key=keys["read"]).status == 403


REFUSED = {
    "https://127.0.0.1/x": "private network",
    "https://10.1.2.3/x": "private network",
    "https://[::ffff:192.168.0.1]/x": "private network",
    "http://example.org/x": "not encrypted",
    "ftp://example.org/x": "no URL of http",
    "https://user:word@example.org/": "without a password",
    "https://example.org/#what=x": "follows the # is not understood",
    "https://example.org/#of=all": "follows the # is not understood",
}


def test_a_wrong_address_or_secret_is_refused_at_the_start(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    repo = new_repo(tmp_path / "notes", FILES)
    for url, message in REFUSED.items():
        environment = {**os.environ, "COMMONPLACE_NOTICE_URL": url, "COMMONPLACE_NOTICE_SECRET": SECRET}
        result = Shell(tmp_path, environment)("serve", repo.path, "--port", "0")
        assert (result.code != 0, message in result.stderr) == (True, True), (url, result.stderr)
        assert "word@" not in result.stderr
    environment = {**os.environ, "COMMONPLACE_NOTICE_URL": "https://example.org/"}
    assert "needs a notice_secret" in Shell(tmp_path, environment)("serve", repo.path, "--port", "0").stderr
