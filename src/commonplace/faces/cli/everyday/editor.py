"""Opens files in the user's editor."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from commonplace.domain.errors import ConfigError, UnavailableError
from commonplace.domain.private_files import user_umask

_AFTER_COLON = frozenset({"hx", "helix", "zed", "subl", "sublime_text"})
"""Editors with the syntax `FILE:LINE`."""
_GOTO = frozenset({"code", "codium", "cursor", "windsurf"})
"""Editors with the syntax `--goto FILE:LINE`."""


def editor_command(file: Path, line: int, environment: Mapping[str, str]) -> list[str]:
    """The command that opens a file at a line, with the editor of `$VISUAL`, else `$EDITOR`, else `vi`.

    Args:
        file: The file.
        line: Line number, from 1.
        environment: Environment variables.

    Raises:
        ConfigError: the editor's command is not valid, or no editor is set and `vi` is not installed.
    """
    editor = environment.get("VISUAL") or environment.get("EDITOR") or shutil.which("vi") or ""
    try:
        words = shlex.split(editor)
    except ValueError:
        words = []
    if not words:
        raise ConfigError(
            f"The editor {editor!r} is no command." if editor else "No editor is named.",
            kind="editor",
            hint="Set EDITOR, for example: export EDITOR=nvim",
        )
    name = Path(words[0]).name
    if name in _GOTO:
        return [*words, "--goto", f"{file}:{line}"]
    if name in _AFTER_COLON:
        return [*words, f"{file}:{line}"]
    return [*words, f"+{line}", str(file)]


def open_in_editor(file: Path, line: int) -> None:
    """Open a file in the user's editor and wait until it ends.

    Raises:
        ConfigError: same as `editor_command`.
        UnavailableError: kind "editor": the editor cannot be started, or reported an error.
    """
    command = editor_command(file, line, os.environ)
    try:
        code = subprocess.run(command, check=False, umask=user_umask()).returncode  # noqa: S603 - the user's own editor, without a shell
    except OSError as error:
        raise UnavailableError(
            f"The editor {command[0]!r} cannot be started: {error.strerror}.",
            kind="editor",
            hint="Set EDITOR to another one.",
        ) from error
    if code:
        raise UnavailableError(f"The editor {command[0]!r} ended with code {code}.", kind="editor", hint="")
