"""A server process: asked, answered, and ended with all that it started."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing

import pytest

from commonplace.domain.errors import UnavailableError
from commonplace.toolsets.cascade.foreign import REFUSED, ServerProcess
from commonplace.toolsets.cascade.rules.concepts import BROKEN
from support import eventually, is_running

SECONDS = 20.0
"""More than an answer ever takes."""


def server(script: str) -> ServerProcess:
    """A Python process that runs a script, whose input it reads line by line as `lines`."""
    begin = "import json, os, sys\nlines = (json.loads(line) for line in sys.stdin)\n"
    say = "def say(**message):\n    print(json.dumps({'jsonrpc': '2.0', **message}), flush=True)\n"
    return ServerProcess([sys.executable, "-S", "-c", begin + say + textwrap.dedent(script)])


@pytest.fixture
def echo() -> Iterator[ServerProcess]:
    with closing(server("for one in lines:\n    say(id=one['id'], result=one['params'])")) as made:
        yield made


def test_answers_belong_to_their_requests(echo: ServerProcess) -> None:
    assert echo.request("m", {"x": 1}, SECONDS) == {"x": 1}
    long = {"x": "é" * 300_000}
    assert echo.request("m", long, SECONDS) == long


def test_banners_notifications_and_other_answers_are_passed_over() -> None:
    script = """
    print("a banner", flush=True)
    one = next(lines)
    say(method="notifications/message", params={})
    say(id=one["id"] + 7, result="another")
    print("[1, 2]", flush=True)
    say(id=one["id"], result="mine")
    """
    with closing(server(script)) as process:
        assert process.request("m", {}, SECONDS) == "mine"


def test_a_ping_of_the_server_is_answered_and_any_other_request_refused() -> None:
    script = """
    one = next(lines)
    say(id="p", method="ping")
    say(id="s", method="sampling/createMessage", params={})
    say(id=one["id"], result=[next(lines), next(lines)])
    """
    with closing(server(script)) as process:
        ping, other = process.request("m", {}, SECONDS)
    assert ping == {"jsonrpc": "2.0", "id": "p", "result": {}}
    assert (other["id"], other["error"]["code"]) == ("s", -32601)


def test_an_error_is_told_in_the_server_s_words() -> None:
    script = "say(id=next(lines)['id'], error={'code': 1, 'message': 'no such node'})"
    with (
        closing(server(script)) as process,
        pytest.raises(UnavailableError, match="'no such node'") as refused,
    ):
        process.request("m", {}, SECONDS)
    assert refused.value.kind == REFUSED


def test_a_server_that_ends_says_how_and_its_last_words() -> None:
    script = "next(lines)\nprint('cannot open the store', file=sys.stderr)\nsys.exit(3)"
    with (
        closing(server(script)) as process,
        pytest.raises(UnavailableError, match=r"exit code 3.*'cannot open the store'"),
    ):
        process.request("m", {}, SECONDS)


def test_a_server_that_says_nothing_is_left_after_the_given_time() -> None:
    with closing(server("sys.stdin.read()")) as process, pytest.raises(UnavailableError, match="in time"):
        process.request("m", {}, 0.05)


def test_a_full_log_does_not_stop_an_answer() -> None:
    with closing(
        server("one = next(lines)\nsys.stderr.write('x' * 1_000_000)\nsay(id=one['id'], result=1)")
    ) as process:
        assert process.request("m", {}, SECONDS) == 1


def test_own_settings_are_no_business_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_SECRET", "x")
    monkeypatch.setenv("OTHER", "y")
    with closing(server("say(id=next(lines)['id'], result=dict(os.environ))")) as process:
        request = process.request("m", {}, SECONDS)
    assert request["OTHER"] == "y"
    assert "COMMONPLACE_SECRET" not in json.dumps(request)


@pytest.mark.parametrize("command", [["/no/such/program"], ["a\0b"]])
def test_a_command_that_cannot_be_started_is_broken(command: list[str]) -> None:
    with pytest.raises(UnavailableError, match="cannot be started") as refused:
        ServerProcess(command)
    assert refused.value.kind == BROKEN
    assert "/no/such" not in str(refused.value)


def test_closing_ends_the_processes_that_the_server_has_started() -> None:
    script = """
    child = os.fork()
    if not child:
        import time
        time.sleep(600)
    say(id=next(lines)["id"], result=child)
    """
    process = server(script)
    child = process.request("m", {}, SECONDS)
    process.close(grace=0.0)
    eventually(lambda: not is_running(child))
