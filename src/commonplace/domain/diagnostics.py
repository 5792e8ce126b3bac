"""The results of `doctor`: what was checked, and what is wrong."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.domain.documents import Severity


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One result of a check, in order or not."""

    check: str
    """A stable name: `git`, `fsync`, `lock`, `disk`, `index`, `setting`, `port`, `client`, ..."""
    severity: Severity | None
    """None if the result is in order."""
    subject: str
    """The thing that was checked: the name of a collection, plugin or client, or a part of the machine."""
    message: str
    hint: str = ""
    """The next step for the user."""
    command: str = ""
    """The command that solves the problem, ready to run; "" if there is none."""

    @property
    def is_problem(self) -> bool:
        """Whether the result is an error or a warning."""
        return self.severity in {Severity.ERROR, Severity.WARNING}
