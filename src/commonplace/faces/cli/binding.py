"""Converts a command, written as a plain function, to a function for typer.

A parameter whose type is a group of options (a dataclass of `options`) is expanded to its options. `CommonOptions` is
added to every command. Exceptions of commands are reported on standard error and become exit codes.
"""

from __future__ import annotations

import inspect
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

import typer

from commonplace import WORKER_VARIABLE
from commonplace.domain.changes import recording_waiting_index
from commonplace.domain.errors import KnowledgeError
from commonplace.faces.call_log import log_as_json, traced_call
from commonplace.faces.cli.failures import INTERRUPTED, PIPE_CLOSED, report
from commonplace.faces.cli.options import CommonOptions
from commonplace.faces.cli.output import Output, terminal
from commonplace.faces.cli.session import CliDependencies, Session
from commonplace.settings import load_settings, unknown_variables

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

log = logging.getLogger(__name__)

T = TypeVar("T")
Command = Callable[..., int | None]
"""A command function: takes a session and its own arguments; returns an exit code, or None for 0."""


SERVERS = frozenset({"mcp", "serve", "lsp", "embed-worker"})
"""Commands that run for long, so that each line of their log begins with its time."""
LOG_FORMAT = "%(levelname)s %(name)s: %(message)s"
LOG_TIME = "%Y-%m-%dT%H:%M:%S%z"
"""Local time with its offset (ISO 8601)."""
UNPAGED = frozenset(
    {
        "mcp",
        "serve",
        "lsp",
        "keys",
        "write",
        "add",
        "restore",
        "proposals",
        "undo",
        "index",
        "model",
        "find",
        "new",
        "open",
        "mv",
        "rm",
        "connect",
        "completion",
    }
)
"""Commands with effects. Their output is never shown in a pager, so that it stays on the screen."""

_DIGITS = re.compile(r"[0-9]{1,15}")


class BoundCommand:
    """A command as a function for typer, with one keyword argument for each argument and option.

    Args:
        name: Name of the command.
        command: The command function.
        parts: Functions of the composition root.
    """

    def __init__(self, name: str, command: Command, parts: CliDependencies) -> None:
        self.__name__ = name
        self.__doc__ = command.__doc__
        self.__annotations__ = {}  # typer reads annotations here, too, but the signature suffices
        self._command = command
        self._parts = parts
        parameters, self._taken = expanded(command, "session")
        self.__signature__ = inspect.Signature([*parameters, *_parameters(CommonOptions)])

    def __call__(self, **values: object) -> None:
        """Run the command and exit with its exit code.

        Raises:
            typer.Exit: always.
        """
        common = _taken(CommonOptions, values)
        raise typer.Exit(self._run(common, self._taken(values)))

    def _run(self, common: CommonOptions, arguments: dict[str, object]) -> int:
        where = terminal(sys.stdout, sys.stderr, os.environ, no_color=common.no_color)
        out = Output(where, as_json=common.as_json, paged=self.__name__ not in UNPAGED)
        try:
            with traced_call(self.__name__, log_name="the log above"):
                settings = load_settings(flags=common.flags())
                # Libraries log warnings and errors only.
                least = "ERROR" if settings.log_level == "error" else "WARNING"
                form = f"%(asctime)s {LOG_FORMAT}" if self.__name__ in SERVERS else LOG_FORMAT
                logging.basicConfig(level=least, format=form, datefmt=LOG_TIME)
                if settings.log_format == "json":
                    log_as_json(sys.stderr)
                logging.getLogger("commonplace").setLevel(settings.log_level.upper())
                if WORKER_VARIABLE not in os.environ:
                    for unknown in unknown_variables():
                        log.warning("%s", unknown)
                return self._answer(Session(self._parts, settings, common.flags(), out, self.__name__), arguments)
        except KnowledgeError as error:
            out.flush()
            return report(out, error)
        except KeyboardInterrupt:
            return INTERRUPTED

    def _answer(self, session: Session, arguments: dict[str, object]) -> int:
        try:
            with recording_waiting_index() as waiting:
                code = self._command(session, **arguments)
            session.out.flush()
            for line in waiting:
                session.out.message(line)
        except BrokenPipeError:  # the reader, such as `head`, has closed the pipe, which is not an error
            leave_closed_pipe()
            return PIPE_CLOSED
        return code or 0


def read_plainly(command: Any) -> None:  # noqa: ANN401 - the type is internal to typer
    """Bypass typer's validation for values that are obviously valid.

    typer validates every value, given or not, with a library whose import takes a quarter of the time of a short
    command.

    Args:
        command: A command or a group of commands, created by typer.
    """
    for other_command in (command, *getattr(command, "commands", {}).values()):
        for parameter in other_command.get_params(typer.Context(other_command)):
            parameter.get_runtime_param = partial(_PlainType, parameter.get_runtime_param)


@dataclass(frozen=True, slots=True)
class _PlainType:
    """Validates obviously valid values directly, and passes all others to typer's own validation."""

    usual: Callable[[], Any]

    def coerce(self, value: object, param: Any, ctx: object) -> object:  # noqa: ANN401
        """The validated value of a parameter.

        Raises:
            typer.BadParameter: the value is not valid.
        """
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        plain = _plain(value, param.type_descriptor)
        return self.usual().coerce(value, param=param, ctx=ctx) if plain is None else plain


def _plain(value: object, type_descriptor: Any) -> object | None:  # noqa: ANN401
    """The value if it has the wanted type already or is a number within its limits; None in all other cases."""
    type_, limits = type_descriptor.annotation, type_descriptor.parameter_info
    if type_ is int and isinstance(value, str | int):
        return _number_within(str(value), limits)
    if isinstance(value, list | tuple):
        texts = cast("Sequence[object]", value)
        return list(texts) if type_ == list[str] and all(map(_is_printable, texts)) else None
    right = value in get_args(type_) if get_origin(type_) is Literal else type_ is str and _is_printable(value)
    return value if right else None


def _number_within(text: str, limits: Any) -> int | None:  # noqa: ANN401
    if not _DIGITS.fullmatch(text):
        return None
    most = sys.maxsize if limits.max is None else limits.max
    return int(text) if (limits.min or 0) <= int(text) <= most else None


def _is_printable(value: object) -> bool:
    """Whether a value is a string of printable characters. Undecodable bytes of an argument are not printable."""
    return isinstance(value, str) and value.isprintable()


def expanded(
    command: Command, lent: str
) -> tuple[list[inspect.Parameter], Callable[[dict[str, object]], dict[str, object]]]:
    """The parameters of a command with every group expanded, and a function that assembles groups from their values.

    Args:
        command: The command function.
        lent: Name of the parameter that does not come from the command line.
    """
    hints = {n: t for n, t in get_type_hints(command, include_extras=True).items() if n not in {lent, "return"}}
    groups: dict[str, type[object]] = {name: type_ for name, type_ in hints.items() if is_group(type_)}
    own = inspect.signature(command).parameters
    single = [_parameter(n, type_, own[n].default) for n, type_ in hints.items() if n not in groups]
    grouped = [parameter for group in groups.values() for parameter in _parameters(group)]

    def taken(values: dict[str, object]) -> dict[str, object]:
        arguments = {name: _taken(group, values) for name, group in groups.items()}
        return {**values, **arguments}

    return [*single, *grouped], taken


def is_group(type_: object) -> bool:
    """Whether a parameter's type is a group of options."""
    return isinstance(type_, type) and is_dataclass(type_)


def _fields(group: type) -> tuple[Field[object], ...]:
    return fields(cast("type[DataclassInstance]", group))


def _taken(group: type[T], values: dict[str, object]) -> T:
    """Create a group from its options, which are removed from the values."""
    return group(**{field.name: values.pop(field.name) for field in _fields(group)})


def _parameters(group: type) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for field in _fields(group):
        yield _parameter(field.name, hints[field.name], _default(field))


def _default(field: Field[object]) -> object:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _parameter(name: str, type_: object, default: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=type_)


def leave_closed_pipe() -> None:
    """Redirect standard output to the null device, so that the interpreter's final flush does not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
