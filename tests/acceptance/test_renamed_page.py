"""A page that was renamed, in every face: its commits, authors and versions before the rename are those of the page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent import agent
from serving import Server, commonplace, served
from support import GitRepo, new_repo

FIRST = "# Old\n\nBegin.\n\n## Brewing\n\nHot water for the tea.\n\n## Serving\n\nIn small cups.\n"
SECOND = FIRST.replace("In small cups.", "In large cups.")
OTHER = "# Other\n\nSee [[old]].\n"


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> GitRepo:
    made = new_repo(tmp_path_factory.mktemp("renamed") / "base")
    for name, message, text in (("Ann", "Write", FIRST), ("Bea", "Edit", SECOND)):
        made.git("config", "user.name", name)
        made.commit(message, **{"old.md": text, "other.md": OTHER})
    made.git("config", "user.name", "Cid")
    done = commonplace("mv", "old", "in/fresh", "--kb", made.path)
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture(scope="module")
def commits(repo: GitRepo) -> list[str]:
    """Ids of the commits, newest first."""
    return repo.git("log", "--format=%H").splitlines()


@pytest.fixture(scope="module")
def server(repo: GitRepo) -> Iterator[Server]:
    with served(repo.path, "--toolset", "wiki") as running:
        yield running


def shown(repo: GitRepo, *arguments: str) -> str:
    done = commonplace(*arguments, "--kb", repo.path)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_line(repo: GitRepo, commits: list[str]) -> None:
    lines = shown(repo, "log", "in/fresh").splitlines()
    assert [line[:10] for line in lines] == [commit[:10] for commit in commits]
    assert [line.endswith("(as old.md)") for line in lines] == [False, True, True]
    found_commits = json.loads(shown(repo, "log", "in/fresh", "--json"))["commits"]
    assert [found_commit["path"] for found_commit in found_commits] == ["in/fresh.md", "old.md", "old.md"]
    assert shown(repo, "read", "in/fresh", "--at", commits[2]) == FIRST
    assert shown(repo, "read", "in/fresh", "--at", f"before {commits[0][:10]}") == SECOND
    assert "-In small cups.\n+In large cups." in shown(repo, "log", "in/fresh", "--diff", f"{commits[2]}..{commits[1]}")
    assert "-In small cups.\n+In large cups." in shown(repo, "diff", "in/fresh", "--from", commits[2])


def test_notes(repo: GitRepo, commits: list[str]) -> None:
    with agent("mcp", repo.path, "--no-embed") as client:
        lines = client.text("changes", page="in/fresh").splitlines()[:-1]
        assert [line[:10] for line in lines] == [commit[:10] for commit in commits]
        assert [line.rpartition(": ")[2] for line in lines[1:]] == ["old.md", "old.md"]
        assert "-In small cups." in client.text("changes", page="in/fresh", diff=True)
        sections = client.text("changes", page="in/fresh", sections=True).splitlines()
        assert [line.split()[-2] for line in sections[:-1]] == ["Ann", "Ann", "Bea"]
        assert "In small cups." in client.text("read", page="in/fresh", at=commits[2][:10])
        assert "old.md moved to in/fresh.md" in client.text("changes", deleted=True)


def test_wiki_rest_and_web(repo: GitRepo, commits: list[str], server: Server) -> None:
    with agent("mcp", repo.path, "--toolset", "wiki", "--no-embed") as client:
        history = client.text("get_history", path="in/fresh")
        assert all(commit[:7] in history for commit in commits)
        assert "In small cups." in client.text("read_note", path="in/fresh", revision=commits[2])
    entries = server.ask("GET", "/api/v1/pages/in%2Ffresh/history").json["history"]
    assert [(entry["revision"], entry["author"]) for entry in entries] == list(
        zip(commits, ("Cid", "Bea", "Ann"), strict=True)
    )
    html = {"Accept": "text/html"}
    page = server.ask("GET", "/history/in/fresh.md", headers=html).body.decode()
    assert all(f'value="{commit}"' in page for commit in commits)
    compared = server.ask("GET", f"/compare/in/fresh.md?from={commits[2]}&to={commits[0]}", headers=html)
    assert "small" in compared.body.decode()
    moved = server.ask("GET", f"/commit/{commits[0]}", headers=html).body.decode()
    assert "renamed from old.md" in moved
    assert "small cups" not in moved
    authors = server.ask("GET", "/sections/in/fresh.md", headers=html).body.decode()
    assert [name for name in ("Ann", "Bea", "Cid") if name in authors] == ["Ann", "Bea"]


def test_an_older_version_is_restored_to_the_new_path(repo: GitRepo, commits: list[str], tmp_path: Path) -> None:
    copy = GitRepo(tmp_path / "copy")
    repo.git("clone", "-q", str(repo.path), str(copy.path))
    assert "Restored in/fresh.md" in shown(copy, "restore", "in/fresh", "--at", commits[2])
    assert (copy.path / "in/fresh.md").read_text() == FIRST


def test_a_move_that_changes_most_of_a_short_page_is_stated_in_its_commit(tmp_path: Path) -> None:
    hub = "[a](a.md)\n[b](b.md)\n"
    repo = new_repo(tmp_path / "base", {"hub.md": hub, "a.md": "# A\n", "b.md": "# B\n"})
    assert commonplace("mv", "hub", "deep/er/hub", "--kb", repo.path).returncode == 0
    assert "Moved: hub.md => deep/er/hub.md" in repo.git("log", "-1", "--format=%B").splitlines()
    assert [line[-12:] for line in shown(repo, "log", "deep/er/hub").splitlines()][1:] == ["  (as hub.md)"[-12:]]
    assert shown(repo, "read", "deep/er/hub", "--at", repo.git("rev-parse", "HEAD~1")) == hub
    assert commonplace("mv", "a", "c", "--kb", repo.path).returncode == 0
    assert "Moved:" not in repo.git("log", "-1", "--format=%B"), "equal bytes say it"


BEGIN, EDIT = "2021-03-04", "2022-05-06"
"""The days on which the pages below were written, and on which one of them was changed."""


@pytest.fixture(scope="module")
def dated(tmp_path_factory: pytest.TempPathFactory) -> GitRepo:
    """A typed base in which `moved`, `edited` and `stays` are old, and were renamed, changed and left today."""
    made = new_repo(tmp_path_factory.mktemp("dated") / "base")
    pages = {
        f"{name}.md": f"# {name}\n\nText of {name}, which is long enough.\n" for name in ("old", "edited", "stays")
    }
    for day, texts in ((BEGIN, pages), (EDIT, {"old.md": pages["old.md"] + "\nMore.\n"})):
        for path, text in texts.items():
            made.write(path, text)
        made.git("add", "-A")
        made.git("commit", "-q", "-m", "Write", "--date", f"{day}T12:00:00Z")
    assert commonplace("mv", "old", "in/moved", "--kb", made.path).returncode == 0
    made.git("mv", "stays.md", "rests.md")
    made.commit("Rename by hand and edit", **{"edited.md": pages["edited.md"] + "\nNews.\n"})
    return made


def test_a_rename_changes_no_date_in_any_face(dated: GitRepo) -> None:
    today = dated.git("log", "-1", "--format=%as").strip()
    updated = {"edited": today, "in/moved": EDIT, "rests": BEGIN}
    listed = json.loads(shown(dated, "list", "--json"))["documents"]
    assert {element["id"]: element["updated"][:10] for element in listed} == updated
    assert {element["created"][:10] for element in listed} == {BEGIN}
    assert [line.split("\t")[1] for line in shown(dated, "recent").splitlines()] == [
        "edited.md",
        "in/moved.md",
        "rests.md",
    ]
    at = dated.git("log", "-1", "--format=%H").strip()
    then = json.loads(shown(dated, "list", "--at", at, "--json"))["documents"]
    assert {element["id"]: element["updated"][:10] for element in then} == updated
    with agent("mcp", dated.path, "--no-embed") as client:
        overview = client.text("overview")
        assert f"Changed lately: edited.md ({today}), in/moved.md ({EDIT}), rests.md ({BEGIN})" in overview
    with agent("mcp", dated.path, "--toolset", "kb", "--no-embed") as client:
        entries = client.call("kb_list_entries")["entries"]
        assert {entry["id"]: entry["updated_at"][:10] for entry in entries} == updated
        assert [entry["id"] for entry in client.call("kb_recent", since=today)["entries"]] == ["edited"]
        resources = {value.name: value.annotations for value in client.run(client.client.list_resources).resources}
        modified = {name: resources[name] for name in updated}
        assert {name: element.last_modified[:10] for name, element in modified.items() if element} == updated
    with agent("mcp", dated.path, "--toolset", "wiki", "--no-embed") as client:
        assert client.text("list_notes", updated_since=today).count("updated") == 2
        assert f"in/moved (10 words, updated {EDIT})" in client.text("list_notes")
    with served(dated.path, "--toolset", "wiki") as server:
        pages = server.ask("GET", "/api/v1/pages").json["pages"]
        assert {page["path"]: page["last_updated"] for page in pages} == updated
        page = server.ask("GET", "/api/v1/pages/in%2Fmoved").json
        assert page["last_commit"]["date"][:10] == today, "the revision is the commit of the rename"
        html = {"Accept": "text/html"}
        timeline = server.ask("GET", "/timeline", headers=html).body.decode()
        assert re.findall(r">(\d{4}-\d\d-\d\d)<", timeline) == [today, EDIT, BEGIN]
        assert "Rename" not in server.ask("GET", "/in/moved", headers=html).body.decode().partition("Last changed")[2]
