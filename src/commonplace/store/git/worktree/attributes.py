"""Git's attributes of a path: gitattributes(5), matched in linear time.

The files by precedence: `info/attributes`, `.gitattributes` from the path's folder up to the root (from the index if
the work tree has none), the file of `core.attributesFile`, the system's. In each file the last matching line counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pygit2

from commonplace.store.disk.ignore_rules import Pattern, parse_pattern
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.worktree.pattern_file import MAX_BYTES, configured_file, read_pattern_file

FILE = ".gitattributes"
AttributeValue = bool | str | None
"""True for set, False for unset, None for unspecified, else the value."""
Assignments = tuple[tuple[str, AttributeValue], ...]

_SYSTEM = Path("/etc/gitattributes")
_MAX_LINE = 2_048
"""Maximum length of a line in characters; Git ignores longer ones."""
_MACRO = "[attr]"
_BINARY: Assignments = (("diff", False), ("merge", False), ("text", False))
_NAME = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]*")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\([0-7]{3}|.)")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_CACHED_FILES = 256


@dataclass(frozen=True, slots=True)
class AttributeLine:
    """One line of an attributes file: a pattern with its assignments, or the definition of a macro."""

    pattern: Pattern | None
    """The pattern; None for the definition of a macro."""
    macro: str
    assignments: Assignments


def attributes_of(repository: GitRepository, index: pygit2.Index, path: str) -> Mapping[str, AttributeValue]:
    """The specified attributes of a file.

    Args:
        repository: The repository, with its work tree and configuration.
        index: Source of the attributes files that are missing in the work tree.
        path: Path of the file from the root.

    Raises:
        GitError: an attributes file is too large, or cannot be read.
    """
    files = list(_files(repository, index, path))
    macros = {"binary": _BINARY}
    for depth, lines in reversed(files):
        if depth == 0:
            macros.update({line.macro: line.assignments for line in lines if line.pattern is None})
    parts = path.split("/")
    found: dict[str, AttributeValue] = {}
    for depth, lines in files:
        for line in reversed(lines):
            if line.pattern is not None and line.pattern.fits(parts[depth:], is_folder=False):
                _assign(found, line.assignments, macros)
    return {name: value for name, value in found.items() if value is not None}


def parse_attributes(text: str) -> tuple[AttributeLine, ...]:
    """The lines of an attributes file in order; invalid lines are omitted."""
    return tuple(filter(None, map(_line, text.splitlines())))


def _assign(found: dict[str, AttributeValue], assignments: Assignments, macros: Mapping[str, Assignments]) -> None:
    """Add assignments, the last first, to attributes that have no value of a higher precedence."""
    waiting = list(assignments)
    while waiting:
        name, value = waiting.pop()
        if name not in found:
            found[name] = value
            if value is True:
                waiting += macros.get(name, ())


def _files(
    repository: GitRepository, index: pygit2.Index, path: str
) -> Iterator[tuple[int, tuple[AttributeLine, ...]]]:
    """The attributes files, highest precedence first: number of path parts above the file, and the file's lines."""
    folders = path.split("/")[:-1]
    yield 0, _parsed(read_pattern_file(repository.common / "info" / "attributes", follow=True) or b"")
    for depth in range(len(folders), -1, -1):
        yield depth, _parsed(_of_folder(repository, index, "/".join([*folders[:depth], FILE])))
    yield (
        0,
        _parsed(
            read_pattern_file(configured_file(repository, "core.attributesfile", "attributes"), follow=True) or b""
        ),
    )
    yield 0, _parsed(read_pattern_file(_SYSTEM, follow=True) or b"")


def _of_folder(repository: GitRepository, index: pygit2.Index, name: str) -> bytes:
    file = repository.root / name
    raw = read_pattern_file(file, follow=False)
    if raw is not None:
        return raw
    try:
        entry = index[name]
    except KeyError:
        return b""
    identifier = str(entry.id)
    return repository.content(identifier) if repository.size(identifier) <= MAX_BYTES else b""


@lru_cache(maxsize=_CACHED_FILES)
def _parsed(raw: bytes) -> tuple[AttributeLine, ...]:
    return parse_attributes(raw.decode("utf-8", "surrogateescape").removeprefix("\ufeff"))


def _line(text: str) -> AttributeLine | None:
    text = text.strip(" \t\r\n")
    if not text or text.startswith("#") or len(text) > _MAX_LINE:
        return None
    if quoted := _QUOTED.match(text):
        name, rest = _ESCAPE.sub(_unescaped, quoted[1]), text[quoted.end() :]
    else:
        name, _, rest = text.replace("\t", " ").partition(" ")
    assignments = tuple(filter(None, map(_assignment, rest.split())))
    if name.startswith(_MACRO):
        macro = name.removeprefix(_MACRO)
        if not macro:  # "[attr] name", with a blank, is valid, too
            macro, _, rest = rest.strip().partition(" ")
            assignments = tuple(filter(None, map(_assignment, rest.split())))
        return AttributeLine(None, macro, assignments) if _NAME.fullmatch(macro) else None
    pattern = None if name.startswith("!") else parse_pattern(name)
    return AttributeLine(pattern, "", assignments) if pattern is not None and not pattern.folders_only else None


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    return chr(int(code, 8)) if len(code) > 1 else _ESCAPES.get(code, code)


def _assignment(word: str) -> tuple[str, AttributeValue] | None:
    value: AttributeValue = True
    if word[0] in "-!":
        word, value = word[1:], False if word[0] == "-" else None
    elif "=" in word:
        word, _, value = word.partition("=")
    return (word, value) if _NAME.fullmatch(word) else None
