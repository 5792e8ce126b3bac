"""Writes docs/commands.md, and the words that shells complete, from the commands; `--check` compares both."""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin

from sources import ROOT

from commonplace.faces.cli.app import command_function, command_modules, parsed_commands
from commonplace.faces.cli.options import CommonOptions
from commonplace.faces.cli.session import CliDependencies
from commonplace.registration import toolset_commands

PAGE = ROOT / "docs" / "commands.md"
WORDS = ROOT / "src" / "commonplace" / "completion" / "command_table.py"
HEAD = """\
# Commands

Every command with its arguments and options, as `commonplace COMMAND --help` shows them. Every command also takes the
options at the end of this page. [The command line](command-line.md) explains the commands with examples,
[Settings](settings.md) lists settings for all of them, [Errors](errors.md) the failures.

This page is made by `python tools/list_commands.py`.
"""
WORDS_HEAD = '''\
"""Completions of `commonplace`, made from the commands by `python tools/list_commands.py`.

For each command: what it does, the kind of each argument (the last with `*` when it repeats), and its options with the
kind of their value ("" for none). Kinds: `page`, `folder`, `type`, `tag`, `files`, `text`, or words with `|` between.
"""

# fmt: off
# ruff: noqa: E501

COMMANDS: dict[str, tuple[str, tuple[str, ...], dict[str, str]]] = {
'''
KINDS = {"PAGE": "page", "TYPE": "type", "TAG": "tag", "DIR": "files", "FILE": "files", "PATH": "files"}
"""Kind of completion by metavar."""

Parameter = Any
"""An argument or option of the parser, which has no type annotations."""


def main(argv: list[str] | None = None) -> int:
    """Write or check both files; return 1 if the check finds one out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; 1 when a file is out of date")
    parser.add_argument("--page", type=Path, default=PAGE, help="where the page is")
    parser.add_argument("--words", type=Path, default=WORDS, help="where the words are")
    namespace = parser.parse_args(argv)
    stale = False
    for file, made in ((namespace.page, page()), (namespace.words, words())):
        if not namespace.check:
            file.write_text(made, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != made:
            print(f"{file.name} is not as the commands are: run python tools/list_commands.py", file=sys.stderr)
            stale = True
    return int(stale)


def page() -> str:
    """The page for the current commands."""
    parts = [HEAD, *(line for name in command_modules(toolset_commands()) for line in _command(name))]
    return "\n".join([*parts, *_common()])


def words() -> str:
    """The source of the module with the words that shells complete."""
    rows: list[str] = []
    for name, command in _parsed():
        arguments = tuple(_kind(argument) + ("*" if argument.nargs == -1 else "") for argument in _arguments(command))
        options = {word: _kind(option) for option in _options(command) for word in option.opts} | {"--help": ""}
        kinds = f"({''.join(json.dumps(kind) + ', ' for kind in arguments).rstrip(' ')})"
        rows.append(f"    {json.dumps(name)}: ({json.dumps(command.short_help)}, {kinds}, {json.dumps(options)}),")
    return f"{WORDS_HEAD}{chr(10).join(rows)}\n}}\n"


def _nothing(*_: object) -> None:
    return None


@cache
def _parsed() -> list[tuple[str, Parameter]]:
    """Every command as parsed by typer. The dependencies of the commands are replaced by dummies."""
    lent = cast("Callable[..., Any]", _nothing)
    parts = CliDependencies(*[lent] * 14, toolset_commands=toolset_commands)
    return list(parsed_commands(parts).items())


def _arguments(command: Parameter) -> list[Parameter]:
    return [parameter for parameter in command.params if type(parameter).__name__ == "TyperArgument"]


def _options(command: Parameter) -> list[Parameter]:
    return [parameter for parameter in command.params if type(parameter).__name__ == "TyperOption"]


def _kind(parameter: Parameter) -> str:
    """The kind of word that a parameter takes; "" for a flag."""
    if getattr(parameter, "is_flag", False):
        return ""
    choices = _choices(parameter.type_descriptor.annotation)
    if choices:
        return "|".join(choices)
    metavar = str(parameter.metavar or "")
    if "|" in metavar:
        return metavar
    if "--prefix" in parameter.opts:
        return "folder"
    return KINDS.get(metavar, "text")


def _choices(annotation: object) -> tuple[str, ...]:
    if get_origin(annotation) in {Union, UnionType}:
        annotation = next(part for part in get_args(annotation) if part is not NoneType)
    return get_args(annotation) if get_origin(annotation) is Literal else ()


def _command(name: str) -> Iterator[str]:
    command = dict(_parsed())[name]
    function, shape = command_function(name, command_modules(toolset_commands())[name])
    summary, examples, rest = _told(inspect.getdoc(function) or "")
    usage = " ".join(["commonplace", name, *map(_usage, _arguments(command))])
    yield f"## {name}\n\n{summary}\n\n```\n{usage} [OPTIONS]\n\n{examples}\n```\n"
    if rest:
        yield f"{rest}\n"
    own = [parameter for parameter in _options(command) if parameter.name not in CommonOptions.__dataclass_fields__]
    if own:
        yield from _table(own)
    if shape:
        yield f"{shape}\n"


def _usage(parameter: Parameter) -> str:
    word = str(parameter.metavar) + ("…" if parameter.nargs == -1 else "")
    return word if parameter.required else f"[{word}]"


def _told(text: str) -> tuple[str, str, str]:
    """The parts of a command's help: summary, examples, and the rest."""
    summary, _, behind = text.partition("\n\nExamples:\n")
    examples, _, rest = behind.partition("\n\n")
    return summary, inspect.cleandoc(examples), rest.strip()


def _table(options: Sequence[Parameter]) -> Iterator[str]:
    yield "| option | what it does | default |"
    yield "|---|---|---|"
    for option in options:
        metavar = "" if option.is_flag else " " + str(option.metavar or "").replace("|", r"\|")
        shown = "" if option.default in (None, False, "", []) or not option.show_default else f"`{option.default}`"
        default = "required" if option.required else shown
        text = " ".join((option.help or "").split()).replace("|", r"\|")
        yield f"| {', '.join(f'`{word}{metavar}`' for word in option.opts)} | {text} | {default} |"
    yield ""


def _common() -> Iterator[str]:
    command = dict(_parsed())["check"]
    yield "## What every command takes\n"
    yield from _table([option for option in _options(command) if option.name in CommonOptions.__dataclass_fields__])


if __name__ == "__main__":
    sys.exit(main())
