"""The secret with which a server seals its own values: random at each start, shared by its workers."""

from __future__ import annotations

import hmac
import secrets

SECRET_BYTES = 32


class _Secret:
    value = secrets.token_bytes(SECRET_BYTES)


def share_secret(value: bytes) -> None:
    """Set the secret that all workers share. Must be called before `secret_for`."""
    _Secret.value = value


def secret_for(purpose: str) -> bytes:
    """Derive a 32-byte key for one purpose."""
    return hmac.digest(_Secret.value, purpose.encode(), "sha256")
