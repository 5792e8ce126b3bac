"""Lazy imports: a server answers its first request before it imports modules that the answer does not need.

A table of functions refers to a `LazyModule`, which imports the actual module when one of its functions is called:

    if TYPE_CHECKING:
        from commonplace.services import history
    else:
        history = LazyModule("commonplace.services.history")
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from importlib import import_module

from commonplace.domain.foreground import foreground, give_way

STARTUP_GC_THRESHOLD = 200_000
"""Garbage collection threshold while modules load: above the number of objects that a start allocates."""

_default_thresholds = gc.get_threshold()
_named: list[str] = []


class LazyModule:
    """A placeholder for a module. Its functions can be named and passed on; the first call loads the module.

    Args:
        module: The module's full name.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        _named.append(module)

    def __getattr__(self, name: str) -> Callable[..., object]:
        return partial(_call, self._module, name)


def relax_gc() -> None:
    """Collect garbage rarely while modules load.

    Their objects are permanent; collecting takes a tenth of the start time.
    """
    gc.set_threshold(STARTUP_GC_THRESHOLD)


def load_lazy_modules() -> None:
    """Load every lazy module, exclude all objects from garbage collection, and restore the default thresholds."""
    for module in tuple(_named):
        give_way()
        import_module(module)
    gc.freeze()
    gc.set_threshold(*_default_thresholds)


def _call(module: str, name: str, *arguments: object, **named: object) -> object:
    with foreground():  # no more than the import: a call may wait for work in the background
        function: Callable[..., object] = getattr(import_module(module), name)
    return function(*arguments, **named)
