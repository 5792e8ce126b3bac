"""Sending a notice: to public addresses only, to the address that was checked, within a time, and never too much."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from itertools import islice
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import ConfigError, UnavailableError
from commonplace.services import writes
from commonplace.webhooks import MAX_BODY, Notice, ToldState, _private, is_public, parse_target, pending, post, resolved
from indexed import Indexed
from proposing import ProposedBase
from receiver import receiving
from support import new_repo


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("127.0.0.1", False),
        ("10.0.0.1", False),
        ("172.16.3.4", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),  # noqa: S104 - nothing is bound
        ("224.0.0.1", False),
        ("::1", False),
        ("fe80::1", False),
        ("fd00::1", False),
        ("::ffff:10.0.0.1", False),
        ("64:ff9b::a00:1", False),
        ("64:ff9b::5db8:d822", True),
        ("2002:a00:1::", False),
        ("fec0::1", False),
        ("::a00:1", False),
        ("::ffff:0:10.0.0.1", False),
        ("64:ff9b:1::a00:1", False),
        ("3fff::1", False),
        ("192.0.0.8", False),
    ],
)
def test_which_addresses_are_on_the_internet(address: str, public: bool) -> None:
    assert is_public(ip_address(address)) is public


def test_a_name_of_a_private_address_is_refused_and_the_checked_address_is_connected_to() -> None:
    rows = {
        "inside.example": ["10.0.0.7"],
        "both.example": ["93.184.216.34", "127.0.0.1"],
        "good.example": ["93.184.216.34"],
        "name.example": ["127.0.0.1"],
    }
    hosts: list[str] = []

    def lookup(host: str, port: int) -> list[str]:
        del port
        hosts.append(host)
        return rows[host]

    for host in ("inside.example", "both.example"):
        with pytest.raises(ConfigError, match="private network"):
            resolved(host, 443, _private, allow_private=False, lookup=lookup)
    assert resolved("good.example", 443, _private, allow_private=False, lookup=lookup) == "93.184.216.34"
    with receiving() as receiver:
        url = receiver.url.replace("127.0.0.1", "name.example")
        post(f"{url}/x", b"{}", {}, allow_private=True, lookup=lookup)
        assert hosts.count("name.example") == 1, "the name is resolved once"
        (request,) = receiver.got
        assert request[1]["host"].startswith("name.example:")


@contextmanager
def speaking(words: bytes, pause: float) -> Iterator[str]:
    """The URL of a receiver that sends these bytes one by one, with pauses, and then nothing."""
    listener = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            for byte in words:
                if ended.wait(pause):
                    return
                try:
                    connection.sendall(bytes([byte]))
                except OSError:
                    return
            ended.wait()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    ended.set()
    listener.close()
    thread.join()


@pytest.mark.parametrize("words", [b"", b"HTTP/1.1 200 OK\r\nX: " + b"y" * 10_000], ids=["hangs", "drips"])
def test_a_receiver_cannot_hold_the_sender(words: bytes) -> None:
    with speaking(words, 0.01) as url:
        began = time.thread_time()
        with pytest.raises(UnavailableError, match="does not answer"):
            post(url, b"{}", {}, allow_private=True, timeout=0.3)
        assert time.thread_time() - began < 1


@pytest.mark.parametrize(("status", "message"), [(301, "redirects"), (307, "redirects"), (404, "404"), (503, "503")])
def test_what_is_not_taken_is_an_error(status: int, message: str) -> None:
    with receiving(status) as receiver:
        with pytest.raises(UnavailableError, match=message):
            post(f"{receiver.url}/x", b"{}", {}, allow_private=True)
        assert len(receiver.got) == 1
    with pytest.raises(UnavailableError, match="does not answer"):
        post(receiver.url, b"{}", {}, allow_private=True)


def test_many_and_large_commits_go_into_notices_of_bounded_size(tmp_path: Path) -> None:
    long = "/".join(["x" * 200] * 3)
    repo = new_repo(tmp_path / "base", {"a.md": "# A\n"})
    target = parse_target("https://example.org/", allow_private=False)
    with Indexed(tmp_path) as base:
        state = ToldState(tmp_path / "state.json")
        assert list(pending(base.collection, target, state)) == [], "what was there before is not told"
        for number in range(12):
            for page in range(20):
                file = repo.path / long / f"{number}-{page}.md"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(f"# {number}\n")
            repo.commit(f"Number {number} " + "w" * 1_000)
        sent = [notice.body for notice in pending(base.collection, target, state)]
        assert len(sent) > 1
        assert max(map(len, sent)) <= MAX_BODY
        rows = [row for body in sent for row in json.loads(body)["commits"]]
        assert [row["subject"].split()[1] for row in rows] == [str(number) for number in range(12)]
        assert {row["more_files"] + len(row["files"]) for row in rows} == {20}
        assert all(len(row["subject"]) <= 300 for row in rows)
        assert list(pending(base.collection, target, state)) == []
        state.commit = "0" * 40
        state.write()
        first, *_ = (json.loads(notice.body) for notice in pending(base.collection, target, state))
        assert first["complete"] is False, "the commit that was told last is on the branch no more"


def test_a_notice_that_may_have_arrived_comes_again_as_it_was(tmp_path: Path) -> None:
    target = parse_target("https://example.org/", allow_private=False)

    def next_notices(base: ProposedBase, count: int = 9) -> list[Notice]:
        """The next notices of a server that ends while it sends the last of them."""
        return list(islice(pending(base.collection, target, ToldState(tmp_path / "state.json")), count))

    with ProposedBase(tmp_path, {"a.md": "# A\n", "b.md": "# B\n"}) as base:
        assert next_notices(base) == []
        writes.edit(base.collection, Address("b.md"), lambda _: b"# B 1\n")
        (begun,) = next_notices(base, 1)
        writes.edit(base.collection, Address("b.md"), lambda _: b"# B 2\n")
        again, later = next_notices(base)
        assert again == begun
        assert [len(json.loads(notice.body)["commits"]) for notice in (again, later)] == [1, 1]
        for text in (b"# A 1\n", b"# A 2\n"):
            with base.view() as view:
                writes.edit(view, Address("a.md"), lambda _, text=text: text)
            if text == b"# A 1\n":
                (begun,) = next_notices(base, 1)
        again, later = next_notices(base)
        assert again == begun
        assert [json.loads(notice.body)["event"] for notice in (again, later)] == ["opened", "amended"]
        assert next_notices(base) == []
