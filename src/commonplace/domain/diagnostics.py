"""The results of `doctor`: checked subjects and their problems."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.domain.documents import Severity


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One result of a check: in order, or a problem."""

    check: str
    """A stable name: `git`, `fsync`, `lock`, `disk`, `index`, `setting`, `port`, `client`, ..."""
    severity: Severity | None
    """Severity of the problem; None if the result is in order."""
    subject: str
    """The checked subject: the name of a collection, plugin or client, or a part of the machine."""
    message: str
    hint: str = ""
    """The next step for the user."""
    command: str = ""
    """The command that solves the problem, ready to run; "" if there is none."""

    @property
    def is_problem(self) -> bool:
        """Whether the result is an error or a warning."""
        return self.severity in {Severity.ERROR, Severity.WARNING}
