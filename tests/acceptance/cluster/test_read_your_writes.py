"""A write acknowledged by one server is visible on another one to clients that send the commit of the answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent import agent
from remotes.replicas import team, writing_pair


@pytest.mark.parametrize("peers", [False, True], ids=["alone", "handed over to an owner"])
@pytest.mark.soak
def test_the_answer_to_a_write_names_its_commit(tmp_path: Path, *, peers: bool) -> None:
    work, remote = team(tmp_path)
    with writing_pair(tmp_path, remote, peers=peers) as (server, two):
        for number, (writer, reader) in enumerate([(server, two), (two, server)] * 3):
            body = {"content": f"# Page {number}\n\nwords\n"}
            answer = writer.page("PUT", f"page{number}", body)
            assert answer.status == 201, answer.body
            commit = answer.headers["commonplace-commit"]
            assert commit == f"team={work.git('--git-dir', str(remote), 'rev-parse', 'HEAD')}"
            assert reader.page("GET", f"page{number}", headers={"commonplace-at-least": commit}).status == 200
            total = reader.ask("GET", "/api/v1/search?q=words", headers={"commonplace-at-least": commit}).json["total"]
            assert total >= number + 1


def test_the_answer_to_a_write_over_mcp_names_its_commit(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    work, remote = team(tmp_path)
    replica = ("mcp", "--replica-of", str(remote), "--replica-writes", "--replica-poll", "3600", "--tier", "write")
    with agent(*replica) as client:
        for number in range(3):
            written = client.raw("write", page=f"page{number}", text=f"# Page {number}\n")
            assert not written.is_error, written
            assert written.meta is not None
            [source] = written.meta["commonplace/sources"]
            assert source["commit"] == work.git("--git-dir", str(remote), "rev-parse", "HEAD")
