"""A folder checked as an OKF bundle."""

from __future__ import annotations

from pathlib import Path

from commonplace.domain.documents import Severity
from commonplace.toolsets.cascade.service.captures import check_bundle
from indexed import PERMISSIONS, Indexed, permissions_hold

GOOD = "---\ntype: Note\ntitle: Good\n---\n# Good\n"


def test_a_bundle_that_keeps_the_rules_has_no_problems(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"good.md": GOOD}) as base:
        report = check_bundle(base.collection)
    assert (report.files, report.problems) == (1, ())


def test_each_file_that_breaks_a_rule_is_named_with_its_line(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"b.md": "# No front matter\n", "a.md": "---\ntype: [\n---\n", "good.md": GOOD}) as base:
        report = check_bundle(base.collection)
    assert report.files == 3
    assert [problem.path for problem in report.problems] == sorted(problem.path for problem in report.problems)
    assert {problem.path for problem in report.problems} == {"a.md", "b.md"}
    assert all(problem.message and problem.rule for problem in report.problems)


@PERMISSIONS
def test_a_file_that_cannot_be_read_is_an_error_and_the_others_are_checked(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"a.md": GOOD, "b.md": "# No front matter\n"}) as base:
        (base.folder / "a.md").chmod(0)
        with permissions_hold():
            report = check_bundle(base.collection)
    by_path = {problem.path: problem for problem in report.problems}
    assert (by_path["a.md"].rule, by_path["a.md"].severity) == ("unreadable", Severity.ERROR)
    assert "b.md" in by_path
