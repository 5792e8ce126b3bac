"""Checks outside the program: the port of `serve`, and the entries in clients' configuration files."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import socket
from collections.abc import Iterator, Mapping, Sequence
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import cast

from commonplace.domain.diagnostics import Diagnostic
from commonplace.domain.documents import Severity
from commonplace.faces import clients
from commonplace.faces.cli.output import short_path
from commonplace.settings import Settings

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
    known = 0
    for file, client in files.items():
        try:
            text = file.read_text(encoding="utf-8")
            servers = clients.registered_servers(client, text)
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            kind = clients.file_format(client).upper()
            reason = str(error.strerror) if isinstance(error, OSError) else f"it is no {kind}"
            message = f"{short_path(file)} cannot be read: {reason}."
            yield Diagnostic(
                "client", Severity.WARNING, client, message, "Correct it: until then the client has no servers."
            )
            continue
        for name, entry in servers.items():
            if _is_entry(entry):
                known += 1
                yield _entry(client, name, cast("Mapping[str, object]", entry))
    if not known:
        message = "No client that is known here has an entry for commonplace."
        yield Diagnostic("client", None, "clients", message, "To connect one:", "commonplace connect claude-code")


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
    found: list[str] = []
    skip = False
    for word in words[1:]:
        if skip or word.startswith("-"):
            skip = not skip and word.startswith("--") and "=" not in word and word != "--no-embed"
        else:
            found.append(word)
    return [folder for folder in found if folder.startswith(("/", "~", "."))]
