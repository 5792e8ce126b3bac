"""Values of the command line that are taken as they are, and those that typer reads itself."""

from __future__ import annotations

import subprocess
import sys
from typing import Annotated, Literal

import pytest
import typer
from typer.main import get_command

from commonplace.faces.cli.binding import read_plainly

LINES = [
    [],
    ["a"],
    ["a", "b c", "-C", "x", "-C", "y"],
    ["--kind", "note"],
    ["--kind", "other"],
    ["--kind", ""],
    ["--count", "0"],
    ["--count", "1"],
    ["--count", "007"],
    ["--count", "50"],
    ["--count", "51"],
    ["--count", "-1"],
    ["--count", "+5"],
    ["--count", "1_0"],
    ["--count", "٣"],
    ["--count", "9" * 5000],
    ["--count", "x"],
    ["--free", "12"],
    ["--free", "-12"],
    ["--name", ""],
    ["--name", "a\nb"],
    ["--name", "\udcff"],
    ["--count"],
]


def _app(found_values: list[object]) -> typer.Typer:
    app = typer.Typer()

    @app.command()
    def run(
        words: Annotated[list[str] | None, typer.Argument()] = None,
        kb: Annotated[list[str] | None, typer.Option("-C")] = None,
        kind: Annotated[Literal["note", "page"], typer.Option()] = "page",
        count: Annotated[int, typer.Option(min=1, max=50)] = 3,
        free: Annotated[int | None, typer.Option()] = None,
        name: Annotated[str | None, typer.Option()] = None,
    ) -> None:
        found_values.append((words, kb, kind, count, free, name))

    return app


def _outcome(line: list[str], *, plainly: bool) -> object:
    outcomes: list[object] = []
    command = get_command(_app(outcomes))
    if plainly:
        read_plainly(command)
    try:
        command.main(line, "test", standalone_mode=False)
    except typer.TyperException as error:
        return error.format_message()
    return outcomes


@pytest.mark.parametrize("line", LINES, ids=ascii)
def test_a_line_means_the_same_as_to_typer_alone(line: list[str]) -> None:
    assert _outcome(line, plainly=True) == _outcome(line, plainly=False)


@pytest.mark.parametrize("line", [["mcp", "--help"], ["search", "-C", "/nowhere", "tea", "-n", "3", "--sort", "date"]])
@pytest.mark.soak
def test_a_command_line_that_is_right_needs_no_library_of_types(line: list[str]) -> None:
    program = (
        f"import sys\nfrom commonplace.main import main\ncode = main({line!r})\n"
        "print(code, 'pydantic' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr.endswith(" False\n")
