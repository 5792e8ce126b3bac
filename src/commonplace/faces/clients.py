"""How MCP clients are told of a server: the file that each reads, and the entry that it wants there."""

from __future__ import annotations

import difflib
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias, cast

from commonplace.domain.errors import ConfigError, ConflictError
from commonplace.domain.json import Json

ClientName: TypeAlias = Literal["claude-code", "claude-desktop", "vscode", "cursor"]
CLIENTS: tuple[ClientName, ...] = ("claude-code", "claude-desktop", "vscode", "cursor")

_DESKTOP = {
    "darwin": "~/Library/Application Support/Claude/claude_desktop_config.json",
    "win32": "~/AppData/Roaming/Claude/claude_desktop_config.json",
}
_FILES: Mapping[ClientName, str] = {
    "claude-code": ".mcp.json",
    "claude-desktop": _DESKTOP.get(sys.platform, "~/.config/Claude/claude_desktop_config.json"),
    "vscode": ".vscode/mcp.json",
    "cursor": "~/.cursor/mcp.json",
}
"""As the clients document them; a file of a project lies in the current folder."""


@dataclass(frozen=True, slots=True)
class LaunchCommand:
    """How a client starts the server."""

    command: str
    """The program, with its absolute path."""
    args: Sequence[str]


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """A client's configuration, before and after it knows of a server."""

    file: Path
    before: str | None
    """None where there is no file yet."""
    after: str

    @property
    def diff(self) -> str:
        """What would change, as a unified diff; "" when nothing would."""
        name = PurePosixPath(self.file.as_posix()).name
        old = (self.before or "").splitlines(keepends=True)
        lines = difflib.unified_diff(old, self.after.splitlines(keepends=True), name, name)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def client_config_file(client: ClientName) -> Path:
    """Where the client looks, by its own documentation."""
    return Path(_FILES[client]).expanduser()


def this_program(name: str) -> str:
    """The absolute path of a console script that was installed beside the running one."""
    suffix = ".exe" if sys.platform == "win32" else ""
    return str(Path(sys.executable).absolute().with_name(name + suffix))


def server_entry(client: ClientName, name: str, launch: LaunchCommand) -> dict[str, Json]:
    """The block that makes the server known, with the client's own key round it."""
    about: dict[str, Json] = {"command": launch.command, "args": list(launch.args)}
    if client == "vscode":
        return {"servers": {name: {"type": "stdio", **about}}}
    return {"mcpServers": {name: about}}


def config_change(client: ClientName, name: str, launch: LaunchCommand, file: Path) -> ConfigChange:
    """What the client's file becomes: the entry added or replaced, all others and their order as they are.

    Args:
        client: Whose file it is.
        name: The server's name in it.
        launch: How it is started.
        file: The client's configuration, there or not.

    Raises:
        ConfigError: the file is not a JSON object (comments included), or cannot be read.
    """
    made = server_entry(client, name, launch)
    before = _read(file)
    held = _parsed(before, file) if before and before.strip() else {}
    ((key, servers),) = made.items()
    known = held.get(key, {})
    if not isinstance(known, dict):
        raise _unreadable(file, f"{key!r} is no object")
    if known.get(name) == cast("dict[str, Json]", servers)[name]:
        return ConfigChange(file, before, before or "")
    held[key] = {**known, **cast("dict[str, Json]", servers)}
    indent = re.search(r"(?m)^([ \t]+)\S", before or "")
    text = json.dumps(held, ensure_ascii=False, indent=indent[1] if indent else 2)
    return ConfigChange(file, before, text + "\n")


def write_config(made: ConfigChange) -> None:
    """Put the new text in place as one step; its folder is made where there is none.

    Raises:
        ConflictError: the file is no longer what the change was made from.
        ConfigError: it cannot be written.
    """
    file = made.file.resolve()
    if _read(file) != made.before:
        raise ConflictError(f"{file.name} was changed just now.", kind="file", hint="Run the same command again.")
    beside = file.with_name(f".{file.name}.{os.getpid()}.new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(made.after, encoding="utf-8")
        if made.before is not None:
            beside.chmod(file.stat().st_mode & 0o777)
        beside.replace(file)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise ConfigError(f"{file.name} cannot be written: {error.strerror}.", kind="file") from error


def _read(file: Path) -> str | None:
    if os.path.exists(file) and not os.path.isfile(file):  # to open a pipe is to wait for who writes into it
        raise _unreadable(file, "it is no regular file")
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = "it is no UTF-8" if isinstance(error, UnicodeDecodeError) else str(error.strerror)
        raise _unreadable(file, reason) from error


def _parsed(text: str, file: Path) -> dict[str, Json]:
    try:
        held = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _unreadable(file, f"it is no JSON ({error})") from error
    if not isinstance(held, dict):
        raise _unreadable(file, "it is not a JSON object")
    return cast("dict[str, Json]", held)


def _unreadable(file: Path, reason: str) -> ConfigError:
    return ConfigError(
        f"{file.name} cannot be changed: {reason}.",
        kind="file",
        hint="Put the entry into it by hand; --json prints it.",
    )
