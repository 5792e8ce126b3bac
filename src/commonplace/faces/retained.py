"""Descriptions of the old bytes that a write retained: their place, retention and the way to restore them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from commonplace.domain.addresses import Address
from commonplace.domain.changes import RetainedCopy
from commonplace.domain.json import Json
from commonplace.domain.words.amounts import amount

MAX_NAMED = 20
"""Maximum number of files that one answer names; `commonplace restore` lists all."""


def in_no_commit(copies: Sequence[RetainedCopy]) -> list[RetainedCopy]:
    """Files whose bytes are only in the trash or in a Git object outside any commit."""
    return [copy for copy in copies if copy.place != "commit"]


def retained_json(copy: RetainedCopy) -> dict[str, Json]:
    """The members `path`, `revision`, `place` and `restore`, and `commit` or `until`, depending on the place.

    `staged` is true for text that was only in Git's index; otherwise it is absent.
    """
    shown: dict[str, Json] = {"path": copy.address.path, "revision": copy.revision, "place": copy.place}
    if copy.commit:
        shown["commit"] = copy.commit
    if copy.until:
        shown["until"] = day(copy.until)
    if copy.staged:
        shown["staged"] = True
    return shown | {"restore": restore_command(copy.address, copy.commit or copy.revision)}


def retained_list(copies: Sequence[RetainedCopy]) -> list[Json]:
    """The JSON of the first `MAX_NAMED` copies."""
    return [retained_json(copy) for copy in copies[:MAX_NAMED]]


def restore_command(address: Address, at: str) -> str:
    """The command that restores a state of a file."""
    return f"commonplace restore {shell_word(address.path)} --at {at[:12]}"


def read_call(address: Address, at: str) -> str:
    """The call of the tool `read` that shows a state of a file."""
    return f"read {json.dumps({'page': address.path, 'at': at[:12]}, ensure_ascii=False)}"


def retained_lines(copies: Sequence[RetainedCopy], way: Callable[[Address, str], str] = restore_command) -> list[str]:
    """One sentence for each of the first `MAX_NAMED` copies, and one for the number of the others.

    Args:
        copies: The copies.
        way: Returns the command or the call that gives a state of a file back, by its address and commit or revision.
    """
    lines = [retained_line(copy, way) for copy in copies[:MAX_NAMED]]
    more = len(copies) - len(lines)
    if more > 0:
        kept_too = f"{amount(more, 'more file')} {'was' if more == 1 else 'were'} kept"
        lines.append(f"{kept_too}: commonplace restore lists them." if way is restore_command else f"{kept_too}.")
    return lines


def retained_line(copy: RetainedCopy, way: Callable[[Address, str], str] = restore_command) -> str:
    """One sentence about a copy, with the command or the call that shows or restores it."""
    back = way(copy.address, copy.commit or copy.revision)
    if copy.place == "commit":
        return f"Commit {copy.commit[:10]} has the last text of {copy.address}: {back}"
    where = f"kept until {day(copy.until)}" if copy.place == "trash" else "a Git object until Git prunes it"
    what = "staged text" if copy.staged else "old text"
    return f"No commit had the {what} of {copy.address}: it is {where}, revision {copy.revision}: {back}"


def day(seconds: float) -> str:
    """A day as `YYYY-MM-DD`, UTC."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"


def shell_word(path: str) -> str:
    """A path as one word of a shell command: quoted if it has special characters or begins with a dash."""
    plain = path.replace("/", "").replace(".", "").replace("_", "").replace("-", "")
    return path if plain.isalnum() and not path.startswith("-") else "'" + path.replace("'", "'\\''") + "'"
