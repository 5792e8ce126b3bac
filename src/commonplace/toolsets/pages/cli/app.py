"""The program `cn`: parses the command line, runs the command, and maps errors to a message and an exit code."""

from __future__ import annotations

import inspect
import json
import logging
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.main import get_command

from commonplace import build
from commonplace.domain.errors import KnowledgeError
from commonplace.faces import clients
from commonplace.faces.call_log import traced_call
from commonplace.faces.cli.binding import expanded, read_plainly
from commonplace.faces.cli.failures import PIPE_CLOSED
from commonplace.toolsets.pages.cli import space_search, sync
from commonplace.toolsets.pages.cli.failures import (
    EXIT_CODES,
    INTERRUPTED,
    INVALID,
    CnDependencies,
    EngineOptions,
    exit_code,
    message,
    out,
)
from commonplace.toolsets.pages.rules.space import key_digest

_NO_NAME = re.compile(r"[^a-z0-9_-]+")
"""Characters that some clients do not allow in a server's name."""

SUMMARY = """Confluence spaces as folders of Markdown: clone, edit, push, search, and serve them to an AI assistant."""


def run(argv: Sequence[str], parts: CnDependencies) -> int:
    """Run one command line.

    Args:
        argv: The arguments without the program's name.
        parts: Functions of the composition root.

    Returns:
        The exit code, as listed in `failures.EXIT_CODES`.
    """
    command = get_command(_app(parts))
    read_plainly(command)
    named = next((element for element in argv if element in _commands()), "")
    try:
        with traced_call(f"cn {named}".rstrip(), log_name="the log above"):
            return _exit_code_of(command, argv)
    except KnowledgeError as error:
        message(f"Error: {error.advice if named in sync.COMMANDS else error}")
        return exit_code(error)
    except KeyboardInterrupt:
        return INTERRUPTED


def _exit_code_of(command: Any, argv: Sequence[str]) -> int:  # noqa: ANN401 - typer's type is its own affair
    try:
        code = command.main(argv or ["--help"], "cn", standalone_mode=False)
    except typer.Abort:  # the end of input, or Ctrl-C, at a question
        return INTERRUPTED
    except typer.TyperException as error:
        message(f"Error: {error.format_message()}")
        return INVALID
    except BrokenPipeError:  # a reader such as `head` has closed the pipe, which is not a failure
        sys.stderr.close()
        return PIPE_CLOSED
    return code if isinstance(code, int) else 0


def _commands() -> dict[str, Callable[..., int]]:
    return {"mcp": mcp, "search": search, **sync.COMMANDS}


def _app(parts: CnDependencies) -> typer.Typer:
    epilog = "Exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES) + "."
    app = typer.Typer(name="cn", help=SUMMARY, epilog=epilog, rich_markup_mode=None, add_completion=False)
    app.callback()(_main)
    for name, command in _commands().items():
        app.command(name, help=inspect.getdoc(command))(_Bound(name, command, parts))
    return app


def _main(*, version: bool = typer.Option(False, "--version", help="Print the version.", is_eager=True)) -> None:
    logging.basicConfig(level="WARNING", format="%(levelname)s %(name)s: %(message)s")
    if version:
        sys.stdout.write(f"cn {build()}\n")
        raise typer.Exit


def mcp(
    parts: CnDependencies,
    path: Annotated[str, typer.Argument(metavar="[PATH]", help="The space's folder.", show_default="here")] = ".",
    *,
    engine: EngineOptions,
    tier: Annotated[
        Literal["read", "write"] | None,
        typer.Option(metavar="read|write", help="With write, agents may edit pages and push named ones."),
    ] = None,
    print_config: Annotated[
        clients.ClientName | None,
        typer.Option(metavar="|".join(clients.CLIENTS), help="Print the entry for this client, and do nothing else."),
    ] = None,
) -> int:
    """Serve a space to an MCP client, on standard input and output."""
    settings = engine.settings(path, tier)
    if print_config is None:
        parts.serve(settings, lambda line: message(f"cn mcp: {line}"))
        return 0
    with parts.opened(settings) as place:
        key = place.space().key
    chosen = {"--tier": tier, "--engine": engine.engine, "--meilisearch": engine.meilisearch}
    more = [part for option, value in chosen.items() if value for part in (option, value)]
    launch = clients.LaunchCommand(clients.this_program("cn"), ["mcp", str(Path(path).resolve()), *more])
    parts_of_name = ["confluence", _NO_NAME.sub("-", key.lower()).strip("-"), key_digest(key)]
    name = "-".join(part for part in parts_of_name if part)
    out(json.dumps(clients.server_entry(print_config, {name: launch}), ensure_ascii=False, indent=2))
    message(f"Put this into {clients.client_config_file(print_config, Path.cwd())}")
    return 0


def search(
    parts: CnDependencies,
    query: Annotated[list[str], typer.Argument(metavar="QUERY|index|status")],
    *,
    filters: space_search.SearchOptions,
    form: space_search.FormatOptions,
    indexing: space_search.IndexOptions,
    engine: EngineOptions,
) -> int:
    """Search the pages of the space in the current folder, best first.

    `cn search index` brings the search index up to date, `cn search status` says how it stands. To search for one of
    these two words, write `cn search " index"`.
    """
    if query == ["index"]:
        return space_search.index(parts, indexing, engine)
    if query == ["status"]:
        return space_search.status(parts, form, engine)
    return space_search.search(parts, query, filters, form, engine)


class _Bound:
    """A command as typer calls it: one keyword for each argument and option."""

    def __init__(self, name: str, command: Callable[..., int], parts: CnDependencies) -> None:
        self.__name__ = name
        self.__annotations__ = {}  # typer reads this attribute; the signature has the types
        self._command = command
        self._parts = parts
        parameters, self._taken = expanded(command, "parts")
        self.__signature__ = inspect.Signature(parameters)

    def __call__(self, **values: object) -> None:
        raise typer.Exit(self._command(self._parts, **self._taken(values)))
