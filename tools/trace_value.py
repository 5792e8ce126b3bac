"""Traces a value through modules: runs a command and lists each function of the product that receives a word.

    .venv/bin/python tools/trace_value.py zebrawort search zebrawort -C ~/notes
    .venv/bin/python tools/trace_value.py zebrawort mcp ~/notes < messages.jsonl

The word should be one that nothing else contains. Standard error gets one line for the first call of each function that
receives the word in an argument. When the command ends, standard error gets the number of modules and of packages, and
the number of calls to a part above the caller's. These figures are given for all calls and for the walk. The walk ends
before the first write to disk or the first call of the index, and excludes the parser of documents. Calls of other
processes are not traced.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import groupby, takewhile
from pathlib import PurePath
from types import CodeType, FrameType
from typing import cast

from sources import ROOT

SOURCES = f"{ROOT / 'src' / 'commonplace'}/"
FLOORS = (
    ("domain",),
    ("store", "index", "embed"),
    ("services", "settings"),
    ("faces",),
    ("plugins", "background_sync"),
)
"""Parts from the bottom up, as in docs/ARCHITECTURE.md. Any other part is above all of them."""
ROOM_FLOORS = {
    "rules": 0,
    "remote": 1,
    "engines": 1,
    "foreign": 1,
    "service": 2,
    "mcp": 3,
    "rest": 3,
    "cli": 3,
    "web": 3,
}
"""The floor of each part of a toolset."""
WALK_ENDS = ("store/disk/durable.py", "index/")
"""Prefixes of the modules at which a walk ends: the first write to disk, and the index."""
PARSER = "domain/document_reader.py"
MAX_DEPTH = 3
"""Maximum depth of nested objects that are searched for the word."""
MAX_ITEMS = 50
"""Maximum size of a container that is searched."""


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a function that received the word."""

    module: str
    """Path below `src/commonplace`."""
    function: str
    caller: str
    """Path of the nearest caller in the product; "" if there is none."""
    parses: bool
    """Whether the function belongs to the parser of documents, or was called by it."""


@dataclass(slots=True)
class Trace:
    """The calls that received a word."""

    word: str
    steps: list[Step] = field(default_factory=list[Step])

    @property
    def walk(self) -> Sequence[Step]:
        """The calls up to the first write to disk or call of the index, without those of the parser."""
        before = takewhile(lambda step: not step.module.startswith(WALK_ENDS), self.steps)
        return [step for step in before if not step.parses]

    def on_event(self, frame: FrameType, event: str, _: object) -> None:
        """Record a call; a callback for `sys.setprofile`."""
        code = frame.f_code
        module = module_of(code)
        if event != "call" or not module or code.co_name.startswith("<"):
            return
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        given_values = [frame.f_locals.get(name) for name in names if name not in {"self", "cls"}]
        if any(contains(value, self.word) for value in given_values):
            callers = list(_callers_of(frame))
            step = Step(module, code.co_name, next(iter(callers), ""), PARSER in {module, *callers})
            if all((step.module, step.function) != (element.module, element.function) for element in self.steps):
                print(f"{step.module}: {step.function}", file=sys.stderr, flush=True)
            self.steps.append(step)

    def summary(self) -> str:
        """The figures for all calls, and for the walk."""
        return f"all: {figures(self.steps)}\nwalk: {figures(self.walk)}"


def figures(steps: Sequence[Step]) -> str:
    """The number of modules, packages and stays (runs of steps in one package), and of calls to a higher part.

    Args:
        steps: The steps in the order of the calls.
    """
    modules = dict.fromkeys(step.module for step in steps)
    packages = [str(PurePath(step.module).parent) for step in steps]
    stays = sum(1 for _ in groupby(packages))
    climbs = sum(1 for step in steps if step.caller and floor_of(step.module) > floor_of(step.caller))
    return f"{len(modules)} modules in {len(set(packages))} packages, {stays} stays; {climbs} calls upwards"


def module_of(code: CodeType) -> str:
    """Path of a function's module below `src/commonplace`; "" if it is not part of the product."""
    return code.co_filename.removeprefix(SOURCES) if code.co_filename.startswith(SOURCES) else ""


def floor_of(module: str) -> int:
    """The floor of a module, from 0 for the domain."""
    parts = PurePath(module).parts
    if parts[0] == "toolsets" and len(parts) > MAX_DEPTH - 1:
        return ROOM_FLOORS.get(PurePath(parts[2]).stem, len(FLOORS))
    top = PurePath(parts[0]).stem
    return next((number for number, names in enumerate(FLOORS) if top in names), len(FLOORS))


def contains(value: object, word: str, depth: int = 0) -> bool:
    """Whether a value is text with the word, or contains such text within `MAX_DEPTH` levels."""
    if isinstance(value, str):
        return word in value
    if isinstance(value, bytes | bytearray):
        return word.encode() in value
    if depth >= MAX_DEPTH:
        return False
    return any(contains(part, word, depth + 1) for part in _parts_of(value))


def _parts_of(value: object) -> list[object]:
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value)
        return list(pairs.values()) if len(pairs) <= MAX_ITEMS else []
    if isinstance(value, Sequence | AbstractSet):
        items = cast("Sequence[object] | AbstractSet[object]", value)
        return list(items) if len(items) <= MAX_ITEMS else []
    kind = type(value)
    if not kind.__module__.startswith("commonplace"):
        return []
    slots = [name for base in kind.__mro__ for name in getattr(base, "__slots__", ())]
    attributes: dict[str, object] = getattr(value, "__dict__", {})
    return [*(getattr(value, name, None) for name in slots), *attributes.values()]


def _callers_of(frame: FrameType) -> Iterator[str]:
    """The product modules in the call stack, nearest first."""
    back = frame.f_back
    while back is not None:
        if module := module_of(back.f_code):
            yield module
        back = back.f_back


def _stop(_: int, __: FrameType | None) -> None:
    sys.exit(0)


def main() -> int:
    """Run the command with the trace; return its exit code, or 2 if the arguments are incomplete."""
    if len(sys.argv) <= 2:  # noqa: PLR2004 - the word and a command
        print("usage: trace_value.py WORD COMMAND [ARGUMENT...]", file=sys.stderr)
        return 2
    from commonplace.main import main as run  # noqa: PLC0415 - imported here so that `contains` needs nothing

    trace = Trace(sys.argv[1])
    signal.signal(signal.SIGTERM, _stop)
    threading.setprofile(trace.on_event)
    sys.setprofile(trace.on_event)
    os._exit = sys.exit  # type: ignore[assignment]  # a server that does not wait for its threads ends here, too
    try:
        return run(sys.argv[2:])
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
        print(trace.summary(), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
