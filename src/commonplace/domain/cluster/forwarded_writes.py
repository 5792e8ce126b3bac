"""The route for writes forwarded from another server, and the signature of its calls.

The header is `TIME NUMBER SENDER RECIPIENT HMAC`, separated by blanks. The HMAC covers the other four and the body, so
that a recorded call is refused later, a second time, and at another server.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from dataclasses import dataclass

WRITES_PATH = "/cluster/writes"
WRITES_SIGNATURE = "commonplace-signature"
"""Name of the header with the signature."""
MAX_FORWARDED = 8_000_000
"""Maximum length of a body in bytes. Larger writes are not forwarded."""
MAX_CLOCK_SECONDS = 60
"""Maximum difference in seconds between the time of a signature and the receiver's clock."""
NO_URL = "-"
"""Sender of a call by a process without a URL, such as a command."""
_HEADER = re.compile(r"([0-9]{1,12}) ([\w-]{16,64}) (\S{1,2000}) (\S{1,2000}) ([0-9a-f]{64})", re.ASCII)


@dataclass(frozen=True, slots=True)
class WritesSignature:
    """The signed facts about a call."""

    time: int
    """Seconds since 1970."""
    number: str
    """Random text that is used once."""
    sender: str
    """URL of the sending server; `NO_URL` without one."""
    recipient: str
    """URL of the receiving server."""

    def header(self, body: bytes, secret: str) -> str:
        """The value of the header for a body."""
        facts = f"{self.time} {self.number} {self.sender} {self.recipient}"
        key, signed = secret.encode("utf-8", "surrogateescape"), facts.encode("utf-8", "replace") + b"\n" + body
        return f"{facts} {hmac.new(key, signed, hashlib.sha256).hexdigest()}"


def sign(body: bytes, secret: str, sender: str, recipient: str) -> str:
    """The header of a call that is sent now."""
    number = secrets.token_urlsafe(24)
    return WritesSignature(int(time.time()), number, sender or NO_URL, recipient).header(body, secret)


def signature_in(header: str, body: bytes, secret: str) -> WritesSignature | None:
    """The facts that a header signs; None unless the secret's holder signed them for this body."""
    parts = _HEADER.fullmatch(header.strip())
    if parts is None:
        return None
    signature = WritesSignature(int(parts[1]), parts[2], parts[3], parts[4])
    is_signed = hmac.compare_digest(signature.header(body, secret).encode(), header.strip().encode("utf-8", "replace"))
    return signature if is_signed else None
