"""Whatever the methods of plugins return, nothing fails but what is wrong, and that is named."""

from __future__ import annotations

import itertools
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import pytest

from cases import each_case
from commonplace.domain.errors import InvalidInputError
from commonplace.plugins.loader import HOOKS, Faults, Plugin, Plugins
from commonplace.plugins.service_extensions import HOOK_POINTS, extensions_of
from commonplace.plugins.toolset_extension import with_plugins
from commonplace.plugins.values import StartBudget
from commonplace.services.collections import Collections
from commonplace.toolsets.kb.mcp import KB

ENTRY = {"id": "a", "kb_name": "base", "entry_type": "note", "title": "A", "tags": list[str](), "body": "b"}


class Failing(Mapping[str, object]):
    """A mapping that cannot be walked through."""

    def __getitem__(self, key: str) -> object:
        raise RuntimeError(key)

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("no keys")

    def __len__(self) -> int:
        return 1


class UnprintableError(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


def endless() -> Iterator[int]:
    yield from itertools.count()


def recursive() -> dict[str, object]:
    held: dict[str, object] = {}
    held["x"] = held
    return held


def raising() -> object:
    raise UnprintableError


VALUES: dict[str, Callable[[], object]] = {
    "a number": lambda: 5,
    "text": lambda: "text",
    "bytes": lambda: b"bytes",
    "a class": lambda: Failing,
    "an object": object,
    "a function": lambda: len,
    "a list of numbers": lambda: [1, 2],
    "an endless generator": endless,
    "numbers as keys": lambda: {1: 2},
    "a number as item": lambda: {"x": 5},
    "a list as item": lambda: {"x": [object()]},
    "an item of bytes": lambda: {"x": {"y": b"z"}},
    "itself as item": recursive,
    "a number of 5,000 digits": lambda: {"x": {"y": 10**5000}},
    "a mapping that fails": Failing,
    "an error": raising,
    "an exit": lambda: sys.exit(3),
}
"""Seventeen values that no method should return."""


def plugin(**methods: object) -> Plugins:
    """The plugins of a process with one, which has these attributes."""
    faults = Faults()
    made = type("Odd", (), {"name": "odd", **methods})()
    return Plugins((Plugin("odd", made, faults, StartBudget()),), faults)


def use(plugins: Plugins) -> None:
    """Ask for everything that a server and the command line ask for, and call all that was given."""
    extensions = extensions_of(plugins, {}, lambda: Collections(tuple))
    with_plugins(KB, plugins)
    plugins.commands()
    for moment in HOOK_POINTS:
        extensions.run_hooks(moment, ENTRY)
    extensions.violations("note", ENTRY, "base")
    extensions.supplement("base", "generic")
    plugins.finish()


FINE = {("set_context", value) for value in VALUES} | {("get_orient_supplement", "a number as item")}
FINE -= {("set_context", value) for value in ("an error", "an exit")}
FINE |= {
    ("get_relationship_types", value) for value in ("an item of bytes", "itself as item", "a number of 5,000 digits")
}
"""Cases in which the value is valid."""


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("hook", HOOKS)
def test_what_a_method_should_not_return_is_left_out_and_named(
    hook: str, value: str, caplog: pytest.LogCaptureFixture
) -> None:
    plugins = plugin(**{hook: lambda *_: VALUES[value]()})
    with caplog.at_level(logging.WARNING):
        use(plugins)
        use(plugins)
    faults = plugins.faults.all
    assert {(fault.plugin, fault.hook) for fault in faults} == (set() if (hook, value) in FINE else {("odd", hook)})
    said = [record.getMessage() for record in caplog.records if record.name == "commonplace.plugins.loader"]
    assert said == [f"plugin odd: {fault}" for fault in faults], "each is said once"


@each_case("value", VALUES)
@each_case("hook", HOOKS)
def test_a_method_that_is_none_is_named(hook: str, value: str) -> None:
    if value in {"a class", "a function", "an error", "an exit"}:
        return
    plugins = plugin(**{hook: VALUES[value]()})
    use(plugins)
    if hook != "get_orient_supplement":  # it is not there, then
        assert [fault.hook for fault in plugins.faults.all] == [hook]
        assert "expected a method" in plugins.faults.all[0].message


@each_case("value", VALUES)
def test_a_validator_that_gives_what_it_should_not_judges_nothing(value: str) -> None:
    plugins = plugin(get_validators=lambda *_: [lambda *_: VALUES[value]()])
    use(plugins)
    assert {fault.hook for fault in plugins.faults.all} == {"get_validators"}


@pytest.mark.parametrize("moment", HOOK_POINTS)
@pytest.mark.parametrize("value", VALUES)
def test_a_hook_that_returns_anything_refuses_nothing_and_one_that_raises_only_before_a_write(
    moment: str, value: str
) -> None:
    plugins = plugin(get_hooks=lambda *_: {moment: [lambda *_: VALUES[value]()]})
    raises = value in {"an error", "an exit"}
    if raises and moment.startswith("before_") and moment != "before_index":
        with pytest.raises(InvalidInputError, match="The plugin odd refused this"):
            use(plugins)
        return
    use(plugins)
    assert [fault.hook for fault in plugins.faults.all] == ([moment] if raises else [])


WRONG_HOOKS: dict[str, object] = {
    "a number": 5,
    "nothing": None,
    "text": "hook",
    "a class": Failing,
    "of no arguments": lambda: None,
    "of three arguments": lambda _entry, _context, _more: None,
    "by name": lambda *, entry, context: (entry, context),
}


@pytest.mark.parametrize("kind", WRONG_HOOKS)
def test_a_hook_or_validator_that_cannot_be_called_so_is_left_out(kind: str) -> None:
    for offers in ({"get_hooks": {"before_save": [WRONG_HOOKS[kind]]}}, {"get_validators": [WRONG_HOOKS[kind]]}):
        ((hook, value),) = cast("dict[str, Any]", offers).items()
        if (hook, kind) == ("get_validators", "of three arguments"):
            continue
        plugins = plugin(**{hook: lambda _self, value=value: value})
        use(plugins)
        (fault,) = plugins.faults.all
        assert fault.hook == hook
        assert "expected a function" in fault.message


def test_what_is_right_beside_what_is_wrong_is_used() -> None:
    plugins = plugin(
        get_entry_types=lambda _: {"zettel": {"description": "A slip"}, "odd": 5, 7: {}},
        get_relationship_types=lambda _: {"elaborates": "elaborated_by", "odd": None},
        get_hooks=lambda _: {"after_save": [5, lambda _entry, _context: None], "no": []},
    )
    extensions = extensions_of(plugins, {}, lambda: Collections(tuple))
    assert list(extensions.types) == ["zettel"]
    assert extensions.relations == (("elaborates", "elaborated_by"),)
    assert len(extensions.hooks["after_save"]) == 1
    assert (
        "\n".join(fault.message for fault in plugins.faults.all)
        == """\
the name of an item is a value of type int; expected a text of 1 to 200 characters that can be shown
the type 'odd' is a value of type int; expected a dict as in kb.yaml, a class or an object
the inverse of the relation 'odd' is None; expected a text
one item is a value of type int; expected a function hook(entry, context) for after_save
there is no moment 'no'; expected one of before_save, after_save, before_delete, after_delete, before_index"""
    )
