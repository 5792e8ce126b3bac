"""Values that are accepted once: numbers of signed calls, states of sign-ins, and sessions that were signed out.

They are empty files named by a digest, so that all processes of a machine share them, also after a restart.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import time
from contextlib import suppress
from pathlib import Path

from commonplace.domain.errors import StorageError

FOLDER = "used"
_SWEEP_SECONDS = 60.0
"""Minimum interval in seconds between two removals of expired values."""


class UsedOnce:
    """A set of values that expire.

    Args:
        state_dir: The folder of this machine's state.
    """

    def __init__(self, state_dir: Path) -> None:
        self._folder = state_dir / FOLDER
        self._swept = 0.0

    def take(self, purpose: str, value: str, until: float) -> bool:
        """Add a value. Returns False if it was there already.

        Args:
            purpose: What the value is for; values of different purposes are different.
            value: The value. It is not stored, only its digest.
            until: Time in Unix seconds from which on the value may be forgotten.

        Raises:
            StorageError: the folder cannot be written.
        """
        self._sweep()
        path = self._path(purpose, value)
        try:
            with suppress(FileExistsError):
                self._folder.mkdir(mode=0o700, parents=True)
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
            os.utime(path, (until, until), follow_symlinks=False)
        except FileExistsError:
            return False
        except OSError as error:
            raise StorageError(
                "What was used once cannot be recorded.", kind="state", hint="Make state_dir writable."
            ) from error
        return True

    def has(self, purpose: str, value: str) -> bool:
        """Whether a value was added and has not expired."""
        try:
            return self._path(purpose, value).lstat().st_mtime > time.time()
        except OSError:
            return False

    def _path(self, purpose: str, value: str) -> Path:
        return self._folder / hashlib.sha256(f"{purpose}\n{value}".encode("utf-8", "surrogatepass")).hexdigest()

    def _sweep(self) -> None:
        now = time.time()
        if now - self._swept < _SWEEP_SECONDS:
            return
        self._swept = now
        with suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                # A new file has the time of its creation until `take` sets its own.
                if entry.stat(follow_symlinks=False).st_mtime < now - _SWEEP_SECONDS:
                    Path(entry.path).unlink()


# The secret with which a server seals its own values: random at each start, shared by its workers.


SECRET_BYTES = 32


class _Secret:
    value = secrets.token_bytes(SECRET_BYTES)


def share_secret(value: bytes) -> None:
    """Set the secret that all workers share. Must be called before `secret_for`."""
    _Secret.value = value


def secret_for(purpose: str) -> bytes:
    """Derive a 32-byte key for one purpose."""
    return hmac.digest(_Secret.value, purpose.encode(), "sha256")
