"""Lines over real pipes and files, and who has standard output while a server speaks on it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import anyio
import pytest

from commonplace.faces.mcp.transports.stdio import LineReader, write_bytes

LARGE = b"x" * 1_000_000
"""Many times what a pipe holds."""


def lines_of(descriptor: int) -> list[bytes]:
    async def collected() -> list[bytes]:
        with anyio.fail_after(20):
            return [line async for line in LineReader(descriptor)]

    return anyio.run(collected)


@pytest.mark.parametrize(
    ("pieces", "lines"),
    [
        ([b"one\ntwo\n"], [b"one", b"two"]),
        ([b"o", b"n", b"e\nt", b"wo"], [b"one", b"two"]),
        ([b"\n\n", b"one\n"], [b"", b"", b"one"]),
        ([LARGE, LARGE + b"\n", b"end"], [LARGE + LARGE, b"end"]),
        ([], []),
    ],
)
def test_lines_are_whole_however_they_come(pieces: list[bytes], lines: list[bytes]) -> None:
    reading, writing = os.pipe()

    def write() -> None:
        with os.fdopen(writing, "wb", buffering=0) as pipe:
            for piece in pieces:
                pipe.write(piece)

    writer = threading.Thread(target=write)
    writer.start()
    assert lines_of(reading) == lines
    writer.join()
    os.close(reading)


def test_a_file_is_read_as_a_pipe_is(tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(b"one\n" * 50_000 + b"two")
    with (tmp_path / "input").open("rb") as file:
        assert lines_of(file.fileno()) == [b"one"] * 50_000 + [b"two"]


def test_what_a_slow_reader_leaves_in_the_pipe_holds_up_nothing_else() -> None:
    reading, writing = os.pipe()
    received = bytearray()

    async def main() -> None:
        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(write_bytes, writing, LARGE)
                for _ in range(100):  # the writer waits for a reader meanwhile
                    await anyio.lowlevel.checkpoint()
                while len(received) < len(LARGE):
                    received.extend(await anyio.to_thread.run_sync(os.read, reading, 65_536))

    anyio.run(main)
    os.close(reading)
    os.close(writing)
    assert received == LARGE


def test_a_file_is_written_whole(tmp_path: Path) -> None:
    with (tmp_path / "output").open("wb") as file:
        anyio.run(write_bytes, file.fileno(), LARGE)
    assert (tmp_path / "output").read_bytes() == LARGE


def test_writing_to_nobody_is_said() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with pytest.raises(BrokenPipeError):
        anyio.run(write_bytes, writing, b"a line\n")
    os.close(writing)


PRINTING = """
import os, subprocess, sys
from commonplace.faces.mcp.transports.stdio import standard_streams
with standard_streams() as (source, sink):
    print("printed", flush=True)
    subprocess.run(["echo", "by a child"], check=True)
    assert sys.stdin.read() == ""
    os.write(sink, os.read(source, 100))
print("afterwards")
"""


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.soak
def test_what_is_printed_meanwhile_goes_to_standard_error(*, told: bool) -> None:
    command = (
        [sys.executable, "-c", PRINTING]
        if told
        else ["sh", "-c", 'exec "$0" "$@" 2>&-', sys.executable, "-c", PRINTING]
    )
    done = subprocess.run(command, input=b"a message\n", capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, b"a message\nafterwards\n"), done.stderr
    assert done.stderr == (b"printed\nby a child\n" if told else b"")
