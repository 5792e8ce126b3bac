"""Control of Python's garbage collector: disabled during a batch, and frozen for permanent objects."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def gc_disabled() -> Generator[None]:
    """Disable garbage collection for the duration of a `with` block.

    A batch creates some hundred objects per file and keeps the rows until its end. They contain no cycles, and scanning
    them repeatedly takes a tenth of the time.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def freeze_objects() -> None:
    """Exclude all current objects from garbage collection (`gc.freeze`) for the life of the process.

    Modules, schemas and tables stay anyway. Scanning them takes 50 ms and more, in the middle of a call.
    """
    gc.freeze()
