"""The table of rules: one severity for each, and no finding of a rule that is not in it."""

from __future__ import annotations

import pytest

from commonplace.domain.documents import Severity
from commonplace.domain.findings import RULES, finding_of


def test_a_finding_has_the_severity_of_its_rule() -> None:
    assert finding_of("broken_link", "The link to 'b' leads nowhere.").severity is RULES["broken_link"]
    assert RULES["unportable_name"] is Severity.INFO


def test_a_rule_that_is_not_in_the_table_has_no_finding() -> None:
    with pytest.raises(KeyError):
        finding_of("no_such_rule", "x")
