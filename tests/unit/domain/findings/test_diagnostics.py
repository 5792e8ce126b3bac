"""Results of a check that count as problems."""

from __future__ import annotations

import pytest

from commonplace.domain.documents import Severity
from commonplace.domain.findings import Diagnostic


@pytest.mark.parametrize(
    ("severity", "is_problem"),
    [(None, False), (Severity.INFO, False), (Severity.WARNING, True), (Severity.ERROR, True)],
)
def test_errors_and_warnings_are_problems_and_nothing_else_is(severity: Severity | None, is_problem: bool) -> None:
    assert Diagnostic("disk", severity, "cache", "12 GB free").is_problem is is_problem


def test_every_severity_is_decided() -> None:
    found = {one: Diagnostic("disk", one, "cache", "").is_problem for one in Severity}
    assert [one for one, is_problem in found.items() if not is_problem] == [Severity.INFO]
