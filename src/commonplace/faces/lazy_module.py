"""Loading late and quickly: a server answers before it loads what its first answer does not need.

A table of functions names them through what stands for their module, which their first call loads:

    if TYPE_CHECKING:
        from commonplace.services import history
    else:
        history = Late("commonplace.services.history")
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from importlib import import_module

STARTUP_GC_THRESHOLD = 200_000
"""Objects that are made between two looks for garbage while modules load: more than a start makes."""

_default_thresholds = gc.get_threshold()
_named: list[str] = []


class LazyModule:
    """Stands for a module: its functions can be named and passed on; the first call of one loads the module.

    Args:
        module: Its full name.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        _named.append(module)

    def __getattr__(self, name: str) -> Callable[..., object]:
        return partial(_call, self._module, name)


def relax_gc() -> None:
    """Collect garbage rarely while modules load: their objects stay, and collecting costs a tenth of the start."""
    gc.set_threshold(STARTUP_GC_THRESHOLD)


def load_lazy_modules() -> None:
    """Load every lazy module, exclude all objects from garbage collection, and restore the default thresholds."""
    for module in tuple(_named):
        import_module(module)
    gc.freeze()
    gc.set_threshold(*_default_thresholds)


def _call(module: str, name: str, *arguments: object, **named: object) -> object:
    function: Callable[..., object] = getattr(import_module(module), name)
    return function(*arguments, **named)
