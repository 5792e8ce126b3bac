"""A write at a server that has not fetched what it names yet: the remote is read before anything is called missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remotes.replicas import push, team, writing_pair
from serving import Server
from support import GitRepo


@pytest.fixture
def remote(tmp_path: Path) -> tuple[GitRepo, Path]:
    """A work tree, and its bare remote."""
    return team(tmp_path)


@pytest.fixture
def behind(remote: tuple[GitRepo, Path], tmp_path: Path) -> Iterator[Server]:
    """A ready server that reads its remote on demand only."""
    with writing_pair(tmp_path, remote[1], peers=False) as (server, _):
        yield server


def text_of(answer: Any) -> str:
    return str(answer["content"][0]["text"])


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("edit", {"page": "new", "changes": [{"do": "append", "text": "appended"}]}),
        ("edit", {"page": "A title that only its text has", "changes": [{"do": "append", "text": "appended"}]}),
        ("move", {"page": "new", "to": "folder/moved.md"}),
        ("edit", {"page": "a", "changes": [{"do": "replace", "old": "second", "text": "third"}]}),
        ("edit", {"page": "a", "changes": [{"do": "append", "section": "Later", "text": "appended"}]}),
    ],
)
def test_an_agent_changes_what_only_the_remote_has(
    behind: Server, remote: tuple[GitRepo, Path], tool: str, arguments: dict[str, Any]
) -> None:
    work, _ = remote
    push(work, "new.md", "# A title that only its text has\n\nwords\n")
    push(work, "a.md", "# Alpha\n\nsecond words\n\n## Later\n\ntext\n")
    answer = behind.call("notes", tool, arguments)
    assert not answer.get("isError"), text_of(answer)


def test_a_write_that_changes_nothing_at_a_server_behind_is_not_confirmed_while_the_remote_has_another_text(
    behind: Server, remote: tuple[GitRepo, Path]
) -> None:
    work, _ = remote
    known_text = (work.path / "a.md").read_text()
    push(work, "a.md", "# Alpha\n\nsecond words\n")
    refused = behind.page("PUT", "a", {"content": known_text})
    assert refused.status == 409, refused.body
    assert refused.json["current_revision"] == work.git("rev-parse", "HEAD")
    push(work, "a.md", known_text)
    assert behind.page("PUT", "a", {"content": "# Alpha\n\nsecond words\n"}).status == 409
    push(work, "a.md", "# Alpha\n\nthird words\n")
    answer = behind.call("notes", "write", {"page": "a", "text": known_text})
    assert answer["isError"]
    assert behind.page("PUT", "a", {"content": "# Alpha\n\nthird words\n"}).json["unchanged"] is True


def test_an_endpoint_changes_and_deletes_what_only_the_remote_has(behind: Server, remote: tuple[GitRepo, Path]) -> None:
    work, _ = remote
    push(work, "new.md", "# New\n\nwords\n")
    seen = work.git("rev-parse", "HEAD:new.md")
    changed = behind.page("PUT", "new", {"content": "# New\n\nother words\n", "revision": seen})
    assert changed.status == 200, changed.body
    push_after(work, "later.md")
    gone = behind.page("DELETE", "later", headers={"If-Match": f'"{work.git("rev-parse", "HEAD:later.md")}"'})
    assert gone.status in {200, 204}, gone.body


def test_a_name_that_the_remote_has_freed_can_be_used(behind: Server, remote: tuple[GitRepo, Path]) -> None:
    work, _ = remote
    work.git("mv", "a.md", "b.md")
    work.git("commit", "--quiet", "-m", "Rename")
    work.git("push", "--quiet", "origin", "HEAD")
    made = behind.page("PUT", "a", {"content": "# New alpha\n"}, headers={"If-None-Match": "*"})
    assert made.status == 201, made.body


def test_what_the_remote_does_not_have_either_is_missing(behind: Server) -> None:
    answer = behind.call("notes", "edit", {"page": "nowhere", "changes": [{"do": "append", "text": "x"}]})
    assert answer["isError"]
    assert "There is no page" in text_of(answer)


def test_nothing_is_called_missing_while_the_remote_cannot_be_read(
    behind: Server, remote: tuple[GitRepo, Path], tmp_path: Path
) -> None:
    remote[1].rename(tmp_path / "away.git")
    answer = behind.call("notes", "edit", {"page": "nowhere", "changes": [{"do": "append", "text": "x"}]})
    assert answer["isError"]
    assert "cannot be read" in text_of(answer)


def push_after(work: GitRepo, path: str) -> None:
    """Push a page on top of what the server has pushed."""
    work.git("fetch", "--quiet", "origin", "HEAD")
    work.git("reset", "--quiet", "--hard", "FETCH_HEAD")
    push(work, path, f"# {path}\n")
