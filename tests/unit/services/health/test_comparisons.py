"""Contradictions between pages, and differences that no rule counts as contradictions."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from commonplace.services.health.comparisons import MAX_HOLDERS, MAX_SAME_TITLE, outdated
from commonplace.services.health.page_rules import health_findings
from commonplace.services.listing import every_document
from indexed import Indexed


def found_in(tmp_path: Path, files: dict[str, str | bytes]) -> list[tuple[str, str, str]]:
    with Indexed(tmp_path, files) as base:
        found = health_findings(base.collection, list(every_document(base.collection)), date(2026, 2, 1))
        return sorted((address.path, rule, message) for address, _, rule, _, message in found)


def test_contradictions_are_found_by_title_and_date_and_where_they_are_declared(tmp_path: Path) -> None:
    old, new = "updated: 2026-01-01", "updated: 2026-01-20"
    files: dict[str, str | bytes] = {
        "a.md": f"---\ntitle: Port\nport: 80\nby: A\n{old}\n---\n# Port\n\n## Limit\n\nTen.\n\n## Long\n\n1\n2.\n",
        "b.md": f"---\ntitle: port\nport: 8080\nby: A\n{new}\n---\n# Port\n\n## Limit\n\nTwelve.\n\n## Long\n\nA\nB.\n",
        "c.md": "---\ntitle: Other\nport: 81\ncontradicts: '[[b]]'\n---\n# Other\n",
    }
    assert found_in(tmp_path, files) == [
        (
            "a.md",
            "contradiction",
            "The field port is '80' here and '8080' in b.md, which is newer (2026-01-20). Correct one of them.",
        ),
        (
            "a.md",
            "contradiction",
            "The section Limit is 'Ten.' here and 'Twelve.' in b.md, which is newer (2026-01-20). Correct one of them.",
        ),
        ("c.md", "contradiction", "It says that it contradicts b.md. Settle which of them holds."),
    ]


def test_synced_pages_of_one_title_do_not_contradict_each_other_by_what_identifies_them(tmp_path: Path) -> None:
    one = "page_id: 1\nurl: /x/1\nparent_id: 7\ncreated_at: 2026-01-01\nlabels: [a]\nauthor_name: A\nversion: 3"
    other = "page_id: 2\nurl: /x/2\nparent_id: 8\ncreated_at: 2026-02-01\nlabels: [b]\nauthor_name: B\nversion: 4"
    files: dict[str, str | bytes] = {
        "a.md": f"---\ntitle: Port\n{one}\n---\n# Port\n\nOne text of its own.\n",
        "b.md": f"---\ntitle: Port\n{other}\n---\n# Port\n\nAnother text that says more.\n",
    }
    assert found_in(tmp_path, files) == []


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
    found = [(path, rule, message.partition(",")[0]) for path, rule, message in found_in(tmp_path, files)]
    assert found == [
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
    found = found_in(tmp_path, files)
    assert {rule for _, rule, _ in found} <= {"stale"}
    assert all("which is not there" in message for _, _, message in found)


def test_a_common_title_and_boilerplate_are_no_findings(tmp_path: Path) -> None:
    lines = "".join(f"Line {number} of a notice that stands on every single page.\n\n" for number in range(10))
    files: dict[str, str | bytes] = {
        f"{number}.md": f"---\ntitle: Overview\nport: {number}\n---\n{lines}\nPage {number}.\n"
        for number in range(max(MAX_HOLDERS, MAX_SAME_TITLE) + 1)
    }
    assert found_in(tmp_path, files) == []
