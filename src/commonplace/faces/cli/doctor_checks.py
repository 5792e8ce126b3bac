"""Checks of `commonplace doctor`: settings, the folders that they name, the port of `serve`, and clients' entries."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import socket
import stat
from collections.abc import Iterator, Mapping, Sequence
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import cast

from commonplace.domain.documents import Severity
from commonplace.domain.findings import Diagnostic
from commonplace.domain.private_files import exposed
from commonplace.faces import clients
from commonplace.faces.cli.output import short_path
from commonplace.faces.cli.residents import running_residents
from commonplace.relay import obstacle
from commonplace.settings import Flags, Settings, config_file, origins

# Checks of settings with their origins, and of the folders that they name: permissions and free space.


LOW_BYTES = 200_000_000
"""Minimum free space in bytes; below it, a write or an index update may fail soon."""
LOW_FILES = 1_000
"""Minimum number of free inodes; below it, a write may fail soon."""
SECRETS = (
    "api_key",
    "search_key",
    "embedding_key",
    "rerank_key",
    "notice_secret",
    "webhook_secret",
    "cluster_secret",
    "engine_password",
)
"""Settings that other users of the machine should not be able to read."""


def settings(flags: Flags) -> Iterator[Diagnostic]:
    """Every setting that is not a default, with its value and origin."""
    rows = origins(flags=flags)
    file, _ = config_file()
    there = "" if os.path.exists(file) else " (not there)"
    yield Diagnostic("setting", None, "settings", f"The file is {short_path(file)}{there}.")
    for name, value, where in rows:
        yield Diagnostic("setting", None, name, f"{value or 'nothing'}, given by {where}.")
    if not rows:
        yield Diagnostic("setting", None, "settings", "All have their defaults.")
    held = [name for name, _, where in rows if name in SECRETS and where.endswith(f" in {file.name}")]
    if held and file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
        message = f"Other users can read {short_path(file)}, which holds {' and '.join(held)}."
        command = f"chmod 600 {shlex.quote(str(file))}"
        yield Diagnostic("setting", Severity.WARNING, "settings", message, "Keep it to yourself:", command)


def folders(chosen: Settings) -> Iterator[Diagnostic]:
    """Whether the folders for indexes, locks and journals are writable, and whether their disks have free space."""
    kinds = (("cache_dir", chosen.cache_dir, "indexes"), ("state_dir", chosen.state_dir, "locks and journals"))
    for name, folder, what in kinds:
        nearest = _nearest(folder)
        if nearest == folder.absolute() and not os.path.isdir(nearest):
            message = f"{short_path(folder)}, for {what}, is not a folder."
            yield Diagnostic("permissions", Severity.WARNING, name, message, "Put it out of the way, or set another.")
        elif not os.path.isdir(nearest) or not os.access(nearest, os.W_OK | os.X_OK):
            message = f"{short_path(folder)}, for {what}, cannot be written: {short_path(nearest)} keeps it out."
            command = f"sudo chown -R $USER {shlex.quote(str(nearest))}" if os.path.isdir(nearest) else ""
            hint = f"Give it to this user, or set {name} to another folder."
            yield Diagnostic("permissions", Severity.WARNING, name, message, hint, command)
        elif open_to_others := next(exposed(folder), None):
            message = (
                f"Others have permissions for {short_path(open_to_others)}, which holds {what} with text of pages."
            )
            command = f"chmod -R go= {shlex.quote(str(folder))}"
            yield Diagnostic("permissions", Severity.WARNING, name, message, "Keep it to yourself:", command)
        else:
            message = f"{short_path(folder)}, for {what}, can be written, and only by this user."
            yield Diagnostic("permissions", None, name, message)
    for folder in dict.fromkeys((*chosen.kb, chosen.cache_dir)):
        yield from _room(folder)


def _room(folder: Path) -> Iterator[Diagnostic]:
    nearest = _nearest(folder)
    try:
        there = os.statvfs(nearest)
    except OSError as error:
        yield Diagnostic("disk", Severity.WARNING, short_path(folder), f"Its disk does not answer: {error.strerror}.")
        return
    free = there.f_bavail * there.f_frsize
    message = f"{free / 1e9:,.1f} GB are free on the disk of {short_path(folder)}."
    if free < LOW_BYTES:
        hint = "Make room; an index may be deleted at any moment:"
        yield Diagnostic("disk", Severity.WARNING, "disk", message, hint, f"du -sh {shlex.quote(str(nearest))}/*")
    elif there.f_files and there.f_favail < LOW_FILES:
        message = f"The disk of {short_path(folder)} has room for {there.f_favail:,} more files only."
        yield Diagnostic("disk", Severity.WARNING, "disk", message, "Delete what is not needed.")
    else:
        yield Diagnostic("disk", None, "disk", message)


def _nearest(folder: Path) -> Path:
    """The folder, or its nearest ancestor that exists."""
    at = folder.absolute()
    while at != at.parent and not os.path.exists(at):
        at = at.parent
    return at


def residents(chosen: Settings) -> Iterator[Diagnostic]:
    """The residents that run; and, if one is wanted, whether there can be one."""
    for resident in running_residents():
        yield Diagnostic("resident", None, "resident", f"Process {resident.process}, {resident.sessions} sessions.")
    if reason := obstacle() if chosen.resident else "":
        hint = "mcp serves by itself until then."
        yield Diagnostic("resident", Severity.INFO, "resident", f"There can be no resident: {reason}.", hint)


# Checks outside the program: the port of `serve`, and the entries in clients' configuration files.


SECONDS = 1.0
"""Timeout in seconds for a response from the server that uses the port."""
PROGRAMS = ("commonplace", "cn")


def port(chosen: Settings) -> Diagnostic:
    """Check whether `serve` could listen on its configured address and port."""
    where = f"{chosen.host}:{chosen.port}"
    if chosen.port == 0:
        return Diagnostic("port", None, where, "Any free port is taken.")
    try:
        kind = socket.AF_INET6 if ":" in chosen.host else socket.AF_INET
        with socket.socket(kind) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((chosen.host, chosen.port))
    except PermissionError:
        hint = "Ports below 1024 are the administrator's: take another one."
        return Diagnostic("port", Severity.WARNING, where, "This user may not listen there.", hint, _serve(chosen))
    except socket.gaierror:
        return Diagnostic(
            "port", Severity.WARNING, where, "This machine has no such address.", "Correct the setting host."
        )
    except OSError as error:
        if _is_ours(chosen):
            return Diagnostic("port", None, where, "A server of commonplace is running there.")
        message = f"commonplace serve cannot listen there: {error.strerror}."
        return Diagnostic("port", Severity.WARNING, where, message, "Take another port:", _serve(chosen))
    return Diagnostic("port", None, where, "The port is free for commonplace serve.")


def _serve(chosen: Settings) -> str:
    return f"commonplace serve --port {chosen.port + 1 if chosen.port >= 1024 else 8090}"  # noqa: PLR2004


def _is_ours(chosen: Settings) -> bool:
    connection = HTTPConnection(chosen.host, chosen.port, timeout=SECONDS)
    try:
        connection.request("GET", "/health")
        return json.loads(connection.getresponse().read(1_000)) == {"status": "ok"}
    except (OSError, HTTPException, ValueError, RecursionError):
        return False
    finally:
        connection.close()


def client_entries(folders: Sequence[Path]) -> Iterator[Diagnostic]:
    """The entries for commonplace in the configuration files of all known clients, and whether each is still valid.

    Files of a project are looked for in the current folder and in `folders`.
    """
    projects = [Path.cwd(), *(folder.expanduser().absolute() for folder in folders)]
    files: dict[Path, clients.ClientName] = {
        clients.client_config_file(client, project): client for project in projects for client in clients.CLIENTS
    }
    count = 0
    for file, client in files.items():
        try:
            text = file.read_text(encoding="utf-8")
            servers = clients.registered_servers(client, text)
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            yield _unreadable(client, file, error)
            continue
        for name, entry in servers.items():
            if _is_entry(entry):
                count += 1
                yield _entry(client, name, cast("Mapping[str, object]", entry))
    if not count:
        message = "No client that is known here has an entry for commonplace."
        yield Diagnostic("client", None, "clients", message, "To connect one:", "commonplace connect claude-code")


def _unreadable(client: clients.ClientName, file: Path, error: OSError | ValueError) -> Diagnostic:
    kind = clients.file_format(client).upper()
    reason = str(error.strerror) if isinstance(error, OSError) else f"it is no {kind}"
    message = f"{short_path(file)} cannot be read: {reason}."
    return Diagnostic("client", Severity.WARNING, client, message, "Correct it: until then the client has no servers.")


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, dict):
        return False
    command = cast("dict[str, object]", entry).get("command")
    return isinstance(command, str) and Path(command).stem in PROGRAMS


def _entry(client: clients.ClientName, name: str, entry: Mapping[str, object]) -> Diagnostic:
    command = cast("str", entry["command"])
    args = entry.get("args")
    words = [str(word) for word in cast("Sequence[object]", args)] if isinstance(args, list) else []
    folders = _folders(words)
    again = f"commonplace connect {client} --name {shlex.quote(name)} --yes"
    if shutil.which(command) is None:
        message = f"The server {name!r} is started by {short_path(Path(command))}, which is no program here."
        return Diagnostic("client", Severity.WARNING, client, message, "In the folder that it shall serve:", again)
    gone = [folder for folder in folders if not os.path.isdir(Path(folder).expanduser())]
    if gone:
        message = f"The server {name!r} serves {gone[0]}, which is not a folder."
        return Diagnostic("client", Severity.WARNING, client, message, "In the folder that it shall serve:", again)
    served = (
        ", ".join(short_path(Path(folder).expanduser()) for folder in folders) or "the folder that it is started in"
    )
    return Diagnostic("client", None, client, f"The server {name!r} serves {served}.")


def _folders(words: Sequence[str]) -> list[str]:
    """The folders in the arguments after `mcp`, without options and their values."""
    if words[:1] != ["mcp"]:
        return []
    found_words: list[str] = []
    skip = False
    for word in words[1:]:
        if skip or word.startswith("-"):
            skip = not skip and word.startswith("--") and "=" not in word and word != "--no-embed"
        else:
            found_words.append(word)
    return [folder for folder in found_words if folder.startswith(("/", "~", "."))]
