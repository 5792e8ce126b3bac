"""Parses files for another process: reads frames of files from standard input, writes documents to standard output.

The process ends when its input ends, that is, when the other process exits in any way.
"""

from __future__ import annotations

import gc
import marshal
import signal
import sys
from typing import IO, cast

from commonplace.domain.addresses import read_also
from commonplace.index.ingest.prepared import FileToParse, prepare, to_plain

_LENGTH_BYTES = 8


def serve(source: IO[bytes], target: IO[bytes]) -> None:
    """Parse every frame of files until the source ends. The first frame has the masks of `read_also`."""
    read_also(cast("list[str]", read_frame(source)))
    while True:
        try:
            files = cast("list[tuple[str, str, bytes]]", read_frame(source))
        except EOFError:
            return
        write_frame(target, [to_plain(prepare(FileToParse(*file))) for file in files])


def write_frame(target: IO[bytes], value: object) -> None:
    """Write one value of plain types.

    Raises:
        OSError: the reader has exited.
    """
    content = marshal.dumps(value)  # pyright: ignore[reportArgumentType] - a value of another type raises ValueError
    target.write(len(content).to_bytes(_LENGTH_BYTES, "little"))
    target.write(content)
    target.flush()


def read_frame(source: IO[bytes]) -> object:
    """Read one value.

    Raises:
        EOFError: the writer has exited.
    """
    length = int.from_bytes(_exactly(source, _LENGTH_BYTES), "little")
    return marshal.loads(_exactly(source, length))  # noqa: S302 - from a process of this program


def _exactly(source: IO[bytes], count: int) -> bytes:
    content = source.read(count)
    if len(content) < count:
        raise EOFError
    return content


def main() -> None:
    """Serve the process that started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal interrupts both processes; the parent decides when to end
    gc.disable()  # documents contain no cycles
    try:
        serve(sys.stdin.buffer, sys.stdout.buffer)
    except BrokenPipeError:
        sys.stdout = None  # the parent has exited; otherwise Python would flush into the closed pipe at exit


if __name__ == "__main__":
    main()
