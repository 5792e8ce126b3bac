"""A call with a request id that is sent again to another server of the remote is answered there, and made once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from remotes.replicas import push, team, writing_pair
from serving import Server
from support import GitRepo


def text_of(server: Server, tool: str, arguments: dict[str, Any]) -> str:
    answer = server.call("notes", tool, arguments)
    assert not answer.get("isError"), answer
    return str(answer["content"][0]["text"])


def commit_in(text: str) -> str:
    (line,) = [line for line in text.splitlines() if line.startswith("commit ")]
    return line


def commits(work: GitRepo, remote: Path) -> int:
    return int(work.git("--git-dir", str(remote), "rev-list", "--count", "HEAD"))


EDIT = {"page": "a", "changes": [{"do": "append", "text": "- one more"}]}
CALLS = [
    ("edit", EDIT),
    ("write", {"page": "new.md", "text": "# New\n"}),
    ("transaction", {"steps": [{"do": "edit", **EDIT}, {"do": "write", "page": "newer.md", "text": "# Newer\n"}]}),
    ("move", {"page": "a", "to": "folder/b.md"}),
]


@pytest.mark.parametrize("peers", [False, True])
@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.sampled(4)
def test_a_call_that_is_sent_again_to_another_server_is_made_once(
    tmp_path: Path, *, peers: bool, outside: bool
) -> None:
    work, remote = team(tmp_path)
    with writing_pair(tmp_path, remote, peers=peers) as servers:
        for number, (tool, arguments) in enumerate(CALLS):
            server, two = servers if number % 2 else servers[::-1]
            named = {**arguments, "request_id": f"call {number}", "message": f"{tool}\n\nSigned-off-by: A <a@b>"}
            first = text_of(server, tool, named)
            if outside:  # the page changes, too, before the call is sent again
                work.git("fetch", "--quiet", "origin", "HEAD")
                work.git("reset", "--quiet", "--hard", "FETCH_HEAD")
                path = "a.md" if (work.path / "a.md").exists() else "folder/b.md"
                push(work, path, f"{(work.path / path).read_text()}\nOutside {number}\n")
            count = commits(work, remote)
            again = text_of(two, tool, named)
            assert commit_in(again) == commit_in(first)
            assert text_of(two, tool, named) == again
            assert commits(work, remote) == count


def test_a_call_is_answered_by_its_commit_and_another_id_is_another_call(tmp_path: Path) -> None:
    work, remote = team(tmp_path)
    with writing_pair(tmp_path, remote, peers=False) as (server, two):
        made = {commit_in(text_of(server, "edit", {**EDIT, "request_id": "x"}))}
        text_of(two, "write", {"page": "b.md", "text": "# B\n"})  # it knows the commit from now on
        again = text_of(two, "edit", {**EDIT, "request_id": "x"})
        assert "nothing was written now" in again
        assert {commit_in(again)} == made
        made.add(commit_in(text_of(two, "edit", {**EDIT, "request_id": "y"})))
    assert len(made) == 2
    assert work.git("--git-dir", str(remote), "show", "HEAD:a.md").count("- one more") == 2
