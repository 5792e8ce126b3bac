"""Calls in threads: writers finish, readers can be left behind, and neither keeps the other waiting."""

from __future__ import annotations

import subprocess
import sys
import threading

import anyio
import pytest
from starlette.types import Message

from commonplace.domain.errors import KnowledgeError, NotFoundError, Stopped
from commonplace.faces.web.markup.page import TextRenderer
from commonplace.faces.worker_threads import MAX_WRITERS, go_on, run_in_worker, unless_gone
from support import MODELS

WAIT = 20.0
"""Seconds."""


@pytest.mark.parametrize("reads", [True, False])
def test_a_call_runs_in_another_thread_and_gives_what_it_returns(reads: bool) -> None:
    async def run() -> tuple[int, str]:
        return await run_in_worker(lambda: (threading.get_ident(), "done"), reads=reads)

    identity, value = anyio.run(run)
    assert value == "done"
    assert identity != threading.get_ident()


@pytest.mark.parametrize("reads", [True, False])
def test_an_error_of_a_call_is_the_callers(reads: bool) -> None:
    def fails() -> None:
        raise NotFoundError("No such page.")

    async def run() -> None:
        await run_in_worker(fails, reads=reads)

    with pytest.raises(NotFoundError, match="No such page"):
        anyio.run(run)


def test_a_call_that_was_stopped_though_somebody_waits_says_to_call_again() -> None:
    def stopped() -> None:
        raise Stopped

    async def run() -> None:
        await run_in_worker(stopped, reads=True)

    with pytest.raises(KnowledgeError, match="ended before it was done") as caught:
        anyio.run(run)
    assert caught.value.hint == "Call again."


def test_a_reader_is_left_behind_when_its_caller_goes_and_a_writer_is_not() -> None:
    ended: list[str] = []

    async def cancelled(name: str, release: threading.Event, *, reads: bool) -> bool:
        begun = threading.Event()

        def work() -> None:
            begun.set()
            assert release.wait(WAIT)
            ended.append(name)

        async with anyio.create_task_group() as group:
            group.start_soon(lambda: run_in_worker(work, reads=reads))
            await anyio.to_thread.run_sync(begun.wait, WAIT)
            if not reads:
                release.set()
            group.cancel_scope.cancel()
        return name in ended

    async def run() -> tuple[bool, bool]:
        left = threading.Event()
        reader = await cancelled("reader", left, reads=True)
        writer = await cancelled("writer", threading.Event(), reads=False)
        left.set()
        return reader, writer

    assert anyio.run(run) == (False, True)


def test_writers_that_wait_for_their_turn_keep_no_reader_waiting() -> None:
    release, at_work = threading.Event(), threading.Semaphore(0)

    def write() -> None:
        at_work.release()
        assert release.wait(WAIT)

    def all_writers() -> None:
        for _ in range(MAX_WRITERS):
            assert at_work.acquire(timeout=WAIT)

    async def run() -> tuple[str, bool]:
        async with anyio.create_task_group() as group:
            for _ in range(MAX_WRITERS + 3):
                group.start_soon(lambda: run_in_worker(write, reads=False))
            await anyio.to_thread.run_sync(all_writers)
            with anyio.fail_after(WAIT):
                read = await run_in_worker(lambda: "read", reads=True)
            one_more = at_work.acquire(blocking=False)
            release.set()
        return read, one_more

    assert anyio.run(run) == ("read", False)


_START_THAT_STILL_IMPORTS = """
import threading, time
from commonplace.faces.worker_threads import START_THREAD, end_process

def start():
    while not threading._SHUTTING_DOWN:
        time.sleep(0)
    import concurrent.futures.thread

threading.Thread(target=start, name=START_THREAD, daemon=True).start()
threading.Thread(target=lambda: [time.sleep(0) for _ in range(20_000)]).start()
end_process()
"""
"""The second thread keeps the interpreter's end waiting, so that the import meets it."""


def test_a_start_that_still_imports_modules_leaves_no_traceback_when_the_process_ends() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _START_THAT_STILL_IMPORTS], capture_output=True, text=True, timeout=WAIT, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_rendering_for_a_client_that_has_gone_ends_and_frees_its_thread() -> None:
    ended = threading.Event()

    class NoLinks:
        def shown(self, links: object) -> dict[object, object]:
            del links
            return {}

    def renders() -> str:
        try:
            while True:
                TextRenderer(NoLinks()).html("a *b* `c`\n\n" * 1_000)  # type: ignore[arg-type]
        finally:
            ended.set()

    async def gone() -> Message:
        await anyio.sleep(0.05)
        return {"type": "http.disconnect"}

    async def run() -> None:
        assert await unless_gone(gone, run_in_worker(renders, reads=True)) is None

    anyio.run(run)
    assert ended.wait(WAIT)


def test_outside_of_a_call_nothing_is_cancelled() -> None:
    go_on()


_MODEL_THAT_IS_STILL_LOADED = """
import sys, threading, time
import onnxruntime
from commonplace.faces.worker_threads import end_process

def load():
    while True:
        onnxruntime.InferenceSession(sys.argv[1])

threading.Thread(target=load, daemon=True).start()
time.sleep(0.2)
end_process()
"""
"""Ended by the interpreter, this process ends by SIGABRT."""


def test_a_thread_in_the_models_runtime_does_not_abort_the_end_of_a_process() -> None:
    model = next(MODELS.rglob("*.onnx"), None)
    if model is None:
        pytest.skip("needs `commonplace model install`")
    command = [sys.executable, "-c", _MODEL_THAT_IS_STILL_LOADED, str(model)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT, check=False)
    assert (done.returncode, done.stderr) == (0, "")
