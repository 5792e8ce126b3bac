"""What lies in a repository's own folder (gitrepository-layout(5)), checked before it is used.

A `.git` folder can come from anybody, so every name, path and number in it is outside text.
"""

from __future__ import annotations

from commonplace.domain.errors import GitError


class UntrustedRepositoryError(GitError):
    """The repository is one that must not be opened: it leads elsewhere, or belongs to another user."""

    command = ""
    """What its user can run to trust or mend it, with full paths; for this machine's own terminal only."""


def untrusted(message: str, hint: str, command: str = "") -> UntrustedRepositoryError:
    """The error for a repository that is not opened.

    Args:
        message: What is wrong with it, as a sentence.
        hint: What its user can do.
        command: What they can run.
    """
    error = UntrustedRepositoryError(f"{message} The repository is not used.", kind="repository", hint=hint)
    error.command = command
    return error
