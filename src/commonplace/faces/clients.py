"""Configuration files of MCP clients: their formats, and the entry for each."""

from __future__ import annotations

import difflib
import json
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias, cast, get_args

from commonplace.domain.errors import ConfigError, ConflictError
from commonplace.domain.json import Json

# Edits of one member in the configuration files of MCP clients: JSON, JSON with comments, and TOML.
#
# An edit changes only the bytes of that member: all other comments, order and layout are preserved. Every edit is
# verified by parsing its result; if the result differs from the intended content, `ValueError` is raised.


FileFormat: TypeAlias = Literal["json", "toml"]
"""`json` includes JSON with comments and trailing commas, as editors write it."""

_STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_STRING_OR_COMMA = re.compile(r'"(?:\\.|[^"\\\n])*"|,(?=\s*[}\]])')
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class _Member:
    """A member of a JSON object, with its offsets in the text."""

    name: str
    start: int
    value: int
    end: int


def parsed(text: str, kind: FileFormat) -> dict[str, Json]:
    """The content of a file. An empty file, or a file with only comments, is an empty object.

    Raises:
        ValueError: the text is not of this format or is not an object.
    """
    try:
        if kind == "toml":
            return cast("dict[str, Json]", tomllib.loads(text))
        plain = _plain(text)
        held: object = json.loads(plain) if plain.strip() else {}
    except RecursionError as error:
        raise ValueError("too deeply nested") from error
    if not isinstance(held, dict):
        raise ValueError("not an object")  # noqa: TRY004 - the content is wrong, not a type
    return cast("dict[str, Json]", held)


def with_entry(text: str, kind: FileFormat, table: str, name: str, entry: Mapping[str, Json]) -> str:
    """The text with `entry` as the member `name` of the object `table`, added or replaced.

    Raises:
        ValueError: the text cannot be edited without changing something else.
    """
    before = parsed(text, kind)
    servers = before.get(table, {})
    if not isinstance(servers, dict):
        raise ValueError(f"{table!r} is no object")  # noqa: TRY004
    if servers.get(name) == entry:
        return text
    if kind == "toml":
        edited = _toml_without(text, table, name) if name in servers else text
        edited = edited.rstrip("\n") + ("\n\n" if edited.strip() else "") + _toml_table(table, name, entry)
    else:
        edited = _json_with(text, table, name, entry)
    return _checked(edited, kind, {**before, table: {**servers, name: dict(entry)}})


def without_entry(text: str, kind: FileFormat, table: str, name: str) -> str:
    """The text without the member `name` of the object `table`; unchanged if there is no such member.

    Raises:
        ValueError: the text cannot be edited without changing something else.
    """
    before = parsed(text, kind)
    servers = before.get(table)
    if not isinstance(servers, dict) or name not in servers:
        return text
    rest = {key: value for key, value in servers.items() if key != name}
    if kind == "toml":
        edited = _toml_without(text, table, name)
        if not rest and table not in parsed(edited, kind):
            return _checked(edited, kind, {key: value for key, value in before.items() if key != table})
    else:
        edited = _json_without(text, table, name)
    return _checked(edited, kind, {**before, table: rest})


def _checked(text: str, kind: FileFormat, wanted_values: Mapping[str, Json]) -> str:
    if parsed(text, kind) != wanted_values:
        raise ValueError("it is laid out in a way that is not edited")
    return text


def _plain(text: str) -> str:
    """The JSON text with comments and trailing commas replaced by blanks, so that all offsets stay the same."""

    def blank(match: re.Match[str]) -> str:
        return match[0] if match[0].startswith('"') else re.sub(r"[^\n]", " ", match[0])

    return _STRING_OR_COMMA.sub(blank, _STRING_OR_COMMENT.sub(blank, text))


def _members(plain: str, brace: int) -> Iterator[_Member]:
    """The members of the object whose opening brace is at this offset."""
    at = _skip(plain, brace + 1)
    while plain[at] != "}":
        name, colon = _DECODER.raw_decode(plain, at)
        value = _skip(plain, _skip(plain, colon) + 1)
        end = _DECODER.raw_decode(plain, value)[1]
        yield _Member(cast("str", name), at, value, end)
        at = _skip(plain, end)
        if plain[at] == ",":
            at = _skip(plain, at + 1)


def _skip(plain: str, at: int) -> int:
    while plain[at].isspace():
        at += 1
    return at


def _json_with(text: str, table: str, name: str, entry: Mapping[str, Json]) -> str:
    plain = _plain(text)
    if not plain.strip():
        comments = f"{text.rstrip()}\n" if text.strip() else ""
        return comments + json.dumps({table: {name: entry}}, ensure_ascii=False, indent=2) + "\n"
    indent = match[1] if (match := re.search(r"(?m)^([ \t]+)\S", plain)) else "  "
    top = _skip(plain, 0)
    container = next((member for member in _members(plain, top) if member.name == table), None)
    if container is None:
        return _inserted(text, plain, top, indent, f"{json.dumps(table)}: {_block({name: entry}, indent, 1)}")
    member = next((element for element in _members(plain, container.value) if element.name == name), None)
    if member is None:
        made = f"{json.dumps(name, ensure_ascii=False)}: {_block(entry, indent, 2)}"
        return _inserted(text, plain, container.value, indent * 2, made, closing=indent)
    return text[: member.value] + _block(entry, indent, 2) + text[member.end :]


def _block(value: Mapping[str, Json], indent: str, depth: int) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent).replace("\n", "\n" + indent * depth)


def _inserted(text: str, plain: str, brace: int, indent: str, member: str, closing: str = "") -> str:
    """The text with a new member: after the last member, or alone in an empty object."""
    members = list(_members(plain, brace))
    if not members:
        end = _skip(plain, brace + 1)
        comments = text[brace + 1 : end].rstrip()
        return f"{text[: brace + 1]}{comments}\n{indent}{member}\n{closing}{text[end:]}"
    last = members[-1].end
    return f"{text[:last]},\n{indent}{member}{text[last:]}"


def _json_without(text: str, table: str, name: str) -> str:
    plain = _plain(text)
    container = next(member for member in _members(plain, _skip(plain, 0)) if member.name == table)
    members = list(_members(plain, container.value))
    place = next(number for number, member in enumerate(members) if member.name == name)
    own = members[place]
    if place + 1 < len(members):
        behind = members[place + 1].start
        return text[: own.start] + _comments(text, plain, own.end, behind).lstrip() + text[behind:]
    start = members[place - 1].end if place else container.value + 1
    return text[:start] + _comments(text, plain, start, own.start).rstrip(" \t") + text[own.end :]


def _comments(text: str, plain: str, start: int, end: int) -> str:
    """The text between two members without their comma; "" if it is blank."""
    comma = plain.find(",", start, end)
    between = text[start:end] if comma < 0 else text[start:comma] + text[comma + 1 : end]
    return between if between.strip() else ""


def _toml_table(table: str, name: str, entry: Mapping[str, Json]) -> str:
    bare = name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()]
    return "\n".join([f"[{table}.{bare}]", *lines]) + "\n"


def _toml_without(text: str, table: str, name: str) -> str:
    """The text without the tables `[table.name]` and `[table.name.…]`, up to the header of the next table."""
    quoted = "|".join(re.escape(form) for form in (name, json.dumps(name, ensure_ascii=False), f"'{name}'"))
    own = re.compile(rf"\s*\[\s*{re.escape(table)}\s*\.\s*(?:{quoted})\s*[.\]]")
    lines: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            inside = own.match(line) is not None
        if not inside:
            lines.append(line)
    return "".join(lines)


# Registration of servers with MCP clients: each client's configuration file, and the entry for a server.


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
            lambda made, pair: with_entry(made, file_format(client), _table(client), pair[0], _about(client, pair[1])),
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
