"""Checks of settings with their origins, and of the folders that they name: permissions and free space."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path

from commonplace.domain.diagnostics import Diagnostic
from commonplace.domain.documents import Severity
from commonplace.domain.private_files import exposed
from commonplace.faces.cli.output import short_path
from commonplace.settings import Flags, Settings, config_file, origins

LOW_BYTES = 200_000_000
"""Minimum free space in bytes; below it, a write or an index update may fail soon."""
LOW_FILES = 1_000
"""Minimum number of free inodes; below it, a write may fail soon."""
SECRETS = ("api_key", "search_key", "embedding_key", "rerank_key")
"""Settings that other users of the machine should not be able to read."""


def settings(flags: Flags) -> Iterator[Diagnostic]:
    """Every setting that is not a default, with its value and origin."""
    given = origins(flags=flags)
    file, _ = config_file()
    there = "" if os.path.exists(file) else " (not there)"
    yield Diagnostic("setting", None, "settings", f"The file is {short_path(file)}{there}.")
    for name, value, where in given:
        yield Diagnostic("setting", None, name, f"{value or 'nothing'}, given by {where}.")
    if not given:
        yield Diagnostic("setting", None, "settings", "All have their defaults.")
    held = [name for name, _, where in given if name in SECRETS and where.endswith(f" in {file.name}")]
    if held and file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
        message = f"Other users can read {short_path(file)}, which holds {' and '.join(held)}."
        command = f"chmod 600 {shlex.quote(str(file))}"
        yield Diagnostic("setting", Severity.WARNING, "settings", message, "Keep it to yourself:", command)


def folders(chosen: Settings) -> Iterator[Diagnostic]:
    """Whether the folders for indexes, locks and journals are writable, and whether their disks have free space."""
    kinds = (("cache_dir", chosen.cache_dir, "indexes"), ("state_dir", chosen.state_dir, "locks and journals"))
    for name, folder, what in kinds:
        nearest = _nearest(folder)
        if nearest == folder.absolute() and not os.path.isdir(nearest):
            message = f"{short_path(folder)}, for {what}, is not a folder."
            yield Diagnostic("permissions", Severity.WARNING, name, message, "Put it out of the way, or set another.")
        elif not os.path.isdir(nearest) or not os.access(nearest, os.W_OK | os.X_OK):
            message = f"{short_path(folder)}, for {what}, cannot be written: {short_path(nearest)} keeps it out."
            command = f"sudo chown -R $USER {shlex.quote(str(nearest))}" if os.path.isdir(nearest) else ""
            hint = f"Give it to this user, or set {name} to another folder."
            yield Diagnostic("permissions", Severity.WARNING, name, message, hint, command)
        elif open_to_others := next(exposed(folder), None):
            message = (
                f"Others have permissions for {short_path(open_to_others)}, which holds {what} with text of pages."
            )
            command = f"chmod -R go= {shlex.quote(str(folder))}"
            yield Diagnostic("permissions", Severity.WARNING, name, message, "Keep it to yourself:", command)
        else:
            message = f"{short_path(folder)}, for {what}, can be written, and only by this user."
            yield Diagnostic("permissions", None, name, message)
    for folder in dict.fromkeys((*chosen.kb, chosen.cache_dir)):
        yield from _room(folder)


def _room(folder: Path) -> Iterator[Diagnostic]:
    nearest = _nearest(folder)
    try:
        there = os.statvfs(nearest)
    except OSError as error:
        yield Diagnostic("disk", Severity.WARNING, short_path(folder), f"Its disk does not answer: {error.strerror}.")
        return
    free = there.f_bavail * there.f_frsize
    told = f"{free / 1e9:,.1f} GB are free on the disk of {short_path(folder)}."
    if free < LOW_BYTES:
        hint = "Make room; an index may be deleted at any moment:"
        yield Diagnostic("disk", Severity.WARNING, "disk", told, hint, f"du -sh {shlex.quote(str(nearest))}/*")
    elif there.f_files and there.f_favail < LOW_FILES:
        message = f"The disk of {short_path(folder)} has room for {there.f_favail:,} more files only."
        yield Diagnostic("disk", Severity.WARNING, "disk", message, "Delete what is not needed.")
    else:
        yield Diagnostic("disk", None, "disk", told)


def _nearest(folder: Path) -> Path:
    """The folder, or its nearest ancestor that exists."""
    at = folder.absolute()
    while at != at.parent and not os.path.exists(at):
        at = at.parent
    return at
