"""The relay: hands a session of MCP to the user's resident, which has every module loaded, and waits for its end.

A **resident** (`resident.py`) forks a process for each session. The relay passes its standard streams, working folder,
environment and arguments to that process, which runs the command as the relay would have run it. So a session has its
own process, as without a resident; only the loading of modules is done once. This module imports only the standard
library, so that a start takes some hundredths of a second. Where no resident is available, the caller serves by itself.

Only what has the same confinement shares a resident: user, groups, capabilities, namespaces, limits, control group and
security label. A program that may be confined by Landlock gets none: the kernel does not say what its limits are.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import sys
import time
from _blake2 import blake2b  # `hashlib` would load OpenSSL, which takes a fifth of the start

from commonplace.raw_settings import base_folder, configured

TYPE_CHECKING = False  # equivalent for type checkers; `typing` takes a third of the start
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

IDLE_SECONDS = 60
"""Default of the setting `resident_seconds`: seconds after its last session after which a resident ends."""
BEGIN_SECONDS = 20.0
"""Timeout in seconds for the first byte of a resident, which may still be loading."""
LOCK_SECONDS = 5.0
"""Timeout in seconds for the lock of another start."""
STEP_SECONDS = 0.05
"""Interval in seconds of the checks while waiting."""
LENGTH_BYTES = 8
"""Size of the number before a request: its length in bytes, the lower byte first."""
ENDED = b"ended "
"""Beginning of the resident's last message; the wait status of the session's process follows in digits."""
STREAMS = 3
"""Number of the standard streams, which are passed on before the working folder."""
SWITCH_ON, SWITCH_OFF = "--resident", "--no-resident"
LISTENER = 3
"""Descriptor of the listening socket in a resident."""
LOCK = "lock"
"""File beside the sockets, locked while a resident is started."""
RESIDENT_MODULE = "commonplace.resident"
SESSION_TITLE = "commonplace-mcp"
"""Name of a session's process in lists of processes, where it has the command line of its resident."""
_YES = {"true", "1", "yes", "on"}
_PASSED_ON = (
    "DYLD_", "GLIBC_", "LANG", "LC_", "LD_", "MALLOC_", "MKL_", "OMP_", "OPENBLAS_", "PYDANTIC_", "PYTHON", "SSL_",
    "XDG_CONFIG_", "COVERAGE_",
)  # fmt: skip
_PASSED_ON_WHOLE = {"HOME", "PATH", "TMPDIR", "TZ", "USER", "LOGNAME"}
"""Variables that loaded modules may have read: the resident gets these alone, and sessions share one with equal ones.

Every other variable belongs to a session.
"""
_STATUS = {
    b"Uid", b"Gid", b"Groups", b"Umask", b"CapInh", b"CapPrm", b"CapEff", b"CapBnd", b"CapAmb", b"NoNewPrivs",
    b"Seccomp", b"Seccomp_filters", b"Cpus_allowed", b"Mems_allowed",
}  # fmt: skip


def attach(program: str, arguments: Sequence[str]) -> int | None:
    """Run a command line in the user's resident.

    Args:
        program: `commonplace` or `cn`.
        arguments: The arguments without the program's name.

    Returns:
        The exit code; None if the command is none for a resident, if no resident is wanted, or if none is available.
        Then nothing was read or written.
    """
    if not is_wanted(arguments):
        return None
    try:
        process, connection = _session()
    except (OSError, ValueError):
        return None
    return _followed(connection, process, _request(program, arguments))


def is_wanted(arguments: Sequence[str] = ("mcp",)) -> bool:
    """Whether a command line is to be run in a resident, by its flags, the environment and the settings file."""
    if sys.platform != "linux" or list(arguments[:1]) != ["mcp"]:
        return False
    if SWITCH_OFF in arguments or any(argument.startswith("--transport") for argument in arguments):
        return False
    return SWITCH_ON in arguments or _setting("resident").lower() in _YES


def idle_seconds() -> str:
    """The setting `resident_seconds` as text; the default if it is not valid."""
    text = _setting("resident_seconds")
    return text if text.isdecimal() else str(IDLE_SECONDS)


def _setting(name: str) -> str:
    value = os.environ.get(f"COMMONPLACE_{name.upper()}") or configured(name).get(name, "")
    return str(value).strip()


# Where a resident listens, and what may share it.


def socket_folder() -> str:
    """The folder of the sockets: of the login if there is one, so that it goes with it, else the folder of states."""
    login = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(login) and os.path.isdir(login):
        return os.path.join(login, "commonplace")
    state = os.environ.get("COMMONPLACE_STATE_DIR") or os.path.join(
        base_folder("XDG_STATE_HOME", ".local/state"), "commonplace"
    )
    return os.path.join(os.path.expanduser(state), "resident")


def shared_environment() -> dict[bytes, bytes]:
    """The variables that sessions of one resident have in common."""
    return {
        name: value
        for name, value in os.environb.items()
        if os.fsdecode(name) in _PASSED_ON_WHOLE or os.fsdecode(name).startswith(_PASSED_ON)
    }


def confinement(process: str) -> bytes:
    """The confinement of a process as the kernel tells it: equal for processes that may share a resident.

    Args:
        process: Its number, or `self`.

    Raises:
        PermissionError: the process may be confined in a way that the kernel does not tell.
        OSError: there is no such process, or no `/proc`.
    """
    folder = f"/proc/{process}"
    lines = [line for line in _read(f"{folder}/status").splitlines() if line.partition(b":")[0] in _STATUS]
    if b"NoNewPrivs:\t0" not in lines:
        raise PermissionError
    names = sorted(name for name in os.listdir(f"{folder}/ns") if not name.endswith("_for_children"))
    links = [os.fsencode(os.readlink(f"{folder}/ns/{name}")) for name in names]
    files = [_read(f"{folder}/{name}") for name in ("limits", "cgroup", "oom_score_adj")]
    numbers = _read(f"{folder}/stat").rpartition(b")")[2].split()
    turn = b" ".join(numbers[field] for field in (16, 37, 38))  # niceness, real-time priority, scheduling policy
    try:
        label = _read(f"{folder}/attr/current")
    except OSError:  # no security module
        label = b""
    return b"\n".join([*lines, *links, *files, turn, label, os.fsencode(os.readlink(f"{folder}/root"))])


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _name() -> str:
    """The name of the socket: a digest of the program's files and of everything that sessions have in common."""
    parts = [os.fsencode(part) for part in (sys.executable, repr(tuple(sys.flags)), idle_seconds(), _program_files())]
    parts += [name + b"=" + value for name, value in sorted(shared_environment().items())]
    return blake2b(b"\0".join([*parts, confinement("self")]), digest_size=12).hexdigest()


def _program_files() -> str:
    """The folder of the program, and when it and its libraries were last changed."""
    package = os.path.dirname(os.path.abspath(__file__))
    libraries = os.path.join(
        sys.prefix, "lib", f"python{sys.version_info.major}.{sys.version_info.minor}", "site-packages"
    )
    changed = os.stat(libraries).st_mtime_ns if os.path.isdir(libraries) else 0
    if os.path.exists(os.path.join(package, "commit.txt")):
        return f"{package} {os.stat(package).st_mtime_ns} {changed}"
    return f"{package} {max(_changes(package))} {changed}"  # a checkout: any file may have been edited


def _changes(folder: str) -> Iterator[int]:
    yield os.stat(folder).st_mtime_ns
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            yield from () if entry.name == "__pycache__" else _changes(entry.path)
        elif entry.name.endswith(".py"):
            yield entry.stat().st_mtime_ns


# A connection to a resident, which is started if there is none.


def _session() -> tuple[int, socket.socket]:
    """The process of a new session, and the connection to it.

    Raises:
        OSError, ValueError: no resident is available.
    """
    name = _name()
    path = socket_folder()
    folder = _folder(path)
    try:
        for _ in range(2):  # a resident that ends just now has closed the first connection
            connection = _connected(folder, name) or _started(folder, path, name)
            if process := _accepted(connection):
                return process, connection
            connection.close()
        raise ConnectionRefusedError
    finally:
        os.close(folder)


def _folder(path: str) -> int:
    """A descriptor of the folder of the sockets, which is created if it is missing.

    Raises:
        PermissionError: others may enter it, or it is another user's.
    """
    os.makedirs(path, mode=0o700, exist_ok=True)
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    status = os.fstat(folder)
    if status.st_uid != os.geteuid() or status.st_mode & 0o077:
        os.close(folder)
        raise PermissionError(1, "it is not private", path)
    return folder


def _connected(folder: int, name: str) -> socket.socket | None:
    """A connection to the resident; None if none listens.

    Raises:
        PermissionError: another user's process listens.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _from_folder(folder, lambda: connection.connect(name))
        if peer_of(connection)[1] != os.geteuid():
            raise PermissionError
    except (FileNotFoundError, ConnectionRefusedError):
        connection.close()
        return None
    except OSError:
        connection.close()
        raise
    return connection


def peer_of(connection: socket.socket) -> tuple[int, int]:
    """The process and the user at the other end."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(raw[:4], sys.byteorder, signed=True), int.from_bytes(raw[4:8], sys.byteorder)


def _from_folder(folder: int, act: Callable[[], object]) -> None:
    """Do something from a folder: the path of a socket has at most 107 bytes, and a name in a folder is short."""
    before = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fchdir(folder)
        act()
    finally:
        os.fchdir(before)
        os.close(before)


def _started(folder: int, path: str, name: str) -> socket.socket:
    """A connection to a new resident, or to the one that another start has begun meanwhile."""
    lock = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    try:
        until = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise
                time.sleep(STEP_SECONDS)
        if connection := _connected(folder, name):
            return connection
        _remove_stale(folder)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            before = os.umask(0o177)
            try:
                _from_folder(folder, lambda: listener.bind(name))
            finally:
                os.umask(before)
            listener.listen(socket.SOMAXCONN)
            _spawn(listener, path, name)
            connection = _connected(folder, name)
        if connection is None:
            raise ConnectionRefusedError
        return connection
    finally:
        os.close(lock)


def _remove_stale(folder: int) -> None:
    """Remove the sockets of residents that were killed. Call it under the lock."""
    for name in os.listdir(folder):
        connection = None if name == LOCK else _connected(folder, name)
        if connection:
            connection.close()
        elif name != LOCK:
            os.unlink(name, dir_fd=folder)


def _spawn(listener: socket.socket, path: str, name: str) -> None:
    """Start a resident that is no descendant of this process and holds nothing of it but the listening socket."""
    command = [sys.executable, "-P", "-m", RESIDENT_MODULE, path, name, idle_seconds()]
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(listener.fileno(), LISTENER)
        for stream in range(STREAMS):
            os.dup2(nothing, stream)
        os.closerange(LISTENER + 1, os.sysconf("SC_OPEN_MAX"))
        os.chdir("/")
        os.execve(sys.executable, command, shared_environment())  # noqa: S606 - no shell
    finally:
        os._exit(1)


def _accepted(connection: socket.socket) -> int:
    """The number of the process that serves the new session; 0 if the resident refuses.

    Raises:
        TimeoutError: the resident is stopped, or has not answered in time.
    """
    connection.settimeout(STEP_SECONDS)
    until = time.monotonic() + BEGIN_SECONDS
    said = b""
    while b"\n" not in said:
        try:
            piece = connection.recv(64)
        except TimeoutError:
            if time.monotonic() > until or _is_stopped(peer_of(connection)[0]):
                connection.close()
                raise
            continue
        except ConnectionResetError:
            return 0
        if not piece:
            return 0
        said += piece
    connection.settimeout(None)
    return int(said)


def _is_stopped(process: int) -> bool:
    try:
        return _read(f"/proc/{process}/stat").rpartition(b")")[2].split()[0] in {b"T", b"t"}
    except OSError:
        return False


def obstacle() -> str:
    """Why there can be no resident for this process, in a few words; "" if there can be one."""
    if sys.platform != "linux":
        return "it is for Linux only"
    try:
        _name()
        os.close(_folder(socket_folder()))
    except PermissionError as error:
        return "its folder is not this user's alone" if error.filename else "this process is confined"
    except OSError as error:
        return error.strerror or type(error).__name__
    return ""


# The session: its request, and its end.


def _request(program: str, arguments: Sequence[str]) -> bytes:
    environment = [name + b"=" + value for name, value in os.environb.items()]
    words = [program, sys.argv[0], str(len(arguments)), *arguments]
    body = b"\0".join([*(os.fsencode(word) for word in words), *environment])
    return len(body).to_bytes(LENGTH_BYTES, "little") + body


def _followed(connection: socket.socket, process: int, request: bytes) -> int | None:
    """Send the request of a session and wait for its end, passing on signals. Returns the exit code."""
    try:
        target = os.pidfd_open(process)
        here = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        sent = socket.send_fds(connection, [request], [0, 1, 2, here])
    except OSError:  # a standard stream is closed, or the session has died; nothing was passed on
        connection.close()
        return None

    def pass_on(number: int, _: object) -> None:
        try:
            signal.pidfd_send_signal(target, number)
        except ProcessLookupError:  # it has ended, and its status is on its way
            return

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, pass_on)
    try:
        connection.sendall(request[sent:])
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        said = b""
        while piece := connection.recv(64):
            said += piece
    except (BrokenPipeError, ConnectionResetError):
        said = b""
    return _ended(said)


def _ended(said: bytes) -> int:
    """End as the session did: by the same exit code or signal; with 0 if its resident died before and cannot tell."""
    if not said.startswith(ENDED):
        return 0
    code = os.waitstatus_to_exitcode(int(said.removeprefix(ENDED)))
    if code >= 0:
        return code
    if -code != signal.SIGKILL:
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
    return 128 - code
