"""Many short cases in one test, because collecting and reporting a test takes longer than a case of microseconds."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import pytest

Test = Callable[..., None]
Names = Callable[[Any], object] | Sequence[str]


def each_case(
    arguments: str | Sequence[str], cases: Iterable[Any], *, ids: Names | None = None
) -> Callable[[Test], Test]:
    """Run a test with every case, whichever fail; then it fails once, with the error and the name of each that failed.

    Use it like `pytest.mark.parametrize`, which stays right for cases that take longer than a millisecond and for those
    that need something of their own, such as `tmp_path`: a fixture is the same for all cases.

    Args:
        arguments: Names of the arguments that the cases give: one string with commas, or several.
        cases: The value of the argument, or a tuple with one for each of several.
        ids: The cases' names, or a function that names a value; by default the values name their case.
    """
    names = [name.strip() for name in arguments.split(",")] if isinstance(arguments, str) else list(arguments)
    rows = [(case,) if isinstance(arguments, str) and len(names) == 1 else tuple(case) for case in cases]
    assert rows, "no cases"
    assert all(len(row) == len(names) for row in rows), "each case gives every argument"

    def over_all(test: Test) -> Test:
        signature = inspect.signature(test)

        @functools.wraps(test)
        def every(**fixtures: object) -> None:
            errors: list[BaseException] = []
            for number, row in enumerate(rows):
                try:
                    test(**fixtures, **dict(zip(names, row, strict=True)))
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - all cases are tried
                    error.add_note(f"case {number}: {_name(number, row, ids)}")
                    errors.append(error)
            if errors:
                raise BaseExceptionGroup(f"{len(errors)} of {len(rows)} cases fail", errors)

        left = [parameter for name, parameter in signature.parameters.items() if name not in names]
        cast("Any", every).__signature__ = signature.replace(parameters=left)
        del every.__wrapped__  # pytest would ask the test itself for its arguments
        return every

    return over_all


def _name(number: int, row: Sequence[object], ids: Names | None) -> str:
    if ids is None:
        return ", ".join(repr(value) for value in row)
    return ", ".join(str(ids(value)) for value in row) if callable(ids) else ids[number]
