"""The git command, used for remotes only, and isolated from callers' arguments and hostile repositories.

No shell; callers' arguments come after `--end-of-options`; no hooks, pager, prompt, fsmonitor or helper programs from
the repository's own configuration; no system configuration; a timeout for the whole process group.
"""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from commonplace.domain.errors import GitError
from commonplace.domain.private_files import OTHERS, is_private, user_umask

TIMEOUT_SECONDS = 60.0
MAX_OUTPUT_BYTES = 16_000_000
"""Maximum size in bytes of a command's output and error output together; a remote's messages are in both."""
ENDED = frozenset({"timeout", "output"})
"""Kinds of the error for a killed command, whose result is unknown."""
MAX_SHOWN_OUTPUT = 300
"""Maximum number of characters of Git's output in an error."""

_CHUNK = 65_536
_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "core.sshCommand": "ssh -oBatchMode=yes",
    "core.askPass": "",
    "core.editor": "true",
    "credential.interactive": "never",
    "gc.auto": "0",
    "protocol.ext.allow": "never",
    "submodule.recurse": "false",
}
_PASSED_ON = re.compile(r"GIT_(AUTHOR|COMMITTER)_\w+|GIT_SSL_\w+|GIT_SSH_COMMAND|GIT_SSH|GIT_CONFIG_GLOBAL")
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "file:http:https:ssh",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "LC_ALL": "C",
}
_WITHOUT_REASON = (
    "fatal: Could not read from remote repository",
    "fatal: index-pack failed",
    "fatal: fsck error",
    "fatal: fetch-pack: invalid index-pack output",
)
"""Error lines that give no reason; the line before them does."""
MAX_REMOTE_TEXT = 500
"""Maximum number of characters of the messages of a remote's hooks."""
_CREDENTIALS = re.compile(r"(?<=://)[^/\s]+@")
_PATHS = re.compile(r"(?<![\w./:-])/[^\s'\":,;)]+|(?<=file://)/[^\s'\":,;)]+")


@dataclass(frozen=True, slots=True)
class GitResult:
    """The result of a git command."""

    code: int
    output: str
    errors: str

    @property
    def reason(self) -> str:
        """The last line of the error output that gives a reason, without credentials, paths and the full stop."""
        lines = [line.strip() for line in self.errors.splitlines() if line.strip()]
        reported_lines = [line for line in lines if line.startswith(("fatal:", "error:", "remote:"))] or lines
        shown = reported_lines[-1] if reported_lines else f"it exited with {self.code}"
        while shown.startswith(_WITHOUT_REASON) and lines.index(shown):
            shown = lines[lines.index(shown) - 1]
        return redacted(shown).rstrip(".")

    @property
    def rejection(self) -> str:
        """The reason why the remote rejected a pushed branch, with the messages of its hooks; "" if it did not."""
        lines = (self.errors + self.output).splitlines()
        rejected = next((line.split("\t")[-1] for line in lines if "[remote rejected]" in line), "")
        if not rejected:
            return ""
        said = [line.removeprefix("remote:").strip() for line in lines if line.startswith("remote:")]
        text = "".join(filter(str.isprintable, " / ".join(filter(None, said))))[:MAX_REMOTE_TEXT]
        return redacted(f"{rejected}: {text}" if text else rejected)

    def is_pushed(self, reference: str) -> bool | None:
        """Whether the remote has accepted a pushed ref; None if the output does not tell."""
        for line in self.output.splitlines():
            flag, _, rest = line.partition("\t")
            if rest.partition("\t")[0].endswith(f":{reference}"):
                return flag != "!"
        return None


class TimeLimits(NamedTuple):
    """Timeouts of a command in seconds."""

    whole: float
    quiet: float
    """Timeout for a command that writes no output."""


def run_git(
    root: Path, options: Sequence[str], operands: Sequence[str] = (), *, timeout: float = TIMEOUT_SECONDS
) -> str:
    """Run a git command and return its output.

    Args:
        root: The work tree.
        options: The command and its options, none of them from a caller.
        operands: Callers' arguments: remotes, branches, paths. Never parsed as options.
        timeout: Timeout in seconds.

    Raises:
        GitError: the command failed or timed out, or git is not installed.
    """
    outcome = try_git(root, options, operands, timeout=timeout)
    if outcome.code:
        raise GitError(f"git {options[0]} failed: {outcome.reason}.", kind="command")
    return outcome.output


def try_git(  # noqa: PLR0913 - the arguments of a process
    root: Path,
    options: Sequence[str],
    operands: Sequence[str] = (),
    *,
    settings: Mapping[str, Sequence[str]] | None = None,
    timeout: float | TimeLimits = TIMEOUT_SECONDS,
    started: Callable[[subprocess.Popen[bytes]], None] | None = None,
    stdin: Path | None = None,
) -> GitResult:
    """Run a git command and return its result, even if the command failed.

    Args:
        root: The work tree.
        options: The command and its options.
        operands: Callers' arguments.
        settings: Further configuration for this call; several values of one name in order.
        timeout: Timeout in seconds, or a total timeout with one for the time without output.
        started: Called with the process, so that `end_group` can end it early.
        stdin: File that the command reads as its standard input; None for an empty one.

    Raises:
        GitError: the command timed out (kind "timeout"), printed too much (kind "output"), or git is not installed.
    """
    command = _command(options, operands, settings or {})
    source = subprocess.DEVNULL if stdin is None else os.open(stdin, os.O_RDONLY | os.O_CLOEXEC)
    try:
        process = subprocess.Popen(  # noqa: S603 - a fixed command; callers' arguments follow --end-of-options
            command,
            cwd=root,
            env=_environment(),
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            umask=OTHERS if is_private(root.stat()) else user_umask(),
        )
    except FileNotFoundError as error:
        raise GitError("There is no git command.", kind="command", hint="Install git.") from error
    except OSError as error:
        raise GitError(f"The git command cannot be started: {error.strerror}.", kind="command") from error
    finally:
        if stdin is not None:
            os.close(source)
    if started:
        started(process)
    return _finished(process, options[0], timeout if isinstance(timeout, TimeLimits) else TimeLimits(timeout, timeout))


def redacted(text: str) -> str:
    """Git's output without credentials and absolute paths, cut to `MAX_SHOWN_OUTPUT`."""
    plain = _PATHS.sub("(path)", _CREDENTIALS.sub("", text))
    return plain if len(plain) <= MAX_SHOWN_OUTPUT else f"{plain[: MAX_SHOWN_OUTPUT - 3]}..."


def _finished(process: subprocess.Popen[bytes], name: str, limits: TimeLimits) -> GitResult:
    with process:
        try:
            output, errors = _outputs(process, limits)
        except _NoEndError as end:
            raise EndedGitError(
                f"git {name} {end}.",
                kind=end.kind,
                hint="Try again; if it persists, check the network and the remote.",
                retryable=1,
                printed=end.printed,
            ) from end
        finally:
            end_group(process)
    return GitResult(process.returncode, output.decode("utf-8", "replace"), errors.decode("utf-8", "replace"))


class EndedGitError(GitError):
    """A command was ended because it exceeded a limit.

    Args:
        printed: What it had printed on standard error.
    """

    def __init__(self, message: str, *, printed: str, kind: str, hint: str, **context: str | int | list[str]) -> None:
        super().__init__(message, kind=kind, hint=hint, **context)
        self.printed = printed

    @property
    def has_sent(self) -> bool:
        """Whether a push may have sent something: git tells of the objects that it packs before it sends them."""
        return "objects" in self.printed or "Total" in self.printed


class _NoEndError(Exception):
    """A process exceeded a limit, which the message names."""

    def __init__(self, message: str, kind: str = "timeout") -> None:
        super().__init__(message)
        self.kind = kind
        self.printed = ""
        """The text that the process had printed on standard error."""


def _outputs(process: subprocess.Popen[bytes], limits: TimeLimits) -> tuple[bytes, bytes]:
    """The output and the error output of a process, read until it ends."""
    pipes = process.stdout, process.stderr
    parts = {pipe.fileno(): bytearray() for pipe in pipes if pipe}
    try:
        _collect(process, limits, parts)
    except _NoEndError as end:
        *_, errors = parts.values()
        end.printed = errors.decode("utf-8", "replace")
        raise
    output, errors = map(bytes, parts.values())
    return output, errors


def _collect(process: subprocess.Popen[bytes], limits: TimeLimits, parts: dict[int, bytearray]) -> None:
    """Read what a process writes to these descriptors until it ends.

    Raises:
        _NoEndError: it exceeded a limit.
    """
    started = said = time.monotonic()
    with selectors.DefaultSelector() as selector:
        for descriptor in parts:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map():
            left = min(started + limits.whole, said + limits.quiet) - time.monotonic()
            ready = selector.select(max(left, 0.0))
            if not ready:
                raise _NoEndError(_limit_reached(limits, time.monotonic() - started))
            said = time.monotonic()
            for key, _ in ready:
                chunk = os.read(key.fd, _CHUNK)
                parts[key.fd] += chunk
                if not chunk:
                    selector.unregister(key.fd)
            if sum(map(len, parts.values())) > MAX_OUTPUT_BYTES:
                raise _NoEndError(f"printed more than {MAX_OUTPUT_BYTES:,} bytes and was ended", "output")
    try:
        process.wait(max(0.0, started + limits.whole - time.monotonic()))
    except subprocess.TimeoutExpired as error:
        raise _NoEndError(_limit_reached(limits, limits.whole)) from error


def _limit_reached(limits: TimeLimits, seconds: float) -> str:
    if seconds >= limits.whole:
        return f"did not end within {limits.whole:.3g} seconds"
    return f"said nothing for {limits.quiet:.3g} seconds and was ended"


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill git and the helpers that it started (ssh, git-remote-https), if still running."""
    if process.poll() is not None:
        return
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()  # does not wait for the output, which a program that is still running may never close


def _command(options: Sequence[str], operands: Sequence[str], settings: Mapping[str, Sequence[str]]) -> list[str]:
    """The arguments of a git process; these settings go before the ones of every call."""
    chosen = {**{name: [value] for name, value in _SETTINGS.items()}, **settings}
    pairs = [f"{name}={value}" for name, values in chosen.items() for value in values]
    command = ["git", *(word for pair in pairs for word in ("-c", pair)), *options]
    return [*command, "--end-of-options", *operands] if operands else command


def _environment() -> dict[str, str]:
    kept_values = {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_") or _PASSED_ON.fullmatch(name)
    }
    return kept_values | _ENVIRONMENT
