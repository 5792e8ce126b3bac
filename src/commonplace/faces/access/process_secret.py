"""The secret of a server, by which it knows what it has sealed itself: new at each start, shared by its workers."""

from __future__ import annotations

import hmac
import secrets

SECRET_BYTES = 32


class _Secret:
    value = secrets.token_bytes(SECRET_BYTES)


def share_secret(value: bytes) -> None:
    """Use the secret of all workers. Called before anything is sealed."""
    _Secret.value = value


def secret_for(purpose: str) -> bytes:
    """A key of 32 bytes for one purpose."""
    return hmac.digest(_Secret.value, purpose.encode(), "sha256")
