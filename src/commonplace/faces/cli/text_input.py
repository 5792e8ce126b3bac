"""Text input of commands, from a file or standard input."""

from __future__ import annotations

import sys
from pathlib import Path

from commonplace.domain.errors import InvalidInputError, NotFoundError, StorageError, TooLargeError
from commonplace.faces.cli.output import Output
from commonplace.services.writes import MAX_DOCUMENT_BYTES


def read_text(file: str, out: Output) -> bytes:
    """The bytes of a file, or of standard input for `-`. They are checked to be UTF-8.

    Raises:
        NotFoundError: no such file.
        StorageError: the file cannot be read.
        TooLargeError: the text is over `MAX_DOCUMENT_BYTES`.
        InvalidInputError: the text is not UTF-8.
    """
    content = _standard_input(out) if file == "-" else _file(Path(file))
    if len(content) > MAX_DOCUMENT_BYTES:
        raise TooLargeError(f"The text is longer than {MAX_DOCUMENT_BYTES:,} bytes.", kind="file", hint="Split it.")
    try:
        content.decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"The text is no UTF-8: byte {error.start:,} fits no character.", kind="file", hint="Convert it to UTF-8."
        ) from None
    return content


def _standard_input(out: Output) -> bytes:
    if sys.stdin.isatty():
        out.message("Reading standard input; Ctrl-D ends it.")
    return sys.stdin.buffer.read(MAX_DOCUMENT_BYTES + 1)


def _file(path: Path) -> bytes:
    try:
        with path.open("rb") as opened:
            return opened.read(MAX_DOCUMENT_BYTES + 1)
    except FileNotFoundError:
        raise NotFoundError(f"There is no file {path.name!r}.", kind="file", hint="Give a file or -.") from None
    except OSError as error:
        raise StorageError(f"The file {path.name!r} cannot be read: {error.strerror}.", kind="file") from error
