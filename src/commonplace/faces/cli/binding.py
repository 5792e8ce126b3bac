"""Turns a command written as a plain function into what typer calls.

A parameter whose type is a group of options (a dataclass of `options`) stands for all of them; `Common` is added to
every command. What a command raises ends here, as a line on standard error and an exit code.
"""

from __future__ import annotations

import inspect
import logging
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import TYPE_CHECKING, TypeVar, cast, get_type_hints

import typer

from commonplace.domain.errors import KnowledgeError
from commonplace.faces.cli.failures import INTERRUPTED, PIPE_CLOSED, report
from commonplace.faces.cli.options import Common
from commonplace.faces.cli.output import Output, terminal
from commonplace.faces.cli.session import Parts, Session
from commonplace.faces.observe import observed
from commonplace.settings import load_settings

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")
Command = Callable[..., int | None]
"""Takes a session and its own arguments; returns an exit code, None for 0."""


class Bound:
    """A command as typer calls it: one keyword for each argument and option.

    Args:
        name: As it is typed.
        command: What it does.
        parts: What it does it with.
    """

    def __init__(self, name: str, command: Command, parts: Parts) -> None:
        self.__name__ = name
        self.__doc__ = command.__doc__
        self.__annotations__ = {}  # typer looks here too; the signature says everything
        self._command = command
        self._parts = parts
        parameters, self._taken = expanded(command, "session")
        self.__signature__ = inspect.Signature([*parameters, *_parameters(Common)])

    def __call__(self, **values: object) -> None:
        """Run the command and end with its exit code.

        Raises:
            typer.Exit: always.
        """
        common = _taken(Common, values)
        raise typer.Exit(self._run(common, self._taken(values)))

    def _run(self, common: Common, arguments: dict[str, object]) -> int:
        where = terminal(sys.stdout, sys.stderr, os.environ, no_color=common.no_color)
        out = Output(where, as_json=common.as_json)
        try:
            settings = load_settings(flags=common.flags())
            # Libraries log what passes through them, which is nobody's business: warnings of theirs and no more.
            least = "ERROR" if settings.log_level == "error" else "WARNING"
            logging.basicConfig(level=least, format="%(levelname)s %(name)s: %(message)s")
            logging.getLogger("commonplace").setLevel(settings.log_level.upper())
            with observed(self.__name__):
                return self._answer(Session(self._parts, settings, common.flags(), out), arguments)
        except KnowledgeError as error:
            return report(out, error)
        except KeyboardInterrupt:
            return INTERRUPTED
        except Exception:  # noqa: BLE001 - the face is where the unforeseen ends; `observed` has logged it
            return report(out, KnowledgeError("Internal error; the log above has the details."))

    def _answer(self, session: Session, arguments: dict[str, object]) -> int:
        try:
            code = self._command(session, **arguments)
            session.out.flush()
        except BrokenPipeError:  # a reader such as `head` has enough, which is no failure
            _leave_closed_pipe()
            return PIPE_CLOSED
        return code or 0


def expanded(
    command: Command, lent: str
) -> tuple[list[inspect.Parameter], Callable[[dict[str, object]], dict[str, object]]]:
    """A command's own parameters with every group as its options, and what makes groups of their values again.

    Args:
        command: Whose parameters.
        lent: The one that does not come from the command line.
    """
    hints = {n: t for n, t in get_type_hints(command, include_extras=True).items() if n not in {lent, "return"}}
    groups: dict[str, type[object]] = {name: type_ for name, type_ in hints.items() if is_group(type_)}
    own = inspect.signature(command).parameters
    single = [_parameter(n, type_, own[n].default) for n, type_ in hints.items() if n not in groups]
    grouped = [one for group in groups.values() for one in _parameters(group)]

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
    """The group made of its options, which are taken out of the values."""
    return group(**{field.name: values.pop(field.name) for field in _fields(group)})


def _parameters(group: type) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for field in _fields(group):
        yield _parameter(field.name, hints[field.name], _default(field))


def _default(field: Field[object]) -> object:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _parameter(name: str, type_: object, default: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=type_)


def _leave_closed_pipe() -> None:
    """Let the interpreter flush into nothing when it ends, as nobody reads any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
