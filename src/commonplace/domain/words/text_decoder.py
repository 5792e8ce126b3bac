"""Decodes a file of unknown encoding: as UTF-8, and invalid bytes as CP1252."""

from __future__ import annotations

import codecs

_FALLBACK = "commonplace-cp1252"
_CP1252 = bytes(range(256)).decode("cp1252", "replace")
"""The character of each byte. Created at import, because a process that has dropped its rights may not load the codec.
"""


def decoded(raw: bytes) -> str:
    """The text of bytes. Never fails.

    A byte that is not part of valid UTF-8 is decoded by CP1252, the encoding of older Windows editors, or becomes
    U+FFFD if CP1252 has no such character. Thus a file with both encodings is read as well as possible.
    """
    return raw.decode("utf-8", _FALLBACK)


def as_utf8(raw: bytes) -> bytes:
    """The bytes of a file if they are UTF-8; otherwise its decoded text as UTF-8, without a byte order mark."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        return decoded(raw.removeprefix(codecs.BOM_UTF8)).encode()
    return raw


def _cp1252(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(_CP1252[byte] for byte in error.object[error.start : error.end]), error.end


codecs.register_error(_FALLBACK, _cp1252)
