"""What `doctor` says of an installation and its folders: what it looked at, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.domain.documents import Severity


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing that a check found, in order or not."""

    check: str
    """A stable name: `git`, `fsync`, `lock`, `disk`, `index`, `setting`, `port`, `client`, ..."""
    severity: Severity | None
    """None for what is in order."""
    subject: str
    """What it is about: a collection's, a plugin's or a client's name, or a part of the machine."""
    message: str
    hint: str = ""
    """What to do about it."""
    command: str = ""
    """The command that mends it, ready to be typed; "" where there is none."""

    @property
    def is_problem(self) -> bool:
        """Whether it is a finding: something that should be mended."""
        return self.severity in {Severity.ERROR, Severity.WARNING}
