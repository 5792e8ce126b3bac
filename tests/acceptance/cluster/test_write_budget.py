"""A write to a remote that hangs in one of its calls ends within its time and says what is known; reads never wait."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from remotes.replicas import WRITES, push, replica, team, wait_ready
from remotes.slow import SlowRemote, full_port, slow_remote
from serving import Answer, Server
from support import GitRepo

SECONDS = "2"
BIG = "words " * 400_000
"""More than the buffers of a connection hold."""


@contextmanager
def _writing(folder: Path, poll: int = 3600) -> Generator[tuple[Server, SlowRemote, GitRepo, Path]]:
    work, bare = team(folder)
    config = folder / "gitconfig"
    config.write_text("[user]\n\tname = T\n\temail = t@example.org\n")
    env = {"COMMONPLACE_WRITE_TIMEOUT": SECONDS, "GIT_CONFIG_GLOBAL": str(config)}
    with slow_remote(bare) as remote, replica(folder / "one", remote.url, flags=WRITES, env=env, poll=poll) as server:
        wait_ready(server)
        assert server.page("PUT", "first", {"content": "# First\n"}).status == 201
        yield server, remote, work, config


def _put(server: Server, path: str, text: str = "# New\n") -> tuple[Answer, bool]:
    """The answer to a write, and whether pages were read while it was not answered."""
    answers: list[Answer] = []
    thread = threading.Thread(target=lambda: answers.append(server.page("PUT", path, {"content": text})))
    thread.start()
    was_read = server.page("GET", "a").status == 200 and thread.is_alive()
    thread.join()
    return answers[0], was_read


def _refused(answer: Answer, known: str) -> None:
    assert answer.status == 503, answer.body
    assert known in answer.json["error"], answer.body
    assert answer.headers["retry-after"] == "1"


def test_a_write_ends_in_time_whichever_call_the_remote_hangs_in(tmp_path: Path) -> None:
    with ExitStack() as stack, _writing(tmp_path) as (server, remote, work, config):
        port = stack.enter_context(full_port())
        plain = config.read_text()
        base = remote.url.rpartition("/")[0]
        config.write_text(f'{plain}[url "http://127.0.0.1:{port}/"]\n\tinsteadOf = {base}/\n')
        answer, was_read = _put(server, "connect")
        _refused(answer, "Nothing was written.")
        assert was_read
        config.write_text(plain)

        remote.hangs_in = "advertise"
        answer, was_read = _put(server, "advertise")
        _refused(answer, "Nothing was written.")
        assert was_read

        remote.hangs_in = "receive"
        answer, was_read = _put(server, "receive", BIG)
        _refused(answer, "is unknown")
        assert was_read
        remote.hangs_in = ""
        assert server.page("PUT", "receive", {"content": BIG}).status == 201, "it was not taken"

        push(_pulled(work), "a.md", "# Alpha\n\nby another program\n")
        remote.hangs_in = "negotiate"  # the push is refused, and what came meanwhile cannot be fetched
        answer, was_read = _put(server, "negotiate")
        _refused(answer, "Nothing was written.")
        assert was_read
        remote.hangs_in = ""
        assert server.page("PUT", "negotiate", {"content": "# New\n"}).status == 201

        remote.hangs_in = "after the pack"
        asked = {"page": "after", "text": "# After\n", "request_id": "the one"}
        told = _text(server.call("notes", "write", asked))
        assert "is unknown" in told
        assert 'request_id "the one"' in told
        remote.hangs_in = ""
        remote.landed.clear()
        assert "after" in _text(server.call("notes", "write", asked))
        subjects = work.git("--git-dir", str(remote.bare), "log", "--format=%s", "HEAD", "--", "after.md").splitlines()
        assert len(subjects) == 1


@pytest.mark.soak
def test_a_byte_at_a_time_is_no_progress(tmp_path: Path) -> None:
    with _writing(tmp_path) as (server, remote, _, _):
        remote.pace = "byte by byte"
        answer, was_read = _put(server, "new")
        _refused(answer, "Nothing was written.")
        assert was_read


def test_a_write_does_not_wait_for_a_fetch_that_hangs(tmp_path: Path) -> None:
    with _writing(tmp_path, poll=1) as (server, remote, work, _):
        remote.hangs_in = "negotiate"
        remote.asked.clear()
        assert remote.asked.wait(60)
        assert _put(server, "beside")[0].status == 201
        push(_pulled(work), "b.md", "# Other\n")  # so that the next write needs a fetch, too
        _refused(_put(server, "after")[0], "Nothing was written.")
        assert server.page("GET", "beside").status == 200


def _pulled(work: GitRepo) -> GitRepo:
    work.git("fetch", "--quiet", "origin", "HEAD")
    work.git("reset", "--quiet", "--hard", "FETCH_HEAD")
    return work


def _text(answer: Any) -> str:
    return str(answer["content"][0]["text"])
