"""The text of a file whose encoding nobody declares: UTF-8, and CP1252 for bytes that are none."""

from __future__ import annotations

import codecs

_FALLBACK = "commonplace-cp1252"
_CP1252 = bytes(range(256)).decode("cp1252", "replace")
"""The character of each byte; made at once, as a process that gives up its rights may not load the codec later."""


def decoded(raw: bytes) -> str:
    """The text of bytes. Never fails.

    A byte that is not part of valid UTF-8 is the character that it is in CP1252, the encoding of older Windows
    editors, or U+FFFD where CP1252 has none. A file in which both occur is thus read as well as can be.
    """
    return raw.decode("utf-8", _FALLBACK)


def _cp1252(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(_CP1252[byte] for byte in error.object[error.start : error.end]), error.end


codecs.register_error(_FALLBACK, _cp1252)
