"""The process that has the product loaded: it forks for each process that is asked for."""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import gc
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import typing
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import TYPE_CHECKING, Any, NoReturn, cast

from forks import forked
from forks.forked import MAX_MESSAGE, asked, tell

if TYPE_CHECKING:
    from io import TextIOWrapper

FIRST = "commonplace.main"
"""What a process of the product imports first."""
LEFT = ("commonplace.__main__", "commonplace.embed.model")
"""Modules that are left to each process: one runs the program, the other loads a library that starts threads."""
LIBRARIES = ("anyio._backends._asyncio", "encodings.utf_8_sig")
"""What libraries import when they are first used."""
LARGE_PAGE = 1 << 21
"""Bytes of the larger pages of memory."""
MADV_HUGEPAGE, MADV_COLLAPSE = 14, 25
MAX_FILES = 32
"""Descriptors that a process can be given."""
OWNER = 0
"""The descriptor that closes when the process goes which started the one that forks."""


class Nursery:
    """Forks a process for each that is asked for, passes signals on to it, and tells how it has ended.

    Args:
        listener: Where processes are asked for.
    """

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._address = listener.getsockname()
        self._running: dict[int, socket.socket] = {}
        self._ended, self._end = os.pipe()
        os.set_blocking(self._end, False)
        signal.set_wakeup_fd(self._end)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        self._ready = selectors.PollSelector()  # nothing of it is shared with those that are forked
        for source in (OWNER, self._ended, listener):
            self._ready.register(source, selectors.EVENT_READ)

    def serve(self) -> int:
        """Go on until the starter has gone; the exit code."""
        while True:
            for key, _ in self._ready.select():
                if key.fileobj == OWNER:
                    return self._leave()
                if key.fileobj == self._ended:
                    os.read(self._ended, MAX_MESSAGE)
                    self._reap()
                elif key.fileobj is self._listener:
                    if (request := self._begin()) is not None:
                        _run(*request, self._address)
                else:
                    self._pass_on(key.data, cast("socket.socket", key.fileobj))

    def _begin(self) -> tuple[bytes, list[int]] | None:
        """Start the process that is asked for; what was asked for, in the new process only."""
        control, _ = self._listener.accept()
        message, streams, _, _ = socket.recv_fds(control, MAX_MESSAGE, MAX_FILES)
        process = os.fork() if message else -1
        if process == 0:
            self._forget()
            control.close()
            return message, streams
        for descriptor in streams:
            os.close(descriptor)
        if process > 0:
            self._running[process] = control
            self._ready.register(control, selectors.EVENT_READ, process)
            tell(control, process)
        return None

    def _forget(self) -> None:
        """Release everything of the parent in a new process."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        # As of a process that a person starts: what forks may have been started with Ctrl-C ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for listener in (self._listener, *self._running.values()):
            listener.close()
        for descriptor in (self._ended, self._end):
            os.close(descriptor)

    def _pass_on(self, process: int, control: socket.socket) -> None:
        """A signal; whoever holds no line to a process any longer wants it ended."""
        try:
            message = control.recv(MAX_MESSAGE)
        except ConnectionResetError:
            message = b""
        runs = self._running.get(process) is control
        if runs:
            os.kill(process, int(message or signal.SIGKILL))
        if not message:
            self._ready.unregister(control)
            if not runs:
                control.close()

    def _reap(self) -> None:
        for process, control in tuple(self._running.items()):
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                del self._running[process]
                tell(control, os.waitstatus_to_exitcode(status))
                if control not in self._ready.get_map():  # else until nobody listens: a line that is cut loses words
                    control.close()

    def _leave(self) -> int:
        for process in self._running:
            os.kill(process, signal.SIGKILL)
        return 0


def load_product() -> None:
    """Import every module of the product, but for `LEFT`."""
    product = import_module(FIRST.partition(".")[0])
    modules = (module.name for module in walk_packages(product.__path__, f"{product.__name__}."))
    for name in (FIRST, *(name for name in modules if not name.startswith(LEFT)), *LIBRARIES):
        import_module(name)


def fork(listener: str) -> int:
    """Load the product, and fork for whoever asks at this descriptor; the exit code."""
    load_product()
    _compile()
    import_module("commonplace.faces.lazy_module").load_lazy_modules()
    # One library (onnx) empties these caches when a process ends. Memory that is freed would be copied for that first.
    vars(typing)["_cleanups"].clear()
    gc.collect()
    gc.freeze()  # a forked process would copy every page that its collector touches
    _gather_pages()
    return Nursery(socket.socket(fileno=int(listener))).serve()


def _gather_pages() -> None:
    """Have the kernel keep the memory in pages of 2 MB where it can: a fork copies an entry for each page."""
    advise = ctypes.CDLL(None).madvise
    for line in Path("/proc/self/maps").read_text("utf-8").splitlines() if sys.platform == "linux" else ():
        span, access, _, _, _, *name = line.split()
        start, end = (int(number, 16) for number in span.split("-"))
        if access == "rw-p" and name in ([], ["[heap]"]) and end - start >= LARGE_PAGE:
            for advice in (MADV_HUGEPAGE, MADV_COLLAPSE):  # kernels without them refuse, and nothing is lost
                advise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), advice)


def _compile() -> None:
    """Make what each process would make at its first use: schemas of tools, templates of pages, a pattern."""
    import_module("commonplace.registration").load_shipped_toolsets()
    import_module("commonplace.domain.yaml_loader").read_plain("compiles: its pattern")
    environment = import_module("commonplace.faces.web.pages").environment
    for folders in ((), (import_module("commonplace.toolsets.kb.web").KB_PAGES.templates,)):
        templates = environment("en", *folders)
        for name in templates.list_templates():
            templates.get_template(name)


def _run(message: bytes, files: Sequence[int], address: str) -> NoReturn:
    (mask, *numbers), folder, line, environment = asked(message)
    _place(files, (0, 1, 2, *numbers))
    os.umask(mask)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    libgit2, enums = import_module("pygit2"), import_module("pygit2.enums")
    for level in (enums.ConfigLevel.XDG, enums.ConfigLevel.GLOBAL):  # found at home when the library was loaded
        libgit2.option(enums.Option.SET_SEARCH_PATH, level, None)
    sys.path[1:1] = [part for part in environment.get("PYTHONPATH", "").split(os.pathsep) if part]
    sys.argv[:] = line
    cast("TextIOWrapper", sys.stdout).reconfigure(line_buffering=os.isatty(1))
    _fork_workers(address)
    _leave(import_module(line[0] if line[0] == "commonplace.cn" else "commonplace.main").main())


def _place(files: Sequence[int], numbers: Sequence[int]) -> None:
    """Give descriptors the numbers that they have elsewhere."""
    above = max((*files, *numbers)) + 1
    for file, number in [
        (fcntl.fcntl(file, fcntl.F_DUPFD, above), number) for file, number in zip(files, numbers, strict=True)
    ]:
        os.dup2(file, number)
        os.close(file)
    for file in set(files).difference(numbers):
        os.close(file)


def _fork_workers(address: str) -> None:
    """Have the workers of a server forked as well: the program that it starts stands for such a process."""
    start = subprocess.Popen.__init__
    worker = [sys.executable, "-P", "-m"]

    def started(process: subprocess.Popen[bytes], line: Sequence[str], *arguments: Any, **more: Any) -> None:
        if [*line[:3]] == worker and (files := more.get("pass_fds")):
            line = [sys.executable, "-ISE", forked.__file__, address, ",".join(map(str, files)), *line[3:]]
        start(process, line, *arguments, **more)

    subprocess.Popen.__init__ = started


def _leave(code: int) -> NoReturn:
    """End as Python ends, but for taking apart what is loaded, which takes longer than most commands do."""
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)
