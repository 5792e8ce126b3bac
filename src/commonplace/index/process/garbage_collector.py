"""Python's collector of reference cycles: held still while an index takes in a batch, and spared what stays."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def gc_disabled() -> Generator[None]:
    """Collect no cycles for the length of a `with` block.

    A batch makes some hundred objects for every file and keeps the rows of all of them until its end. None of them
    refers to another that refers back, and to look through them again and again takes a tenth of the time.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def freeze_objects() -> None:
    """Let the collector look through nothing of what there is now, for as long as the process runs.

    Modules, schemas and tables stay anyway. To look through all of them takes 50 ms and more, in the middle of a call.
    """
    gc.freeze()
