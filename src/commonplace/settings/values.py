"""The types of settings: descriptions and converters."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from types import UnionType
from typing import Literal, NewType, Union, cast, get_args, get_origin

MAX_NUMBER = 65_535
Origin = NewType("Origin", str)
"""An origin in the form of the `Origin` header: scheme, host and port in lower case, without a default port."""
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?")
_OWN_PORTS = {"http": ":80", "https": ":443"}


def value_as_text(value: object) -> str:
    """A value as text, in the form of an environment variable."""
    if isinstance(value, tuple):
        separator = os.pathsep if all(isinstance(one, Path) for one in cast("tuple[object, ...]", value)) else " "
        return separator.join(map(str, cast("tuple[object, ...]", value)))
    return str(value).lower() if isinstance(value, bool) else str(value)


def value_reader(type_: object) -> tuple[str, Callable[[object], object]]:
    """The description of a type, and the function that converts a value to it."""
    if get_origin(type_) in {Union, UnionType}:
        type_ = next(option for option in get_args(type_) if option is not type(None))
    if get_origin(type_) is Literal:
        choices = cast("tuple[str, ...]", get_args(type_))
        return f"one of {', '.join(choices)}", lambda value: _choice(value, choices)
    readers: dict[object, tuple[str, Callable[[object], object]]] = {
        str: ("text", _text),
        int: ("a whole number, 0 to 65535", _number),
        bool: ("true or false", _bool),
        Path: ("the path of a folder", _path),
        tuple[Path, ...]: ("paths of folders", _paths),
        tuple[str, ...]: ("texts, separated by blanks", _texts),
        tuple[Origin, ...]: ("origins such as http://localhost:3000, separated by blanks", _origins),
    }
    return readers[type_]


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value.strip()


def _choice(value: object, choices: tuple[str, ...]) -> str:
    text = _text(value)
    found = text if text in choices or "admin" in choices else text.lower()  # a tier grants rights: as it is written
    if found not in choices:
        raise ValueError
    return found


def _number(value: object) -> int:
    number = int(value) if isinstance(value, str | int) and not isinstance(value, bool) else -1
    if not 0 <= number <= MAX_NUMBER:
        raise ValueError
    return number


def _bool(value: object) -> bool:
    words = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
    if isinstance(value, bool):
        return value
    word = _text(value).casefold()
    if word not in words:
        raise ValueError
    return words[word]


def _path(value: object) -> Path:
    try:
        return Path(_text(value)).expanduser()
    except RuntimeError as error:  # `~name` of an unknown user
        raise ValueError from error


def _paths(value: object) -> tuple[Path, ...]:
    parts = value.split(os.pathsep) if isinstance(value, str) else value
    if not isinstance(parts, list) or not parts:
        raise ValueError
    return tuple(_path(part) for part in cast("list[object]", parts))


def _texts(value: object) -> tuple[str, ...]:
    parts = value.split() if isinstance(value, str) else value
    if not isinstance(parts, list) or not parts:
        raise ValueError
    return tuple(_text(part) for part in cast("list[object]", parts))


def _origins(value: object) -> tuple[Origin, ...]:
    parts = value.split() if isinstance(value, str) else value
    if not isinstance(parts, list) or not parts:
        raise ValueError
    return tuple(_origin(part) for part in cast("list[object]", parts))


def _origin(value: object) -> Origin:
    text = _text(value).lower().removesuffix("/")
    found = _ORIGIN.fullmatch(text)
    if not found:
        raise ValueError
    own = _OWN_PORTS.get(text.partition(":")[0])
    return Origin(text.removesuffix(own) if own and found[2] == own else text)
