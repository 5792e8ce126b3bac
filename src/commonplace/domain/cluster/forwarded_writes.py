"""The route for writes forwarded from another server, and the signature of its calls."""

from __future__ import annotations

import hashlib
import hmac

WRITES_PATH = "/cluster/writes"
WRITES_SIGNATURE = "commonplace-signature"
"""Header with the HMAC-SHA256 of the body in hexadecimal digits."""
MAX_FORWARDED = 8_000_000
"""Maximum length of a body in bytes. Larger writes are not forwarded."""


def signature_of(body: bytes, secret: str) -> str:
    """The HMAC-SHA256 of a body, 64 hexadecimal digits."""
    return hmac.new(secret.encode("utf-8", "surrogateescape"), body, hashlib.sha256).hexdigest()
