"""The resident: loads every module once, and forks a process for each session that a relay hands over.

It has one thread, opens no folder, and reads nothing that a client sends: so a fork is safe, and a session can neither
delay nor see another. Its sessions are not affected by its end. It ends when it was idle for some time, or by SIGTERM.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module

from commonplace.relay import ENDED, LENGTH_BYTES, LISTENER, SESSION_TITLE, STREAMS, confinement, peer_of

MAX_SESSIONS = 256
"""Maximum number of sessions at once; further relays serve by themselves."""
REQUEST_SECONDS = 10.0
"""Timeout in seconds for the request of a relay."""
GRACE_SECONDS = 10.0
"""Seconds that a session has for its end after its relay has died."""
TICK_SECONDS = 1.0
"""Maximum interval in seconds of the checks of the loop."""
_SET_SIGNAL = 10
"""`F_SETSIG` of Linux: the signal for a descriptor in asynchronous mode."""
LOADED = (
    "commonplace.bootstrap", "commonplace.cn", "commonplace.faces.cli.app", "commonplace.faces.cli.commands.mcp",
    "commonplace.faces.mcp.server", "commonplace.faces.mcp.transports.stdio", "commonplace.index.local",
    "commonplace.index.other_versions", "commonplace.index.past", "commonplace.index.watcher", "commonplace.main",
    "commonplace.plugins.loader", "commonplace.store.activity_log", "commonplace.store.disk.inotify",
    "commonplace.store.folder.folder_store", "commonplace.store.folder.proposed_store",
    "commonplace.store.git.repository", "anyio._backends._asyncio", "anyio._core._signals", "sqlite3", "tantivy",
    "watchfiles._rust_notify",
)  # fmt: skip
"""Modules that a session of a toolset of this package needs before its first answers."""


@dataclass(slots=True)
class _Session:
    """A session that runs."""

    connection: socket.socket
    kill_at: float = 0.0
    """Time at which its process is killed, in seconds of the monotonic clock; 0 while its relay lives."""


class Resident:
    """Accepts relays until it is idle or told to end.

    Args:
        listener: The listening socket.
        folder: The folder of the socket.
        name: The name of the socket in it.
        idle_seconds: Seconds without a session after which it ends.
    """

    def __init__(self, listener: socket.socket, folder: str, name: str, idle_seconds: float) -> None:
        self._listener = listener
        self._path = os.path.join(folder, name)
        self._identity = _identity(self._path)
        self._idle_seconds = idle_seconds
        self._sessions: dict[int, _Session] = {}
        self._ending = False
        self._poll = select.poll()

    def run(self) -> socket.socket | None:
        """Accept relays until the end.

        Returns:
            In the process of a session its connection, in the resident None.
        """
        self._poll.register(self._listener, select.POLLIN)
        signal.signal(signal.SIGTERM, self._end)
        signal.signal(signal.SIGCHLD, _wake_up)
        reading, writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(writing)
        self._poll.register(reading, select.POLLIN)
        busy = time.monotonic()
        while not self._ending and self._is_reachable() and time.monotonic() - busy < self._idle_seconds:
            ready = {descriptor for descriptor, _ in self._poll.poll(TICK_SECONDS * 1000)}
            if reading in ready:
                os.read(reading, 4096)
            if self._listener.fileno() in ready and (connection := self._accepted()):
                signal.set_wakeup_fd(-1)
                os.close(reading)
                os.close(writing)
                return connection
            self._look_after(ready)
            if self._sessions:
                busy = time.monotonic()
        self._close()
        return None

    def _end(self, *_: object) -> None:
        self._ending = True

    def _is_reachable(self) -> bool:
        """Whether relays find this resident; False after a logout, which removes the folder of the socket."""
        return bool(self._sessions) or _identity(self._path) == self._identity

    def _close(self) -> None:
        if _identity(self._path) == self._identity:
            with suppress(OSError):
                os.unlink(self._path)
        self._listener.close()

    def _accepted(self) -> socket.socket | None:
        """Accept a relay and fork. Returns the connection in the new process, else None."""
        try:
            connection, _ = self._listener.accept()
        except OSError:  # the relay is gone already
            return None
        if peer_of(connection)[1] != os.geteuid() or len(self._sessions) >= MAX_SESSIONS:
            connection.close()
            return None
        try:
            child = os.fork()
        except OSError:  # the relay serves by itself
            connection.close()
            return None
        if child:
            self._sessions[child] = _Session(connection)
            self._poll.register(connection, 0)
            return None
        self._listener.close()
        for session in self._sessions.values():
            session.connection.close()
        return connection

    def _look_after(self, ready: set[int]) -> None:
        """Tell relays how their sessions ended, and end sessions whose relays are gone."""
        now = time.monotonic()
        for process, session in list(self._sessions.items()):
            if session.connection.fileno() in ready and not session.kill_at:
                self._poll.unregister(session.connection)
                session.kill_at = now + GRACE_SECONDS
            elif session.kill_at and now > session.kill_at:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        while self._sessions:
            child, status = os.waitpid(-1, os.WNOHANG)
            if not child:
                return
            session = self._sessions.pop(child)
            if not session.kill_at:
                self._poll.unregister(session.connection)
                with suppress(OSError):
                    session.connection.send(ENDED + str(status).encode(), socket.MSG_DONTWAIT)
            session.connection.close()


def _wake_up(_number: int, _frame: object) -> None:
    """Nothing: the wake-up descriptor tells the loop."""


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def load_modules() -> None:
    """Import what sessions need, and keep all of it from the garbage collector, which would copy shared memory."""
    from commonplace.faces.lazy_module import load_lazy_modules, relax_gc

    relax_gc()
    for module in LOADED:
        import_module(module)
    from commonplace.registration import load_shipped_toolsets, registered

    if load_shipped_toolsets():
        registered()
    load_lazy_modules()
    gc.collect()
    gc.freeze()


def run_session(connection: socket.socket) -> int:
    """Run the command of a relay in this process, with the relay's streams, folder and environment.

    Returns:
        The exit code.
    """
    own = confinement("self")
    for number in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    os.setsid()
    with open("/proc/self/comm", "w") as title:
        title.write(SESSION_TITLE)
    if confinement(str(peer_of(connection)[0])) != own:
        return 1
    connection.settimeout(REQUEST_SECONDS)
    connection.sendall(b"%d\n" % os.getpid())
    program, arguments = _taken_over(connection)
    connection.settimeout(None)
    _end_with_relay(connection)
    if program == "cn":
        from commonplace import cn as chosen
    else:
        from commonplace import main as chosen
    return chosen.run_here(arguments)


def _taken_over(connection: socket.socket) -> tuple[str, list[str]]:
    """Receive a request and become its process. Returns the program's name and the arguments."""
    request, descriptors, _, _ = socket.recv_fds(connection, 65_536, STREAMS + 1)
    if not request or len(descriptors) != STREAMS + 1:
        sys.exit(1)
    while len(request) < LENGTH_BYTES or len(request) < LENGTH_BYTES + int.from_bytes(request[:LENGTH_BYTES], "little"):
        piece = connection.recv(1 << 20)
        if not piece:
            sys.exit(1)
        request += piece
    program, called, count, *rest = request[LENGTH_BYTES:].split(b"\0")
    os.fchdir(descriptors[STREAMS])
    for stream, descriptor in enumerate(descriptors[:STREAMS]):
        os.dup2(descriptor, stream)
    for descriptor in descriptors:
        os.close(descriptor)
    arguments = [os.fsdecode(word) for word in rest[: int(count)]]
    os.environ.clear()
    for variable in rest[int(count) :]:
        name, _, value = variable.partition(b"=")
        os.environb[name] = value
    time.tzset()
    sys.argv = [os.fsdecode(called), *arguments]
    _open_streams()
    return os.fsdecode(program), arguments


def _open_streams() -> None:
    """Open Python's standard streams again, as the interpreter opens them at its start."""
    encoding = sys.stderr.encoding if sys.stderr else "utf-8"
    sys.stdin = sys.__stdin__ = open(0, encoding=encoding, errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(  # noqa: SIM115
        1, "w", encoding=encoding, errors="surrogateescape", closefd=False, buffering=1 if os.isatty(1) else -1
    )
    sys.stderr = sys.__stderr__ = open(  # noqa: SIM115
        2, "w", encoding=encoding, errors="backslashreplace", closefd=False, buffering=1
    )


def _end_with_relay(connection: socket.socket) -> None:
    """Let the kernel send SIGTERM to this process when the relay is gone; nothing else comes from it any more."""
    import fcntl

    fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(connection, _SET_SIGNAL, signal.SIGTERM)
    fcntl.fcntl(connection, fcntl.F_SETFL, fcntl.fcntl(connection, fcntl.F_GETFL) | os.O_ASYNC)
    _held.append(connection)
    if select.select([connection], [], [], 0)[0]:
        sys.exit(0)


_held: list[socket.socket] = []
"""The connection of this process's session: open until its end, which the relay waits for."""


def main(arguments: list[str]) -> int:
    """Run a resident, and in the processes that it forks their sessions.

    Args:
        arguments: The folder and the name of the socket, and the idle time in seconds.

    Returns:
        The exit code.
    """
    folder, name, idle_seconds = arguments
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    listener = socket.socket(fileno=LISTENER)
    listener.set_inheritable(False)
    listener.listen(socket.SOMAXCONN)  # from now on, relays see this process at the other end
    load_modules()
    if len(os.listdir("/proc/self/task")) != 1:
        return 1  # a library has begun a thread: a fork would not be safe, and relays serve by themselves
    connection = Resident(listener, folder, name, float(idle_seconds)).run()
    return 0 if connection is None else run_session(connection)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
