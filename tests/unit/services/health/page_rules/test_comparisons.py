"""Contradictions between pages, and differences that no rule counts as contradictions."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from commonplace.services.health.page_rules import MAX_HOLDERS, outdated
from commonplace.services.listing import every_document
from findings_together import findings_together
from indexed import Indexed


def found_in(tmp_path: Path, files: dict[str, str | bytes]) -> list[tuple[str, str, str]]:
    with Indexed(tmp_path, files) as base:
        findings = findings_together(base.collection, date(2026, 2, 1))
        return sorted((address.path, finding.rule, finding.message) for address, finding in findings)


def test_pages_contradict_each_other_where_one_declares_it_and_not_because_they_share_a_title(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.md": "---\ntitle: Port\nport: 80\n---\n# Port\n\n## Limit\n\nTen.\n",
        "b.md": "---\ntitle: port\nport: 8080\n---\n# Port\n\n## Limit\n\nTwelve.\n",
        "c.md": "---\ntitle: Other\nport: 81\ncontradicts: '[[b]]'\n---\n# Other\n",
    }
    assert found_in(tmp_path, files) == [
        ("c.md", "contradiction", "It says that it contradicts b.md. Settle which of them holds."),
    ]


def test_pages_that_share_most_long_lines_are_near_duplicates(tmp_path: Path) -> None:
    lines = [f"Line {number} of a text that is long enough to count as one.\n\n" for number in range(10)]
    files: dict[str, str | bytes] = {
        "a.md": "# A\n\n" + "".join(lines),
        "b.md": "# B\n\n" + "".join(lines[:9]) + "And one line that is this page's own, and long enough too.\n" * 3,
        "half.md": "# Half\n\n" + "".join(lines[:5]) + "".join(f"Of its own {line}" for line in lines[5:]),
        "short.md": "# Short\n\n" + "".join(lines[:3]),
    }
    message = "It shares 9 of 10 long lines with a.md. Keep them once, and link to them."
    assert found_in(tmp_path, files) == [("b.md", "near_duplicate", message)]


def test_a_page_is_stale_when_what_it_describes_changed_after_it(tmp_path: Path) -> None:
    page = "---\nupdated: 2026-01-10\ndescribes: ['[[new]]', old.md, tool.py, gone.py]\n---\n# A\n"
    files: dict[str, str | bytes] = {
        "a.md": page,
        "new.md": "---\nupdated: 2026-01-20\n---\n# New\n",
        "old.md": "---\nupdated: 2026-01-05\n---\n# Old\n",
        "tool.py": "print()",
    }
    rows = [(path, rule, message.partition(",")[0]) for path, rule, message in found_in(tmp_path, files)]
    assert rows == [
        ("a.md", "stale", "It describes 'gone.py'"),
        ("a.md", "stale", "It describes 'new'"),
        ("a.md", "stale", "It describes 'tool.py'"),
    ]


@pytest.mark.parametrize(
    ("updated", "stale"), [("2026-01-10", False), ("2026-01-09", True), ("2026-01-10T11:00", True)]
)
def test_a_page_of_the_day_on_which_the_other_changed_is_up_to_date_unless_an_hour_says_otherwise(
    tmp_path: Path, updated: str, stale: bool
) -> None:
    with Indexed(tmp_path, {"a.md": f"---\nupdated: {updated}\ndescribes: tool.py\n---\n", "tool.py": "1"}) as base:
        noon = datetime(2026, 1, 10, 12, tzinfo=UTC).timestamp()
        os.utime(base.folder / "tool.py", (noon, noon))
        (record,) = every_document(base.collection)
        assert bool(list(outdated(base.collection, record))) is stale


def test_a_field_that_names_nothing_sensible_stops_nothing_and_reveals_nothing(tmp_path: Path) -> None:
    odd = ["", "[]", "7", "'../../etc/passwd'", "'a\\0b'", "'|x'", "[[[deep]]]"]
    files: dict[str, str | bytes] = {
        f"{number}.md": f"---\ndescribes: {named}\ncontradicts: {named}\n---\n" for number, named in enumerate(odd)
    }
    rows = found_in(tmp_path, files)
    assert {rule for _, rule, _ in rows} <= {"stale"}
    assert all("which is not there" in message for _, _, message in rows)


def test_a_common_title_and_boilerplate_are_no_findings(tmp_path: Path) -> None:
    lines = "".join(f"Line {number} of a notice that stands on every single page.\n\n" for number in range(10))
    files: dict[str, str | bytes] = {
        f"{number}.md": f"---\ntitle: Overview\nport: {number}\n---\n{lines}\nPage {number}.\n"
        for number in range(MAX_HOLDERS + 1)
    }
    assert found_in(tmp_path, files) == []
