"""The entry point of the command line: dispatches to commands and reports usage errors."""

from __future__ import annotations

import inspect
import logging
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import wraps
from importlib import import_module
from typing import cast

import typer
from typer.main import get_command

from commonplace import build
from commonplace.domain.errors import ConfigError, KnowledgeError
from commonplace.faces.cli.binding import BoundCommand, Command, leave_closed_pipe, read_plainly
from commonplace.faces.cli.failures import EXIT_CODES, FAILED, PIPE_CLOSED, USAGE, error_json, report
from commonplace.faces.cli.output import Output, json_text, terminal
from commonplace.faces.cli.session import CliDependencies

OWN_COMMANDS: Mapping[str, str] = {
    "mcp": "mcp",
    "serve": "serve",
    "lsp": "mcp",
    "keys": "serve",
    "brief": "brief",
    "search": "search",
    "read": "read",
    "list": "listing",
    "links": "links",
    "related": "listing",
    "log": "history",
    "diff": "history",
    "write": "write",
    "add": "add",
    "restore": "restore",
    "proposals": "proposals",
    "activity": "sessions",
    "audit": "audit",
    "backup": "publish",
    "undo": "sessions",
    "publish": "publish",
    "check": "check",
    "review": "check",
    "doctor": "doctor",
    "index": "upkeep",
    "status": "upkeep",
    "model": "upkeep",
    "resident": "background",
    "embed-worker": "background",
    "find": "find",
    "new": "new",
    "open": "new",
    "mv": "write",
    "rm": "write",
    "recent": "listing",
    "tags": "listing",
    "wanted": "listing",
    "orphans": "links",
}
"""The module in `commands` of each command, in the order of the help. Commands of toolsets are listed after these."""
LAST_COMMANDS: Mapping[str, str] = {"connect": "connect", "completion": "connect"}
"""Commands that are listed last."""

NAME = "commonplace"
MAX_SUMMARY_CHARS = 63
"""Maximum characters of a summary in the list of commands, so that a line has at most 80 columns."""

log = logging.getLogger(__name__)

SUMMARY = """One knowledge server over Markdown files in Git, for AI agents and for people.

Examples:
    commonplace mcp ~/notes                      serve a folder to an agent
    commonplace search "restore database"        find pages in the current folder
    commonplace read runbooks/restore --outline  a page's headings
    commonplace links runbooks/restore --back    what links to it
    commonplace check -C ~/notes                 broken links, bad YAML, orphans

Every command takes its folder from --kb (-C), else from COMMONPLACE_KB, else uses the current one, and answers with
one JSON document under --json. Data is on standard output, everything else on standard error.
"""


def command_modules(added: Mapping[str, str]) -> dict[str, str]:
    """The module of every command, in the order of the help.

    Args:
        added: Modules of the toolsets' commands, by name.
    """
    own, last = (
        {name: f"commonplace.faces.cli.commands.{module}" for name, module in modules.items()}
        for modules in (OWN_COMMANDS, LAST_COMMANDS)
    )
    return {**own, **added, **last}


def command_function(name: str, module: str) -> tuple[Command, str]:
    """The function `NAME_command` of a module, and the form of its JSON from `NAME_JSON`; "" for a command without."""
    imported, attribute = import_module(module), name.replace("-", "_")
    return cast("Command", getattr(imported, f"{attribute}_command")), getattr(
        imported, f"{attribute.upper()}_JSON", ""
    )


def run(argv: Sequence[str], parts: CliDependencies) -> int:
    """Run one command line.

    Args:
        argv: Arguments without the program's name.
        parts: Functions of the composition root.

    Returns:
        The exit code, as listed in `failures.EXIT_CODES`.
    """
    # Only the requested command is imported. Help, completion and unknown commands need all of them.
    modules = command_modules(parts.toolset_commands())
    known_argv = bool(argv) and argv[0] in modules
    app = _app({argv[0]: modules[argv[0]]} if known_argv else modules, parts)
    if not known_argv:
        _add_plugins(app, parts)
    command = get_command(app)
    read_plainly(command)
    try:
        code = command.main(argv or ["--help"], NAME, standalone_mode=False)
    except typer.TyperException as error:
        return _misused(argv, error, argv[0] if known_argv else "")
    return code if isinstance(code, int) else 0


def _app(modules: Mapping[str, str], parts: CliDependencies) -> typer.Typer:
    app = typer.Typer(name=NAME, help=_help(SUMMARY), epilog=_epilog(), rich_markup_mode=None, add_completion=False)
    app.callback()(_main)
    for name, where in modules.items():
        command, shape = command_function(name, where)
        text = inspect.getdoc(command) or ""
        app.command(name, help=_help(text), short_help=_short(text), epilog=shape.replace("`", ""))(
            BoundCommand(name, command, parts)
        )
    return app


def _add_plugins(app: typer.Typer, parts: CliDependencies) -> None:
    for name, function in usable_commands(parts).items():
        _add(app, name, function)


def _add(app: typer.Typer, name: str, function: Callable[..., object]) -> None:
    if isinstance(function, typer.Typer):
        _end_commands(name, function)
        app.add_typer(function, name=name)
    else:
        app.command(name)(_with_exit_code(name, function))


def usable_commands(parts: CliDependencies) -> dict[str, Callable[..., object]]:
    """The valid commands of plugins. An invalid command is skipped and recorded as a fault of its plugin."""
    usable: dict[str, Callable[..., object]] = {}
    taken = command_modules(parts.toolset_commands())
    for name, added in parts.commands().items():
        if name in taken:
            added.refuse(f"the command {name} is skipped: there already is one")
            continue
        alone = typer.Typer()
        try:
            _add(alone, name, added.function)
            get_command(alone)
        except Exception as error:  # noqa: BLE001 - a plugin's error must not affect other commands
            added.refuse(f"the command {name} is skipped: {str(error)[:200]}")
        else:
            usable[name] = added.function
    return usable


def _end_commands(name: str, app: typer.Typer) -> None:
    """Wrap every command of a plugin's app, including its groups, so that it ends with an exit code."""
    for command in app.registered_commands:
        if command.callback is not None:
            command.callback = _with_exit_code(name, command.callback)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            _end_commands(name, group.typer_instance)


def _with_exit_code(name: str, function: Callable[..., object]) -> Callable[..., object]:
    """Wrap a plugin's command so that it ends with an exit code in every case."""

    @wraps(function)
    def run(*arguments: object, **options: object) -> object:
        try:
            code = function(*arguments, **options)
        except (typer.Exit, typer.TyperException):
            raise
        except BrokenPipeError:  # the reader, such as `head`, has closed the pipe, which is not an error
            leave_closed_pipe()
            raise typer.Exit(PIPE_CLOSED) from None
        except KnowledgeError as error:
            raise typer.Exit(
                report(Output(terminal(sys.stdout, sys.stderr, os.environ, no_color=False), as_json=False), error)
            ) from error
        except Exception as error:
            log.exception("the command %s of a plugin failed", name)
            raise typer.Exit(FAILED) from error
        raise typer.Exit(code if isinstance(code, int) else 0)

    return run


def _main(*, version: bool = typer.Option(False, "--version", help="Print the version.", is_eager=True)) -> None:
    if version:
        sys.stdout.write(f"{NAME} {build()}\n")
        raise typer.Exit


def _help(text: str) -> str:
    """Mark examples so that typer keeps their lines; other paragraphs are wrapped to the terminal's width."""
    return re.sub(r"(?m)^Examples:$", "\b\nExamples:", text)


def _short(text: str) -> str:
    """The summary of a command in the list of commands, at 80 columns."""
    line = text.partition("\n")[0].replace("`", "")
    sentence = re.split(r"\. |: |; ", line, maxsplit=1)[0].rstrip(".")
    if len(sentence) > MAX_SUMMARY_CHARS:
        sentence = re.sub(r" \([^)]*\)", "", sentence)
    return sentence if len(sentence) <= MAX_SUMMARY_CHARS else sentence.partition(", ")[0]


def _epilog() -> str:
    return "Exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES) + "."


def parsed_commands(parts: CliDependencies) -> dict[str, object]:
    """All built-in commands as parser objects, for the documentation and for completion."""
    return dict(getattr(get_command(_app(command_modules(parts.toolset_commands()), parts)), "commands"))  # noqa: B009 - untyped


def _said(error: typer.TyperException, hint: str) -> tuple[str, str]:
    """The message and hint for a usage error, with the nearest valid name."""
    message = error.format_message().replace("Value error, ", "")
    possible = cast("list[str] | None", getattr(error, "possibilities", None))
    if not possible:
        return message, hint
    near = get_close_matches(getattr(error, "option_name", ""), possible, 1, cutoff=0.0) or possible[:1]
    return f"{message.partition(' (')[0]}. Did you mean {near[0]}?", hint


def _misused(argv: Sequence[str], error: typer.TyperException, name: str) -> int:
    """Report a usage error; returns the exit code. `name` is the command, or "" if unknown."""
    command = f"{NAME} {name}".rstrip()
    hint = f"See {command} --help."
    out = Output(terminal(sys.stdout, sys.stderr, os.environ, no_color="--no-color" in argv), as_json="--json" in argv)
    message, hint = _said(error, hint)
    if out.as_json:
        out.message(json_text({"error": error_json(ConfigError(message, hint=hint))}))
    else:
        out.warn("Error:", message)
        out.message(f"Hint: {hint}")
    return USAGE
