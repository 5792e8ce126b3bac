"""A check looks again only at pages that changed, and at all pages when the rules or names did."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from commonplace.domain.documents import Finding
from commonplace.domain.findings import finding_of
from commonplace.domain.query import Record
from commonplace.services.health import finding_cache
from commonplace.services.health.finding_cache import FindingCache
from indexed import Indexed

FILES = {"a.md": "# A\n\n[[no]]\n", "b.md": "# B\n", "c.md": "---\ndescribes: b.md\n---\n# C\n"}


def checked(base: Indexed, rules: object = 1, *, is_plain: bool = True) -> list[str]:
    """What a check looks at: paths of pages, and those of pages whose links it looks at."""
    paths: list[str] = []

    def find(record: Record) -> list[Finding]:
        paths.append(record.address.path)
        return [finding_of("empty_body", "Empty.")]

    records = base.index.records()
    cache = FindingCache(base.collection, records, rules, is_plain=is_plain)
    for record in records:
        assert [finding.rule for finding in cache.own(record, find)] == ["empty_body"]
    for record in records:
        links = base.index.broken(record.address)
        if links:
            assert len(cache.broken(record, links, partial(_links, paths, record))) == 1
    cache.contradicting_links()
    cache.keep()
    return paths


def _links(paths: list[str], record: Record) -> list[Finding]:
    paths.append(f"links of {record.address.path}")
    return [finding_of("broken_link", "Broken.")]


def test_unchanged_pages_are_not_looked_at_again_unless_they_depend_on_others(tmp_path: Path) -> None:
    with Indexed(tmp_path, FILES) as base:
        assert checked(base) == ["a.md", "b.md", "c.md", "links of a.md"]
        assert checked(base) == ["c.md"]
        base.update("b.md", "# B\n\nMore.\n")
        assert checked(base) == ["b.md", "c.md"]
        base.update("a.md", "# A\n\nMore. [[no]]\n")
        assert checked(base) == ["a.md", "c.md", "links of a.md"]


def test_new_names_make_links_be_looked_at_and_new_rules_the_pages(tmp_path: Path) -> None:
    with Indexed(tmp_path, FILES) as base:
        checked(base)
        base.update("new.md", "# New\n")
        assert checked(base) == ["c.md", "new.md", "links of a.md"]
        assert checked(base, rules=2) == ["a.md", "b.md", "c.md", "new.md"]
        assert checked(base, rules=2, is_plain=False) == ["a.md", "b.md", "c.md", "new.md"]
        assert checked(base, rules=2) == ["a.md", "b.md", "c.md", "new.md"]


def test_of_too_many_pages_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding_cache, "MAX_PAGES", 2)
    with Indexed(tmp_path, FILES) as base:
        assert checked(base) == checked(base)
