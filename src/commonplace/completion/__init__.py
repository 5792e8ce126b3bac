"""Shell completion for `commonplace`: commands, options, their values, and pages by path.

A shell requests completions with every press of Tab, so the answer takes a few hundredths of a second: neither the
command line nor the settings are imported, and the catalogue is read as the last command left it. On any error there
are no completions.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256

from commonplace.completion.command_table import COMMANDS
from commonplace.index.index_version import INDEX_FOLDER
from commonplace.raw_settings import base_folder, configured

FILES = ":files"
"""The line that makes the shell complete file names itself."""
MAX_CANDIDATES = 200
"""Number of pages above which completions are grouped by folder."""

Candidate = tuple[str, str]
"""A word, and its description in a few words or ""."""


def write_candidates(words: list[str]) -> int:
    """Write the completions of the last word of a command line, a line each: word, tab, description.

    Args:
        words: The words up to the cursor, without the program's name; the last may be "".

    Returns:
        The exit code: always 0.
    """
    lines = [f"{word}\t{text}" if text else word for word, text in candidates(words or [""])]
    sys.stdout.buffer.write("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))
    return 0


def candidates(words: list[str]) -> list[Candidate]:
    """The completions of the last word, in display order."""
    command, *behind = words
    if not behind:
        return _beginning(command, {name: row[0] for name, row in COMMANDS.items()})
    if command not in COMMANDS:
        return []
    _, arguments, options = COMMANDS[command]
    *typed, current = behind
    waiting, count, folders = _position(typed, options)
    if waiting:
        return _values(waiting, current, folders)
    if current.startswith("-"):
        return _beginning(current, dict.fromkeys(options, ""))
    last = arguments[-1] if arguments and arguments[-1].endswith("*") else ""
    kind = arguments[count] if count < len(arguments) else last
    return _values(kind.rstrip("*"), current, folders)


def _beginning(begin: str, words: dict[str, str]) -> list[Candidate]:
    """The words that begin as typed, with their descriptions."""
    return [(word, text) for word, text in words.items() if word.startswith(begin)]


def _position(typed: list[str], options: dict[str, str]) -> tuple[str, int, list[str]]:
    """The kind of the next value ("" for none), the number of arguments before it, and the named folders."""
    waiting, name, count = "", "", 0
    folders: list[str] = []
    for word in typed:
        if waiting:
            folders += [word] if name in {"--kb", "-C"} else []
            waiting = ""
        elif word.startswith("-") and word != "-":
            name, waiting = word, options.get(word, "")
        else:
            count += 1
    return waiting, count, folders


def _values(kind: str, current: str, folders: list[str]) -> list[Candidate]:
    if kind == "files":
        return [(FILES, "")]
    if "|" in kind:
        return _beginning(current, dict.fromkeys(kind.split("|"), ""))
    finders: dict[str, Callable[[str, str], Iterator[Candidate]]] = {
        "page": _pages,
        "folder": _folders,
        "type": lambda database, begin: _named("types", database, begin),
        "tag": lambda database, begin: _named("tags", database, begin),
    }
    find = finders.get(kind)
    if find is None:
        return []
    return list(
        dict.fromkeys(candidate for database in catalogue_paths(folders) for candidate in find(database, current))
    )


def _pages(database: str, begin: str) -> Iterator[Candidate]:
    from commonplace.index.catalogue.completion_queries import complete_paths

    paths = complete_paths(database, begin)
    if len(paths) <= MAX_CANDIDATES:
        yield from paths
        return
    for path, title in paths:
        head, slash, _ = path[len(begin) :].partition("/")
        yield (f"{begin}{head}/", "") if slash else (path, title)


def _folders(database: str, begin: str) -> Iterator[Candidate]:
    from commonplace.index.catalogue.completion_queries import complete_paths

    for path, _ in complete_paths(database, begin):
        head, slash, _ = path[len(begin) :].partition("/")
        if slash:
            yield f"{begin}{head}/", ""


def _named(what: str, database: str, begin: str) -> Iterator[Candidate]:
    from commonplace.index.catalogue import completion_queries

    for name, count in completion_queries.complete_names(database, what, begin):
        yield name, f"{count} page{'' if count == '1' else 's'}"


# The catalogues of the folders that a command line names, found without importing the settings.
#
# The settings for folders and the cache are parsed here a second time, in a form that costs a few milliseconds.


CATALOGUE_FILE = "catalogue.sqlite3"


def catalogue_paths(folders: list[str]) -> Iterator[str]:
    """The existing catalogues, in the order of their folders.

    Args:
        folders: Folders named on the command line; if none, those of the settings, else the current one.
    """
    given_values = configured("kb", "cache_dir")
    environment = os.environ.get("COMMONPLACE_KB", "")
    chosen = (
        folders or [part for part in environment.split(os.pathsep) if part] or _paths(given_values.get("kb")) or ["."]
    )
    cache = os.environ.get("COMMONPLACE_CACHE_DIR") or _text(given_values.get("cache_dir")) or _default_cache()
    for folder in chosen:
        real = os.path.realpath(os.path.expanduser(folder))
        database = os.path.join(os.path.expanduser(cache), folder_key(real), INDEX_FOLDER, CATALOGUE_FILE)
        if os.path.isfile(database):
            yield database


def folder_key(real: str) -> str:
    """The key of a folder's real path, equal to the store's."""
    return sha256(os.fsencode(real)).hexdigest()[:32]


def _default_cache() -> str:
    return os.path.join(base_folder("XDG_CACHE_HOME", ".cache"), "commonplace")


def _paths(value: object) -> list[str]:
    if isinstance(value, str):
        return value.split(os.pathsep)
    return [str(item) for item in value] if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - `cast` would load typing


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
