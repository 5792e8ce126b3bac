"""Faults of plugins: each is logged once, and `doctor` lists all of them."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from commonplace.domain.errors import KnowledgeError, Stopped
from commonplace.faces.mcp.peers import NULL_CLIENT, InputNeeded, Peer
from commonplace.plugins import entry_points
from commonplace.plugins.values import (
    HOOK_SECONDS,
    LOAD_SECONDS,
    START_SECONDS,
    TOOL_SECONDS,
    DeliveryQueue,
    FaultSink,
    OverdueError,
    StartBudget,
    WrongValueError,
    call_with_client,
    call_with_timeout,
    error_summary,
    fitting,
    is_name,
    items,
    kind_of,
    named,
    outcome_of,
    shown,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from commonplace.faces.mcp.toolset import Call


log = logging.getLogger(__name__)

FAULTS_FILE = "plugin-faults.json"
"""File name in the state folder. Servers record faults there, so that `doctor`, another process, can list them."""
MAX_PER_PLUGIN = 50
"""Maximum number of faults per plugin that are stored and logged."""
RETENTION_SECONDS = 7 * 86_400.0
"""Seconds for which the file stores a fault that does not recur."""
MAX_STORED_FAULTS = 500
"""Maximum number of faults in the file."""
MAX_TEXT_CHARS = 300
"""Maximum length of a message in characters."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a plugin."""

    plugin: str
    hook: str
    """Name of the method concerned; "" if the fault concerns the whole plugin."""
    message: str
    """The invalid value or error, and the valid values."""

    def __str__(self) -> str:
        return f"{self.hook}: {self.message}" if self.hook else self.message


class Faults:
    """The faults of this process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[Fault, None] = {}
        self._folder: Path | None = None
        self.stamps: dict[str, str] = {}
        """A stamp for each plugin, which changes with the plugin's code."""

    def note(self, plugin: str, hook: str, message: str, *, in_call: bool = False) -> None:
        """Record and log a fault unless it has been recorded already.

        Args:
            plugin: Name of the plugin.
            hook: The method concerned, or the function that it returned.
            message: The invalid value or error, and the valid values.
            in_call: Whether the fault occurred in a call, so that loading the plugin does not reproduce it.
        """
        fault = Fault(plugin, hook, message[:MAX_TEXT_CHARS])
        with self._lock:
            if fault in self._known or sum(element.plugin == plugin for element in self._known) >= MAX_PER_PLUGIN:
                return
            self._known[fault] = None
        log.warning("plugin %s: %s", plugin, fault)
        if in_call and self._folder:
            _keep(self._folder, fault, self.stamps.get(plugin, ""))

    @property
    def all(self) -> tuple[Fault, ...]:
        """All faults, in the order in which they were recorded."""
        with self._lock:
            return tuple(self._known)

    def store_in(self, folder: Path) -> None:
        """Write every later fault of a call to a file in this folder, for `stored_in`."""
        self._folder = folder

    def stored_in(self, folder: Path) -> list[Fault]:
        """Recent faults of calls in any process, if the plugin's code is unchanged."""
        rows = _read(folder / FAULTS_FILE).items()
        return [fault for fault, (stamp, _) in rows if self.stamps.get(fault.plugin) == stamp]


_KEEPING = threading.Lock()


def _keep(folder: Path, fault: Fault, stamp: str) -> None:
    """Add a fault to the file. If it cannot be written, the fault is still in the log."""
    file = folder / FAULTS_FILE
    with _KEEPING, suppress(OSError):
        rest = _read(file) | {fault: (stamp, time.time())}
        rows = [
            {**asdict(fault), "stamp": of, "met": met} for fault, (of, met) in list(rest.items())[-MAX_STORED_FAULTS:]
        ]
        folder.mkdir(parents=True, exist_ok=True)
        beside = folder / f".{FAULTS_FILE}.{os.getpid()}"
        beside.write_text(json.dumps(rows), encoding="utf-8")
        beside.replace(file)


def _read(file: Path) -> dict[Fault, tuple[str, float]]:
    """The recent faults, each with its plugin's stamp and its time."""
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    stamps: dict[Fault, tuple[str, float]] = {}
    for row in cast("list[object]", rows) if isinstance(rows, list) else []:
        values = cast("dict[str, object]", row) if isinstance(row, dict) else {}
        texts = [values.get(name) for name in ("plugin", "hook", "message", "stamp")]
        met = values.get("met")
        if (
            all(isinstance(text, str) for text in texts)
            and isinstance(met, float)
            and met > time.time() - RETENTION_SECONDS
        ):
            plugin, hook, message, stamp = cast("list[str]", texts)
            stamps[Fault(plugin, hook, message)] = (stamp, met)
    return stamps


# Finds and loads plugins. A failing plugin is skipped, and the reason is recorded.
#
# Every start imports this module. The plugins' additions are collected in `service_extensions` and
# `toolset_extension`.


T = TypeVar("T")


NO_OTHER = "until it does, no other is made"
CLI_EXPECTED = "a dict of names and functions, or a list of pairs of these"


class Plugin:
    """A loaded plugin. All calls of its code go through this class.

    Args:
        name: The plugin's name.
        made: The plugin object, created by its entry point.
        faults: Records the plugin's faults.
        patience: Remaining time that a start waits for plugins.
    """

    def __init__(self, name: str, made: object, faults: Faults, patience: StartBudget) -> None:
        self.name = name
        self._made = made
        self._faults = faults
        self._patience = patience
        self._lock = threading.Lock()
        self._overdue: Counter[str] = Counter()
        self._deliveries = DeliveryQueue()

    def fault(self, hook: str, message: str, *, in_call: bool = False) -> None:
        """Record a fault of a method's result or of a call."""
        self._faults.note(self.name, hook, message, in_call=in_call)

    def hook_result(self, hook: str, check: Callable[[object, FaultSink], T], nothing: T, *arguments: object) -> T:
        """The checked result of a method; `nothing` if there is no such method, or if it fails or is invalid.

        Args:
            hook: Name of the method.
            check: Checks the result, and reports skipped items; raises `WrongValueError`.
            nothing: The default result.
            arguments: Arguments of the method.
        """

        def hook_result() -> T:
            method = getattr(self._made, hook, None)
            if method is None:
                return nothing
            if not callable(method):
                raise WrongValueError(f"it is {kind_of(method)}; expected a method")
            result = method(*fitting(method, arguments))
            return nothing if result is None else check(result, partial(self.fault, hook))

        seconds = self._patience.of(START_SECONDS)
        outcome = self.called(hook, hook_result, seconds)
        if outcome is None:
            self._patience.count_timeout(seconds)
            return nothing
        error = outcome.exception()
        if error is None:
            return outcome.result()
        self.fault(hook, _wrong_return(error))
        return nothing

    def failed(self, hook: str, what: str, error: BaseException) -> None:
        """Record the fault of a call that failed or returned an invalid value.

        Args:
            hook: The method concerned.
            what: The function that was called.
            error: The exception of the call.
        """
        gave = f"gave {error}" if isinstance(error, WrongValueError) else f"failed: {error_summary(error)}"
        self.fault(hook, f"{what} {gave}", in_call=True)

    def has(self, hook: str) -> bool:
        """Whether the plugin has a method."""
        outcome = self.called(hook, lambda: callable(getattr(self._made, hook, None)), START_SECONDS)
        return outcome is not None and not outcome.exception() and outcome.result()

    def called(self, hook: str, function: Callable[[], T], seconds: float = HOOK_SECONDS) -> Future[T] | None:
        """The result or exception of a call; None if it times out, or if an earlier call has not returned yet."""
        if self._overdue[hook]:
            return None
        try:
            return call_with_timeout(function, seconds)
        except OverdueError as error:
            self._late(hook, error.call, seconds)
            return None

    def serve(
        self, hook: str, answer: Callable[[Peer], T], call: Call | None = None, seconds: float = TOOL_SECONDS
    ) -> T:
        """The answer of a plugin to a client, such as that of a tool.

        Args:
            hook: The function concerned.
            answer: Returns the answer; it may use the client.
            call: The call; None outside of calls.
            seconds: Timeout of the answer.

        Raises:
            KnowledgeError: the call timed out, failed, ended the thread, or returned an invalid value. The message
                names the plugin and the type of its error.
            Stopped: the client has disconnected.
        """
        if self._overdue[hook]:
            raise KnowledgeError(
                f"The plugin {self.name} is busy with an earlier call.", kind="plugin", hint="See `commonplace doctor`."
            )
        peer, go_on = (call.peer, call.go_on) if call else (NULL_CLIENT, lambda: None)
        try:
            outcome = call_with_client(answer, peer, seconds, go_on)
        except OverdueError as error:
            self._left(hook, error.call)
            if error.stopped:
                raise error.stopped from error
            self.fault(hook, f"a call did not return within {seconds:g} s; {NO_OTHER}", in_call=True)
            raise KnowledgeError(
                f"The plugin {self.name} did not answer in time.", kind="plugin", hint="See `commonplace doctor`."
            ) from error
        error = outcome.exception()
        if error is None:
            return outcome.result()
        if isinstance(error, (InputNeeded, Stopped, KnowledgeError)):
            raise error
        self.fault(hook, _wrong_return(error), in_call=True)
        if not isinstance(error, WrongValueError):
            log.error("plugin %s: %s failed", self.name, hook, exc_info=error)
        said = str(error) if isinstance(error, WrongValueError) else type(error).__name__  # not the plugin's own text
        raise KnowledgeError(
            f"The plugin {self.name} gave no answer: {said}.", kind="plugin", hint="See `commonplace doctor`."
        ) from error

    def deliver(self, hook: str, function: Callable[[], object], seconds: float) -> None:
        """Call a function after a write, after all earlier such calls; its exception becomes a fault.

        Args:
            hook: The hook point.
            function: The function.
            seconds: Seconds to wait for the call, which continues in any case.
        """

        def noted() -> None:
            error = outcome_of(function).exception()
            if error is not None:
                self.fault(hook, f"a call failed: {error_summary(error)}", in_call=True)

        if self._deliveries.overdue:
            late = f"a call did not return within {HOOK_SECONDS:g} s; later ones wait for it"
            self.fault(hook, late, in_call=True)
        if self._deliveries.deliver(noted, seconds) is None:
            self.fault(hook, "too many calls wait for an earlier one; this one is left out", in_call=True)

    def finish(self, seconds: float = HOOK_SECONDS) -> None:
        """Wait at most `seconds` until all calls after writes have ended."""
        self._deliveries.finish(seconds)

    def _late(self, hook: str, outcome: Future[Any], seconds: float) -> None:
        self._left(hook, outcome)
        if hook in HOOKS:
            self.fault(hook, f"did not return within {seconds:g} s; what it offers is left out")
        else:
            self.fault(hook, f"a call did not return within {seconds:g} s; {NO_OTHER}", in_call=True)

    def _left(self, hook: str, outcome: Future[Any]) -> None:
        """Refuse further calls of this function until the pending one has returned."""
        with self._lock:
            self._overdue[hook] += 1
        outcome.add_done_callback(lambda _: self._returned(hook))

    def _returned(self, hook: str) -> None:
        with self._lock:
            self._overdue[hook] -= 1


class ResourceChanges:
    """Forwards change notifications of the plugins' resources."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[str], None]] = []

    def listen(self, listener: Callable[[str], None]) -> None:
        """Register a listener for changed resources, called with their URIs. The listener must not raise."""
        self._listeners.append(listener)

    def notify(self, uri: str) -> None:
        """Notify the listeners of a changed resource."""
        for listener in tuple(self._listeners):
            listener(uri)


@dataclass(frozen=True, slots=True)
class Plugins:
    """The plugins of this process."""

    loaded: tuple[Plugin, ...] = ()
    faults: Faults = field(default_factory=Faults)
    changes: ResourceChanges = field(default_factory=ResourceChanges)

    def commands(self) -> dict[str, tuple[Plugin, Callable[..., object]]]:
        """The subcommands that plugins add. If two have the same name, the first is used."""
        added: dict[str, tuple[Plugin, Callable[..., object]]] = {}
        for plugin in self.loaded:
            for name, function in plugin.hook_result("get_cli_commands", _commands, []):
                added.setdefault(name, (plugin, function))
        return added

    def finish(self) -> None:
        """Wait for a limited time until every plugin has processed the last writes."""
        for plugin in self.loaded:
            plugin.finish()


@cache
def installed_plugins() -> Plugins:
    """The plugins of installed packages, loaded once per process."""
    return load_plugins()


def load_plugins() -> Plugins:
    """Load the plugins of all installed packages. If two have the same name, the first is used."""
    loaded: dict[str, Plugin] = {}
    faults, patience = Faults(), StartBudget()
    points = (point for group in GROUPS for point in entry_points.installed(group))
    for point, value in load_points(points, faults, patience, "plugin"):
        name = getattr(value, "name", None)
        if not isinstance(name, str) or not is_name(name):
            faults.note(
                point.name,
                "",
                f"The plugin is not used: its name is {shown(name)}; expected a class with a text as `name`",
            )
        elif name in loaded:
            faults.note(point.name, "", f"The plugin is not used: another plugin is named {name!r}")
        else:
            loaded[name] = Plugin(name, value, faults, patience)
            faults.stamps[name] = _stamp(point)
    return Plugins(tuple(loaded.values()), faults)


def load_points(
    points: Iterable[EntryPoint], faults: Faults, patience: StartBudget, noun: str
) -> Iterator[tuple[EntryPoint, object]]:
    """The objects that entry points name; of a class, an instance.

    Args:
        points: Entry points of other packages.
        faults: Where one is noted that cannot be loaded, or not in time.
        patience: The time that is left for all of them.
        noun: What they name.
    """
    for point in points:
        seconds = patience.of(LOAD_SECONDS)
        try:
            yield point, _made(point, seconds)
        except OverdueError:
            patience.count_timeout(seconds)
            faults.note(point.name, "", f"The {noun} is not used: it was not loaded within {seconds:g} s")
        except WrongValueError as error:
            faults.note(point.name, "", f"The {noun} is not used: {error}")


def _made(point: EntryPoint, seconds: float) -> object:
    """The object of an entry point.

    Raises:
        WrongValueError: loading fails.
        OverdueError: loading timed out.
    """

    def make() -> object:
        loaded = point.load()
        return loaded() if isinstance(loaded, type) else loaded

    outcome = call_with_timeout(make, seconds)
    error = outcome.exception()
    if error is not None:
        raise WrongValueError(error_summary(error)) from error
    return outcome.result()


def _stamp(point: EntryPoint) -> str:
    """A text that changes with a plugin's code."""
    version = point.dist.version if point.dist else ""
    file = getattr(sys.modules.get(point.module), "__file__", None)
    try:
        return f"{version} {Path(file).stat().st_mtime_ns}" if isinstance(file, str) else version
    except (OSError, ValueError):
        return version


def _commands(value: object, tell: FaultSink) -> list[tuple[str, Callable[..., object]]]:
    commands: list[tuple[str, Callable[..., object]]] = []
    for name, function in _named_or_paired(value, tell):
        if callable(function) and not isinstance(function, type):
            commands.append((name, function))
        else:
            tell(f"{name!r} is {kind_of(function)}; expected a function")
    return commands


def _named_or_paired(value: object, tell: FaultSink) -> list[tuple[str, object]]:
    if isinstance(value, (list, tuple)):
        rows = items(cast("object", value), CLI_EXPECTED)
        value = dict(_pair(row) for row in rows)
    return named(value, CLI_EXPECTED, tell)


def _pair(row: object) -> tuple[object, object]:
    parts = items(row, CLI_EXPECTED)
    if len(parts) != len(("name", "function")):
        raise WrongValueError(f"one item has {len(parts)} parts; expected {CLI_EXPECTED}")
    return parts[0], parts[1]


def _wrong_return(error: BaseException) -> str:
    return f"returned {error}" if isinstance(error, WrongValueError) else f"failed: {error_summary(error)}"


# The interface of a plugin's class. Only `name` is required; every other attribute is optional.


GROUPS = ("commonplace.plugins", "pyrite.plugins")
"""Entry-point groups; the older one is last."""

HOOKS = (
    "get_mcp_tools",
    "get_mcp_prompts",
    "get_mcp_resources",
    "get_entry_types",
    "get_relationship_types",
    "get_validators",
    "get_hooks",
    "get_kb_presets",
    "get_orient_supplement",
    "get_cli_commands",
    "set_context",
)
"""Names of a plugin's methods. What a method returns is checked: an invalid item is skipped, logged once and listed by
`commonplace doctor`.

- `get_mcp_tools(tier)` returns `{name: {"description", "inputSchema", "handler"}}`; a tool belongs to the lowest tier
  that returns it, and `handler(arguments)` returns an object. In place of `handler` a tool may have
  `converse(arguments, client)`, which returns text or a list of content blocks in the protocol's form. Its `client` is
  a `Peer`, which can request input and report progress. In the newer era a request for input ends the call, and
  `converse` is called again with the client's answers.
- `get_mcp_prompts()` returns `{name: {"description", "arguments"?, "render"}}` with arguments such as
  `[{"name", "description"?, "required"?}]`; `render(arguments, client)` returns text or a list of
  `{"role", "content": block}`.
- `get_mcp_resources()` returns `{uri: {"name", "description"?, "mimeType"?, "read"}}`; a `{variable}` in the URI
  matches one part of it, and `read(variables)` returns text or bytes.
- `get_entry_types()` returns `{name: type}` with types as in `kb.yaml`, or classes or objects. Their fields are read
  from dataclass fields, annotations, plain attributes or an attribute `fields`: type, default, whether it is required,
  and the options of a `Literal` or an `Enum`.
- `get_relationship_types()` returns `{relation: inverse}` (or `{relation: {"inverse": ...}}`).
- `get_validators()` returns functions `(entry_type, data, context)` that return
  `[{"field", "rule", "expected", "got", "severity"?}]`.
- `get_hooks()` returns `{"before_save" | "after_save" | "before_delete" | "after_delete" | "before_index": [hook]}`
  with `hook(entry, context)`, where `entry` is a copy whose fields are items and attributes. An exception of a hook
  before a save or a deletion prevents the write; a hook that does not return within 5 seconds is skipped.
  `before_index` is called when an entry that was written here is durable and not yet searchable. Exceptions of hooks
  after a write are logged. These hooks run one after the other in a thread of the plugin, and the write waits for them
  at most 100 milliseconds.
- `get_kb_presets()` returns `{name: kb.yaml as an object}`; `kb_manage` with `set_schema` starts from one that its
  schema names as `{"preset": name}`.
- `get_orient_supplement(kb_name, kb_type)` returns an object that `kb_orient` includes.
- `get_cli_commands()` returns `{name: function}` or a list of such pairs, each a subcommand of `commonplace`. The
  function's parameters are its arguments and options, and its result is the exit code. A `typer.Typer` in place of a
  function is a subcommand with its own commands. The product's own commands cannot be replaced.
- `set_context(context)` is called with a `PluginContext`.
"""
