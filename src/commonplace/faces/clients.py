"""Registration of servers with MCP clients: each client's configuration file, and the entry for a server."""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias, get_args

from commonplace.domain.errors import ConfigError, ConflictError
from commonplace.domain.json import Json
from commonplace.faces.client_formats import FileFormat, parsed, with_entry, without_entry

ClientName: TypeAlias = Literal[
    "claude-code", "claude-desktop", "vscode", "cursor", "codex", "gemini", "windsurf", "zed"
]
CLIENTS: tuple[ClientName, ...] = get_args(ClientName)

_DESKTOP = {
    "darwin": "~/Library/Application Support/Claude/claude_desktop_config.json",
    "win32": "~/AppData/Roaming/Claude/claude_desktop_config.json",
}
_FILES: Mapping[ClientName, str] = {
    "claude-code": ".mcp.json",
    "claude-desktop": _DESKTOP.get(sys.platform, "~/.config/Claude/claude_desktop_config.json"),
    "vscode": ".vscode/mcp.json",
    "cursor": "~/.cursor/mcp.json",
    "codex": "~/.codex/config.toml",
    "gemini": "~/.gemini/settings.json",
    "windsurf": "~/.codeium/windsurf/mcp_config.json",
    "zed": "~/.config/zed/settings.json",
}
"""Paths as documented by the clients. A relative path is in the project's folder."""


_TABLES: Mapping[ClientName, str] = {"vscode": "servers", "codex": "mcp_servers", "zed": "context_servers"}
"""The member that contains the servers, if it is not `mcpServers`."""


@dataclass(frozen=True, slots=True)
class LaunchCommand:
    """The command with which a client starts the server."""

    command: str
    """The program, with its absolute path."""
    args: Sequence[str]


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """A change of a client's configuration file."""

    file: Path
    before: str | None
    """None if the file does not exist."""
    after: str

    @property
    def diff(self) -> str:
        """The change as a unified diff; "" if there is none."""
        name = PurePosixPath(self.file.as_posix()).name
        old = (self.before or "").splitlines(keepends=True)
        lines = difflib.unified_diff(old, self.after.splitlines(keepends=True), name, name)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def client_config_file(client: ClientName, project: Path) -> Path:
    """The absolute path of the client's configuration file, by the client's documentation.

    Args:
        client: The client.
        project: The folder that the client has open; some clients have a file for each project.
    """
    homes = {"codex": "CODEX_HOME", "zed": "XDG_CONFIG_HOME"}
    if home := os.environ.get(homes.get(client, "")):
        return Path(home, *Path(_FILES[client]).parts[2:]).absolute()
    return project.absolute() / Path(_FILES[client]).expanduser()


def file_format(client: ClientName) -> FileFormat:
    """The format of the client's file."""
    return "toml" if client == "codex" else "json"


def entry_name(folder: Path) -> str:
    """The name of a folder's server in a client's file: letters, digits, `-` and `_`, which every client accepts."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", folder.name).strip("-")[:48] or "commonplace"


def entry_names(folders: Sequence[Path]) -> list[str]:
    """A name for each folder. Folders of the same name get the name of their parent folder as a prefix."""
    names = [entry_name(folder) for folder in folders]
    return [
        entry_name(Path(f"{folder.parent.name}-{name}")) if names.count(name) > 1 else name
        for folder, name in zip(folders, names, strict=True)
    ]


def registered_servers(client: ClientName, text: str) -> Mapping[str, Json]:
    """The servers that a client's file names.

    Raises:
        ValueError: the file is not of the client's format.
    """
    held = parsed(text, file_format(client)).get(_table(client))
    return held if isinstance(held, dict) else {}


def this_program(name: str) -> str:
    """The absolute path of a console script in the directory of the running interpreter."""
    suffix = ".exe" if sys.platform == "win32" else ""
    return str(Path(sys.executable).absolute().with_name(name + suffix))


def server_entry(client: ClientName, servers: Mapping[str, LaunchCommand]) -> dict[str, Json]:
    """The JSON object that registers servers, under the client's own key."""
    return {_table(client): {name: _about(client, launch) for name, launch in servers.items()}}


def config_change(client: ClientName, servers: Mapping[str, LaunchCommand], file: Path) -> ConfigChange:
    """The client's file with these entries added or replaced; the rest is unchanged.

    Args:
        client: The client.
        servers: The start command of each server, by its name in the file.
        file: The client's configuration file; may not exist yet.

    Raises:
        ConfigError: the file is not of the client's format, cannot be read, or cannot be edited.
    """
    return _changed(
        file,
        lambda text: reduce(
            lambda made, one: with_entry(made, file_format(client), _table(client), one[0], _about(client, one[1])),
            servers.items(),
            text,
        ),
    )


def config_removal(client: ClientName, names: Sequence[str], file: Path) -> ConfigChange:
    """The client's file without the entries of these names; the rest is unchanged.

    Raises:
        ConfigError: same as `config_change`.
    """
    return _changed(
        file,
        lambda text: reduce(
            lambda made, name: without_entry(made, file_format(client), _table(client), name), names, text
        ),
    )


def _table(client: ClientName) -> str:
    return _TABLES.get(client, "mcpServers")


def _about(client: ClientName, launch: LaunchCommand) -> dict[str, Json]:
    about: dict[str, Json] = {"command": launch.command, "args": list(launch.args)}
    extra: Mapping[ClientName, dict[str, Json]] = {"vscode": {"type": "stdio"}, "zed": {"source": "custom"}}
    return {**extra.get(client, {}), **about}


def _changed(file: Path, edit: Callable[[str], str]) -> ConfigChange:
    before = _read(file)
    try:
        after = edit(before or "")
    except ValueError as error:
        kind = "TOML" if file.suffix == ".toml" else "JSON"
        raise _unreadable(file, f"it is no {kind} that can be edited ({error})") from error
    return ConfigChange(file, before, after)


def write_config(made: ConfigChange) -> None:
    """Write the new text atomically. Creates the folder if it does not exist.

    Raises:
        ConflictError: the file has changed since `made` was computed.
        ConfigError: the file cannot be written.
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
    if os.path.exists(file) and not os.path.isfile(file):  # opening a pipe would wait for a writer
        raise _unreadable(file, "it is not a regular file")
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = "it is no UTF-8" if isinstance(error, UnicodeDecodeError) else str(error.strerror)
        raise _unreadable(file, reason) from error


def _unreadable(file: Path, reason: str) -> ConfigError:
    return ConfigError(
        f"{file.name} cannot be changed: {reason}.",
        kind="file",
        hint="Put the entry into it by hand; --json prints it.",
    )
