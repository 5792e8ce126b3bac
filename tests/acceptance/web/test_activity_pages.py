"""A signed-in person sees in the browser what sessions wrote, and takes one write, or all of a session, back."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from forms import page, sent
from serving import Server, create_key, served
from shell import Shell
from support import GitRepo, new_repo

LINES = "".join(f"{word} line\n\n" for word in ("first", "second", "third", "fourth"))
FILES: dict[str, str | bytes] = {"tea.md": f"# Tea\n\n{LINES}", "about.md": "# About\n\nSee [[tea]].\n"}


@dataclass(frozen=True, slots=True)
class Site:
    """A server, its repository, and the keys of an agent and of a person."""

    server: Server
    repo: GitRepo
    agent: str
    person: str

    def tool(self, tool: str, **arguments: object) -> None:
        """A call of the agent over MCP."""
        done = self.server.call("notes", tool, arguments, key=self.agent)
        assert not done.get("isError"), done

    def edit(self, name: str, old: str, new: str) -> None:
        self.tool("edit", page=name, changes=[{"do": "replace", "old": old, "text": new}])

    def show(self, path: str = "") -> str:
        """A page of activity, for the person."""
        return page(self.server, f"/activity{path}", key=self.person)

    def session(self) -> str:
        """The path of the agent's session below `/activity`."""
        match = re.search(r'href="/activity(/[0-9a-f]{16})"><bdi>agent</bdi>', self.show())
        assert match
        return match[1]

    def undo(self, session: str, **fields: str) -> tuple[int, str]:
        """Send a form of the session's page."""
        answer = sent(self.server, f"/activity{session}?page=1", key=self.person, **fields)
        return answer.status, answer.body.decode()

    def text(self, name: str) -> str:
        return (self.repo.path / name).read_text()


@pytest.fixture
def site(tmp_path: Path, cache_dir: Path) -> Iterator[Site]:
    assert cache_dir.is_dir()
    repo = new_repo(tmp_path / "notes", FILES)
    agent, person = create_key("agent", "--tier", "write"), create_key("Ada Lovelace", "--tier", "write")
    with served(repo.path, "--commit", "auto") as server:
        yield Site(server, repo, agent, person)


def test_a_session_is_seen_whole_and_one_write_of_it_is_taken_back(site: Site) -> None:
    site.tool("read", page="about")
    site.edit("tea", "first line", "FIRST <b>line</b>")
    site.edit("tea", "third line", "THIRD line")
    site.tool("write", page="new", text="# New\n")
    listed = site.show()
    for words in ("over MCP", "3 writes", "of 2 files", "after reading", "<code>edit</code> 2", "<code>write</code> 1"):
        assert words in listed, words
    session = site.session()
    html = site.show(session)
    for words in ("After reading", "about.md", "FIRST", "THIRD", "# New", "&lt;b&gt;", "Undo all writes"):
        assert words in html, words
    assert "<b>line" not in html
    commits = re.findall(r'name="commit" value="([0-9a-f]{40})"', html)
    assert commits == site.repo.git("log", "-3", "--format=%H").split(), "the newest first"

    status, done = site.undo(session, commit=commits[2], action="write")
    assert (status, "Undone:" in done, "taken back by" in done) == (200, True, True)
    assert done.count("Undo this write") == 2, "what is taken back has no button"
    assert commits[2] not in re.findall(r'name="commit" value="([0-9a-f]{40})"', done)
    assert "first line" in site.text("tea.md")
    assert "THIRD" in site.text("tea.md")
    assert site.repo.git("log", "-1", "--format=%an") == "Ada Lovelace"
    status, again = site.undo(session, commit=commits[2], action="write")
    assert (status, "Nothing of it was left to undo" in again) == (200, True)

    status, done = site.undo(session, action="session")
    assert (status, "Undo this write" in done, "Undo all writes" in done) == (200, False, False)
    assert site.text("tea.md") == FILES["tea.md"]
    assert not (site.repo.path / "new.md").exists()
    own = re.search(r'href="/activity(/[0-9a-f]{16})"><bdi>Ada Lovelace</bdi>', site.show())
    assert own
    assert site.undo(own[1], action="session")[0] == 200
    assert site.show(session).count("Undo this write") == 3, "an undo that was undone counts no more"
    assert site.undo(session, action="session")[0] == 200
    assert "in the browser" in site.show()
    assert site.undo(session, commit="0" * 40, action="write")[0] == 404
    assert site.undo(session)[0] == 422
    assert site.undo("/0123456789abcdef", action="session")[0] == 404


def test_a_conflict_is_shown_and_the_other_files_are_undone_alone(site: Site) -> None:
    site.edit("tea", "first line", "FIRST line")
    site.edit("about", "See", "Look at")
    session = site.session()
    path = site.repo.path / "tea.md"
    path.write_text(path.read_text().replace("FIRST line", "the person's line"))
    site.repo.git("commit", "-qam", "By a person")
    page(site.server, "/p/tea", key=site.person)

    status, html = site.undo(session, action="session")
    assert status == 409
    for words in ("tea.md, line 3", "What would be undone", "FIRST line", "As it is now", "the person&#39;s line"):
        assert words in html, words
    assert "Look at" in site.text("about.md"), "nothing was undone"
    others = re.search(r'<textarea name="pages" hidden>\n(.*?)</textarea>.*?Undo the other 1 file<', html, re.DOTALL)
    assert others
    assert others[1] == "notes:about.md"
    assert site.undo(session, action="session", pages=others[1])[0] == 200
    assert site.text("about.md") == FILES["about.md"]
    assert "the person's line" in site.text("tea.md")


def test_only_who_may_write_sees_activity_and_only_own_pages_undo(site: Site) -> None:
    site.edit("tea", "first line", "FIRST line")
    session, head = site.session(), site.repo.git("rev-parse", "HEAD")
    for tier, status in (("read", 403), ("propose", 403), ("write", 200), ("admin", 200)):
        key = create_key(tier, "--tier", tier)
        for path in ("/activity", f"/activity{session}"):
            assert site.server.ask("GET", path, key=key).status == status, (tier, path)
        assert ('href="/activity"' in page(site.server, "/p/tea", key=key)) == (status == 200), tier
        if status == 403:
            assert sent(site.server, f"/activity{session}", key=key, action="session").status == 403, tier
    elsewhere = create_key("elsewhere", "--tier", "write", "--collection", "other")
    assert "<bdi>agent</bdi>" not in page(site.server, "/activity", key=elsewhere)
    assert site.server.ask("GET", f"/activity{session}", key=elsewhere).status == 404
    assert sent(site.server, f"/activity{session}", key=elsewhere, action="session").status == 404
    inbox = create_key("inbox", "--tier", "write", "--folder", "inbox")
    refused = sent(site.server, f"/activity{session}", key=inbox, action="session")
    assert (refused.status, b"writes in inbox/ only" in refused.body) == (403, True)
    for origin in ("https://example.org", ""):
        answer = sent(site.server, f"/activity{session}", key=site.person, origin=origin, action="session")
        assert answer.status == 403, origin
    assert site.repo.git("rev-parse", "HEAD") == head


@pytest.mark.parametrize("kind", ["git", "plain"])
def test_writes_that_were_not_committed_are_taken_back(tmp_path: Path, cache_dir: Path, kind: str) -> None:
    assert cache_dir.is_dir()
    repo = new_repo(tmp_path / "notes", FILES)
    if kind == "plain":
        shutil.rmtree(repo.path / ".git")
    agent, person = create_key("agent", "--tier", "write"), create_key("Ada", "--tier", "write")
    other = create_key("Bo", "--tier", "write")
    with served(repo.path) as server:
        site = Site(server, repo, agent, person)
        if kind == "git":
            site.edit("tea", "first line", "FIRST line")
            site.edit("tea", "third line", "THIRD line")
        site.tool("write", page="new", text="# New\n")
        gone = server.ask("DELETE", "/api/v1/pages/about", key=other)
        assert gone.status == 200, gone.body
        session = site.session()
        html = site.show(session)
        assert "not committed" in html
        assert "# New" in html
        times = re.findall(r'name="when" value="([0-9.]+)"', html)
        assert len(times) == (3 if kind == "git" else 1)
        status, done = site.undo(session, when=times[0], action="write")
        assert (status, "Undone, and not committed" in done) == (200, True)
        assert not (repo.path / "new.md").exists()
        assert times[0] not in re.findall(r'name="when" value="([0-9.]+)"', done)
        status, done = site.undo(session, action="session")
        assert (status, "Undo this write" in done, "Undo all writes" in done) == (200, False, False)
        assert site.text("tea.md") == FILES["tea.md"]
        again = Shell(tmp_path)("undo", "--session", session.strip("/"), "-C", repo.path)
        assert again.text.startswith("Nothing of it is left to undo"), again
        own = re.search(r'href="/activity(/[0-9a-f]{16})"><bdi>Bo</bdi>', site.show())
        assert own
        assert site.undo(own[1], action="session")[0] == 200
        assert site.text("about.md") == FILES["about.md"]
        site.edit("tea", "second line", "SECOND line")
        path = repo.path / "tea.md"
        path.write_text(path.read_text().replace("fourth line", "mine"))
        status, html = site.undo(session, action="session")
        assert (status, "is not kept any more" in html) == (404, True), "it is never guessed"
        assert "SECOND" in site.text("tea.md")
