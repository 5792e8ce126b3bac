"""Finds out, when a tool is loaded, whether its handler needs more of the older server than plugins are given.

The handler's code is read, never run: the functions and methods of its own package that it names are followed.
"""

from __future__ import annotations

import dis
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from types import CodeType, FunctionType, MethodType
from typing import cast

from commonplace.plugins.open_index import TABLES, OpenIndex

MAX_FUNCTIONS = 200
"""Maximum number of functions that are followed for one tool."""
_WRITES = re.compile(
    r"\b(?:(?:INSERT|REPLACE)\b.*\bINTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|(?:CREATE|DROP|ALTER)\s+TABLE)\b"
)
_SELECT = re.compile(r"\bSELECT\b.*\bFROM\b", re.DOTALL)
_TABLE = re.compile(r"\b(?:FROM|JOIN)\s+(\w+)", re.IGNORECASE)
_OWN_WRITERS = ("pyrite.services.kb_service", "pyrite.storage.repository", "pyrite.storage.index")
"""Modules of the older server that write files of their own accord."""


def missing_for(handler: object) -> str:
    """The first thing that a tool needs and is not given; "" if none is seen."""
    for code in _codes(handler):
        for need in _needs(code):
            return need
    return ""


def _codes(handler: object) -> Iterator[CodeType]:
    """The code of a handler and of what it names in its own package, each once."""
    waiting, seen = [handler], set[CodeType]()
    while waiting and len(seen) < MAX_FUNCTIONS:
        function, owner = _function(waiting.pop())
        if function is None or function.__code__ in seen:
            continue
        seen.add(function.__code__)
        package = function.__module__.partition(".")[0]
        for code in _nested(function.__code__):
            yield code
            named = [getattr(type(owner), name, None) for name in code.co_names] if owner is not None else []
            found = [function.__globals__.get(name) for name in code.co_names]
            waiting += [MethodType(one, owner) for one in named if isinstance(one, FunctionType)]
            waiting += [one for one in found if isinstance(one, FunctionType) and _is_in(one, package)]
            waiting += _imported(code, function)


def _is_in(function: Callable[..., object], package: str) -> bool:
    return function.__module__.partition(".")[0] == package


def _imported(code: CodeType, function: FunctionType) -> Iterator[object]:
    """Functions of the same package that a function imports when it runs, if their modules are loaded."""
    package = function.__module__.rpartition(".")[0]
    for module, names in _imports(code):
        loaded = sys.modules.get(f"{package}{module}" if module.startswith(".") else module)
        if loaded is not None and module.startswith("."):
            yield from (getattr(loaded, name, None) for name in names)


def _imports(code: CodeType) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The modules that a function imports, with the names; those of its own package begin with a dot."""
    steps = list(dis.get_instructions(code))
    for place, step in enumerate(steps):
        if step.opname != "IMPORT_NAME":
            continue
        level, names = steps[place - 2].argval, steps[place - 1].argval
        dot = "." if isinstance(level, int) and level else ""
        yield f"{dot}{step.argval}", cast("tuple[str, ...]", names) if isinstance(names, tuple) else ()


def _needs(code: CodeType) -> Iterator[str]:
    for text in (one for one in code.co_consts if isinstance(one, str)):
        if _WRITES.search(text):
            yield "it writes to tables of the older server"
        if _SELECT.search(text):
            yield from (f"it reads the table {name}" for name in _TABLE.findall(text) if name.lower() not in TABLES)
    for module, _ in _imports(code):
        if module in _OWN_WRITERS:
            yield f"it writes files by {module}"
    steps = list(dis.get_instructions(code))
    for before, step in pairwise(steps):
        asked = step.opname in {"LOAD_ATTR", "LOAD_METHOD"} and before.opname.startswith("LOAD_FAST")
        if asked and before.argval == "db" and not hasattr(OpenIndex, str(step.argval)) and step.argval != "close":
            yield f"it uses db.{step.argval}"


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def _function(value: object) -> tuple[FunctionType | None, object]:
    """The function that a handler calls, and the object that it belongs to."""
    while isinstance(value, partial):
        value = value.func
    if isinstance(value, MethodType):
        return (value.__func__, value.__self__) if isinstance(value.__func__, FunctionType) else (None, None)
    return (value, None) if isinstance(value, FunctionType) else (None, None)
