"""A server that the workers of a test session share: the first that needs it starts it and ends it after the last."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path


@contextmanager
def shared(place: Path, started: Callable[[], AbstractContextManager[str]]) -> Generator[str]:
    """The URL of a server that runs at least until the block ends.

    Args:
        place: Path of the files by which the workers agree; the same for all of them, in a folder of the session.
        started: Starts the server and gives its URL; ends it when its block ends.
    """
    address = place.with_suffix(".url")
    with ExitStack() as stack:
        users = stack.enter_context(place.with_suffix(".users").open("a"))
        with place.with_suffix(".lock").open("a") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            first = not address.exists()
            if first:
                address.write_text(stack.enter_context(started()), encoding="utf-8")
            fcntl.flock(users, fcntl.LOCK_SH)
        try:
            yield address.read_text(encoding="utf-8")
        finally:
            fcntl.flock(users, fcntl.LOCK_UN)
            if first:
                with place.with_suffix(".lock").open("a") as turn:
                    fcntl.flock(turn, fcntl.LOCK_EX)
                    fcntl.flock(users, fcntl.LOCK_EX)  # until the others have ended
                    address.unlink()
