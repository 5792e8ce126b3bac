"""Conformance of files to OKF."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.toolsets.cascade.service.captures import nonconformities


def rules(path: str, text: str | bytes) -> list[tuple[str, int | None]]:
    raw = text if isinstance(text, bytes) else text.encode()
    return [(finding.rule, finding.line) for finding in nonconformities(Address(path), raw)]


@each_case(
    ("text", "found"),
    [
        ("---\ntype: note\n---\n", []),
        ("\ufeff---\r\ntype: note\r\n---\r\n", []),
        ("---\ntype: 茶\n---\ntext", []),
        ("# No frontmatter\n", [("okf_frontmatter", 1)]),
        ("", [("okf_frontmatter", 1)]),
        ("---\ntitle: x\n---\n", [("okf_type", 1)]),
        ("---\ntype: ''\n---\n", [("okf_type", 1)]),
        ("---\ntype: 5\n---\n", [("okf_type", 1)]),
        ("---\ntype: [a]\n---\n", [("okf_type", 1)]),
        ("---\n---\n", [("okf_type", 1)]),
    ],
)
def test_a_concept_has_frontmatter_with_a_type(text: str, found: list[tuple[str, int | None]]) -> None:
    assert rules("a/b.md", text) == found


def test_a_concept_that_cannot_be_read_has_that_finding_alone() -> None:
    assert [rule for rule, _ in rules("a.md", "---\ntype: [\n---\n")] == ["bad_yaml"]
    assert [rule for rule, _ in rules("a.md", b"---\ntype: a\n---\n\xff\n")] == ["not_utf8"]


@each_case(
    ("path", "text", "broken"),
    [
        ("index.md", "# List\n", False),
        ("index.md", "---\nokf_version: 0.2\n---\n# List\n", False),
        ("index.md", "---\nokf_version: 0.2\ntitle: x\n---\n", True),
        ("a/index.md", "---\nokf_version: 0.2\n---\n", True),
        ("a/index.md", "", False),
    ],
)
def test_an_index_has_no_frontmatter_but_the_version_at_the_root(path: str, text: str, broken: bool) -> None:
    assert rules(path, text) == ([("okf_index", 1)] if broken else [])


@each_case(
    ("text", "lines"),
    [
        ("# Log\n\n## 2026-05-01\n\n## [2026-05-02] did x\n", []),
        ("## **2026-05-01**: x\n", []),
        ("## May 2026\n", [1]),
        ("# Log\n\n## 2026-13-01\n## 2026-05-011\n", [3, 4]),
        ("## Notes\n\n## 2026-05-01\n\n## Notes\n", [1, 5]),
        ("```\n## Notes\n```\n\n## Notes\n", [5]),
        ("# Log\r\n\r\n## Notes\r\n", [3]),
        ("### Notes\n", []),
        ("## 2024-02-29x\n## 2023-02-29\n", [1, 2]),
    ],
)
def test_each_heading_of_a_log_begins_with_a_day_and_is_named_by_its_line(text: str, lines: list[int]) -> None:
    assert rules("a/log.md", text) == [("okf_log", line) for line in lines]


@pytest.mark.parametrize("path", ["a.txt", "pic.png", ".md"])
def test_other_files_are_no_concern_of_okf(path: str) -> None:
    assert rules(path, "anything") == []
