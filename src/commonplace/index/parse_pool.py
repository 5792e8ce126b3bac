"""Parses the files of a large batch on several cores, in processes that import only the parser.

Threads would not help, because Python's interpreter lock is held while a file is parsed. The processes are started by
command line, not forked: a server has threads, and a fork with threads may deadlock.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import IO, cast

from commonplace.domain.addresses import further_names
from commonplace.index.parse_worker import (
    FileToParse,
    PlainDocument,
    PreparedDocument,
    from_plain,
    prepare,
    read_frame,
    to_plain,
    write_frame,
)
from commonplace.index.transaction import LoadedFile

log = logging.getLogger(__name__)

MIN_FILES = 2000
"""Minimum number of files for which processes are started. Starting one costs about as much as parsing 150 files."""
MAX_WORKERS = 3
"""Maximum number of processes; this process reads and writes as fast as three of them parse."""
CHUNK_BYTES = 250_000
CHUNK_FILES = 64
"""Maximum number of files that are passed to a process at once; `CHUNK_BYTES` limits their size."""
CHUNKS_AHEAD = 3
"""Number of chunks for each process that are loaded ahead of the chunk that is being written."""
WORKER = "commonplace.index.parse_worker"
END_SECONDS = 10
"""Timeout in seconds for a process to exit after its input was closed."""

Parsed = tuple[LoadedFile, PreparedDocument]
Parse = Callable[[Iterable[LoadedFile]], Iterator[Parsed]]
"""Parses files in order. Reads a few files ahead of the result that it yields."""


@contextmanager
def parsing(files: int, cores: int | None = None) -> Generator[Parse]:
    """The fastest parse function for a number of files, for the duration of a `with` block.

    Args:
        files: Number of files.
        cores: Number of processor cores; None for those that this process may use.
    """
    workers = min((cores or usable_cores()) - 1, MAX_WORKERS)
    if files < MIN_FILES or workers < 1 or not sys.executable:
        yield parse_here
        return
    pool = ParsePool(workers)
    try:
        yield pool.parse
    finally:
        pool.close()


def usable_cores() -> int:
    """Number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def parse_here(files: Iterable[LoadedFile]) -> Iterator[Parsed]:
    """Parse files in this process."""
    for loaded in files:
        yield loaded, prepare(loaded.file)


class ParsePool:
    """Processes that parse, each used by one thread of this process at a time.

    Args:
        workers: Number of processes.
        executable: The Python interpreter that they run.
    """

    def __init__(self, workers: int, executable: str = sys.executable) -> None:
        self._ahead = workers * CHUNKS_AHEAD
        self._executor = ThreadPoolExecutor(workers, thread_name_prefix="parse")
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        self._workers = [_Worker(executable) for _ in range(workers)]
        for worker in self._workers:
            self._idle.put(worker)

    def parse(self, files: Iterable[LoadedFile]) -> Iterator[Parsed]:
        """Parse files in their order."""
        waiting: deque[tuple[Sequence[LoadedFile], Future[Sequence[PlainDocument]]]] = deque()
        for chunk in _chunks(files):
            waiting.append((chunk, self._executor.submit(self._parse, [file.file for file in chunk])))
            if len(waiting) > self._ahead:
                yield from _parsed(*waiting.popleft())
        while waiting:
            yield from _parsed(*waiting.popleft())

    def close(self) -> None:
        """End the processes."""
        self._executor.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.close()

    def _parse(self, files: Sequence[FileToParse]) -> Sequence[PlainDocument]:
        worker = self._idle.get()
        try:
            return worker.parse(files)
        finally:
            self._idle.put(worker)


def _parsed(chunk: Sequence[LoadedFile], parsed: Future[Sequence[PlainDocument]]) -> Iterator[Parsed]:
    for loaded, plain in zip(chunk, parsed.result(), strict=True):
        yield loaded, from_plain(plain)


def _chunks(files: Iterable[LoadedFile]) -> Iterator[Sequence[LoadedFile]]:
    chunk: list[LoadedFile] = []
    size = 0
    for loaded in files:
        chunk.append(loaded)
        size += len(loaded.file.raw)
        if size >= CHUNK_BYTES or len(chunk) >= CHUNK_FILES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


class _Worker:
    """One process. If it fails, its files are parsed in this process from then on."""

    def __init__(self, executable: str) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        try:
            # -P: modules are not searched in the current folder, which may contain untrusted files.
            command = [executable, "-P", "-m", WORKER]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603 - a module of this program
            write_frame(cast("IO[bytes]", self._process.stdin), list(further_names()))
        except OSError as error:
            self._fail(error)

    def parse(self, files: Sequence[FileToParse]) -> Sequence[PlainDocument]:
        """Parse files, in this process if the other one fails."""
        process = self._process
        if process:
            try:
                write_frame(cast("IO[bytes]", process.stdin), [tuple(file) for file in files])
                return cast("list[PlainDocument]", read_frame(cast("IO[bytes]", process.stdout)))
            except (OSError, EOFError) as error:
                self._fail(error)
        return [to_plain(prepare(file)) for file in files]

    def close(self) -> None:
        """End the process, if it runs."""
        process, self._process = self._process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):  # the process may have exited without reading its input
                cast("IO[bytes]", pipe).close()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _fail(self, error: Exception) -> None:
        log.warning("a process that parses files failed (%s); its files are parsed here", type(error).__name__)
        self.close()
