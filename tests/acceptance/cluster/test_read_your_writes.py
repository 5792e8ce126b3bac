"""What one server has confirmed, another one shows to whoever sends back the commit that the answer named."""

from __future__ import annotations

from pathlib import Path

import pytest

from remotes.replicas import free_port, replica, team, wait_ready

WRITES = ("--replica-writes", "--tier", "write", "--rate-limit", "0")


@pytest.mark.parametrize("peers", [False, True], ids=["alone", "handed over to an owner"])
def test_the_answer_to_a_write_names_its_commit(tmp_path: Path, *, peers: bool) -> None:
    work, remote = team(tmp_path)
    ports = (free_port(), free_port())
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    secret = {"COMMONPLACE_CLUSTER_SECRET": "of these two"}
    named = [(*WRITES, "--node-url", own, "--peer", other) if peers else WRITES for own, other in (urls, urls[::-1])]
    with (
        replica(tmp_path / "one", remote, flags=named[0], env=secret, poll=3600, port=ports[0]) as one,
        replica(tmp_path / "two", remote, flags=named[1], env=secret, poll=3600, port=ports[1]) as two,
    ):
        wait_ready(one)
        wait_ready(two)
        for number, (writer, reader) in enumerate([(one, two), (two, one)] * 3):
            body = {"content": f"# Page {number}\n\nwords\n"}
            answer = writer.page("PUT", f"page{number}", body)
            assert answer.status == 201, answer.body
            commit = answer.headers["commonplace-commit"]
            assert commit == f"team={work.git('--git-dir', str(remote), 'rev-parse', 'HEAD')}"
            assert reader.page("GET", f"page{number}", headers={"commonplace-at-least": commit}).status == 200
            found = reader.ask("GET", "/api/v1/search?q=words", headers={"commonplace-at-least": commit}).json["total"]
            assert found >= number + 1
