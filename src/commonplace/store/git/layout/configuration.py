"""Parses Git's configuration files without libgit2, so that the named files can be checked before libgit2 opens them.

Everything that Git would reject is skipped. The result contains at least the settings that Git and libgit2 find.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\\n]|\\.)*)")?\s*\]')
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(=?)")
_ESCAPED, _BARE = re.compile(r"\\(.)"), r"\1"
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}
_SYSTEM = "/etc/gitconfig"

Setting = tuple[str, str]
"""Name in lower case except for its middle part (`remote.Origin.url`), and value; "" for a name without a value."""
Read = Callable[[Path], bytes]
"""Returns the bytes of a file; raises FileNotFoundError if there is none."""
MAX_INCLUDES = 10
"""Maximum depth of includes; the same as Git's."""


def parse_configuration(raw: bytes) -> list[Setting]:
    """The settings of one file, in order."""
    text = raw.decode("utf-8", "surrogateescape").removeprefix("\ufeff").replace("\r\n", "\n")
    found: list[Setting] = []
    section, at = "", 0
    while at < len(text):
        if text[at] in " \t\n":
            at += 1
        elif header := _SECTION.match(text, at):
            name, middle = header[1].lower(), header[2]
            section = name if middle is None else f"{name}.{_ESCAPED.sub(_BARE, middle)}"
            at = header.end()
        elif key := _KEY.match(text, at):
            value, at = _value(text, key.end()) if key[2] else ("", key.end())
            found.append((f"{section}.{key[1].lower()}", value))
        else:
            at = _line_end(text, at)
    return found


def settings_in(file: Path, read: Read, *, conditional: bool) -> Iterator[Setting]:
    """The settings of a file and of those that it includes.

    Args:
        file: The file, which may be missing.
        read: Reads this file and the included ones.
        conditional: Whether conditional includes count, regardless of their condition.

    Raises:
        OSError: as `read` does, except for missing files.
        RecursionError: the files include each other.
    """
    yield from _included(file, read, conditional, 0)


def protected_settings(name: str) -> list[str]:
    """All values of a setting in the system's and the user's own configuration and in the environment, in order.

    Git reads some settings from these sources only. An unreadable file counts as empty.
    """
    found: list[str] = []
    for file in _protected_files(os.environ):
        try:
            found += [value for key, value in settings_in(file, Path.read_bytes, conditional=False) if key == name]
        except (OSError, RecursionError):
            continue
    count = os.environ.get("GIT_CONFIG_COUNT", "")
    for number in range(int(count) if count.isdecimal() and len(count) < len("10000") else 0):
        if os.environ.get(f"GIT_CONFIG_KEY_{number}", "").lower() == name:
            found.append(os.environ.get(f"GIT_CONFIG_VALUE_{number}", ""))
    return found


def named_path(value: str, base: Path) -> Path:
    """The path in a setting's value: `~` is a home folder, and a relative path begins at `base`."""
    return base / os.path.expanduser(value)  # noqa: PTH111 - an unknown user's home is unchanged


def _included(file: Path, read: Read, conditional: bool, depth: int) -> Iterator[Setting]:
    if depth > MAX_INCLUDES:
        raise RecursionError
    try:
        raw = read(file)
    except (FileNotFoundError, NotADirectoryError):
        return
    for name, value in parse_configuration(raw):
        yield name, value
        kind = name.partition(".")[0]
        if name.endswith(".path") and (kind == "include" or (conditional and kind == "includeif")) and value:
            yield from _included(named_path(value, file.parent), read, conditional, depth + 1)


def _protected_files(environment: Mapping[str, str]) -> Iterator[Path]:
    if environment.get("GIT_CONFIG_NOSYSTEM", "").lower() in {"", "0", "false", "no", "off"}:
        yield Path(environment.get("GIT_CONFIG_SYSTEM") or _SYSTEM)
    own = environment.get("GIT_CONFIG_GLOBAL")
    if own is not None:
        yield Path(own)
        return
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - raises nothing if there is no home
    yield Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "git" / "config"
    yield home / ".gitconfig"


def _value(text: str, at: int) -> tuple[str, int]:
    """A value after its equals sign, and the offset of the next line."""
    parts: list[str] = []
    kept = 0
    quoted = False
    while at < len(text) and text[at] != "\n":
        char = text[at]
        if char == "\\" and at + 1 < len(text):
            at += 1
            if text[at] != "\n":
                parts.append(_ESCAPES.get(text[at], text[at]))
                kept = len(parts)
        elif char == '"':
            quoted = not quoted
            kept = len(parts)
        elif char in "#;" and not quoted:
            at = _line_end(text, at)
            break
        elif quoted or not char.isspace() or parts:
            parts.append(char)
            kept = len(parts) if quoted or not char.isspace() else kept
        at += 1
    return "".join(parts[:kept]), at + 1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end
