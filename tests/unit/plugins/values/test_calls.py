"""Calls of plugins end for their callers in bounded time, and what is late holds nothing else up."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from commonplace.domain.errors import InvalidInputError, KnowledgeError, Stopped
from commonplace.domain.json import JsonObject
from commonplace.faces.mcp.peers import NULL_CLIENT, InputNeeded, Peer
from commonplace.faces.mcp.toolset import Call
from commonplace.plugins.loader import Fault, Faults, Plugin
from commonplace.plugins.values import ALL_SECONDS, MIN_SECONDS, OverdueError, StartBudget, call_with_client
from commonplace.services.collections import Collections
from commonplace.services.services import Services
from indexed import WAIT_SECONDS, eventually


class Client:
    """A client that answers in the thread that asks it."""

    def __init__(self) -> None:
        self.threads: list[int] = []

    def can(self, capability: str) -> bool:
        self.threads.append(threading.get_ident())
        return capability == "elicitation"

    def ask(self, requests: Mapping[str, JsonObject]) -> Mapping[str, JsonObject]:
        raise InputNeeded(requests, {})

    def answered(self) -> tuple[str, ...]:
        return ()

    def log(self, level: str, text: str) -> None:
        raise AssertionError(level, text)

    def progress(self, done: int, total: int) -> None:
        raise InvalidInputError(f"{done} of {total}")


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Set at the end, so that no thread of a test outlives it."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def odd() -> Plugin:
    return Plugin("odd", object(), Faults(), StartBudget())


def faults_of(plugin: Plugin) -> list[str]:
    return [str(fault) for fault in plugin._faults.all]


def test_while_a_call_is_late_no_other_is_made_and_afterwards_it_is_again(odd: Plugin, gate: threading.Event) -> None:
    calls: list[int] = []

    def slow() -> int:
        calls.append(1)
        assert gate.wait(WAIT_SECONDS)
        return 7

    assert odd.called("before_save", slow, 0.0) is None
    assert odd.called("before_save", slow, WAIT_SECONDS) is None
    assert len(calls) == 1
    other = odd.called("before_delete", lambda: 8, WAIT_SECONDS)
    assert other
    assert other.result() == 8
    gate.set()
    assert eventually(lambda: bool(odd.called("before_save", lambda: 9, WAIT_SECONDS)))
    assert faults_of(odd) == ["before_save: a call did not return within 0 s; until it does, no other is made"]


def test_what_follows_writes_is_called_in_order_and_not_waited_for(odd: Plugin, gate: threading.Event) -> None:
    done: list[str] = []

    def slow() -> None:
        assert gate.wait(WAIT_SECONDS)
        done.append("slow")

    def failing() -> None:
        raise ValueError("no ink")

    odd.deliver("after_save", slow, 0.0)
    odd.deliver("after_save", failing, 0.0)
    odd.deliver("after_save", lambda: done.append("quick"), 0.0)
    assert done == []
    gate.set()
    odd.finish(WAIT_SECONDS)
    assert done == ["slow", "quick"]
    assert faults_of(odd) == ["after_save: a call failed: ValueError: no ink"]


def test_a_tool_that_does_not_answer_or_ends_its_thread_is_an_error_of_the_call(
    odd: Plugin, gate: threading.Event
) -> None:
    def exits(_: Peer) -> int:
        raise SystemExit(3)

    def late(_: Peer) -> bool:
        return gate.wait(WAIT_SECONDS)

    with pytest.raises(KnowledgeError, match="odd gave no answer: SystemExit"):
        odd.serve("tool", exits)
    with pytest.raises(KnowledgeError, match="did not answer in time"):
        odd.serve("tool", late, seconds=0.0)
    with pytest.raises(KnowledgeError, match="busy with an earlier call"):
        odd.serve("tool", lambda _: 1)
    with pytest.raises(KnowledgeError, match="odd gave no answer: ZeroDivisionError"):
        odd.serve("other", lambda _: 1 // 0)
    assert "other: failed: ZeroDivisionError: integer division or modulo by zero" in faults_of(odd)


def test_a_tool_whose_client_has_gone_is_left_without_a_word(odd: Plugin, gate: threading.Event) -> None:
    def gone() -> None:
        raise Stopped("gone")

    call = Call(services=Services(collections=Collections(tuple)), tier="read", progress=print, go_on=gone)
    with pytest.raises(Stopped):
        odd.serve("tool", lambda _: gate.wait(WAIT_SECONDS), call)
    assert faults_of(odd) == []


def test_a_client_is_asked_by_the_thread_that_serves_the_call() -> None:
    client = Client()

    def talk(ask: Callable[[Peer], object]) -> object:
        return call_with_client(ask, client, WAIT_SECONDS).exception()  # type: ignore[arg-type]

    assert call_with_client(lambda peer: peer.can("elicitation"), client, WAIT_SECONDS).result()  # type: ignore[arg-type]
    assert client.threads == [threading.get_ident()]
    assert isinstance(talk(lambda peer: peer.ask({"name": {}})), InputNeeded)
    assert str(talk(lambda peer: peer.progress(1, 2))) == "1 of 2"


def test_a_conversation_that_says_nothing_ends(gate: threading.Event) -> None:
    with pytest.raises(OverdueError):
        call_with_client(lambda _: gate.wait(WAIT_SECONDS), NULL_CLIENT, 0.0)


def test_a_start_waits_for_all_plugins_together_only_so_long() -> None:
    patience = StartBudget()
    assert patience.of(5.0) == 5.0
    patience.count_timeout(ALL_SECONDS)
    assert patience.of(5.0) == MIN_SECONDS


def test_what_calls_meet_is_kept_for_doctor_until_the_plugin_is_another(tmp_path: Path) -> None:
    server, doctor = Faults(), Faults()
    server.stamps["odd"] = doctor.stamps["odd"] = "1.0 17"
    server.store_in(tmp_path)
    server.note("odd", "get_hooks", "found while loading")
    server.note("odd", "before_save", "found in a call", in_call=True)
    assert doctor.stored_in(tmp_path) == [Fault("odd", "before_save", "found in a call")]
    doctor.stamps["odd"] = "1.1 18"
    assert doctor.stored_in(tmp_path) == []


@pytest.mark.parametrize(
    "content", ["", "{", "5", '[5, {"plugin": 5}]', '[{"plugin": "odd", "hook": "x", "met": "y"}]']
)
def test_a_damaged_file_of_faults_holds_none_and_is_written_again(tmp_path: Path, content: str) -> None:
    (tmp_path / "plugin-faults.json").write_text(content)
    faults = Faults()
    faults.stamps["odd"] = ""
    assert faults.stored_in(tmp_path) == []
    faults.store_in(tmp_path)
    faults.note("odd", "tool", "late", in_call=True)
    assert [fault.message for fault in faults.stored_in(tmp_path)] == ["late"]
