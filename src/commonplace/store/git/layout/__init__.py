"""Files of a repository's own folder (gitrepository-layout(5)), validated before use.

A `.git` folder can come from an untrusted source, so every name, path and number in it is validated.
"""

from __future__ import annotations

from commonplace.domain.errors import GitError


class UntrustedRepositoryError(GitError):
    """The repository must not be opened: it leads elsewhere, or belongs to another user."""

    command = ""
    """Command by which the user trusts or repairs the repository, with full paths; shown on the local terminal only."""


def untrusted(message: str, hint: str, command: str = "") -> UntrustedRepositoryError:
    """The error for a repository that is not opened.

    Args:
        message: The problem, as a sentence.
        hint: What the user can do.
        command: The command that does so; "" for none.
    """
    error = UntrustedRepositoryError(f"{message} The repository is not used.", kind="repository", hint=hint)
    error.command = command
    return error
