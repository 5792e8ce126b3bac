"""The site of a base: its title, its start page, and what is wrong in its declaration."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.services import sites
from commonplace.services.sites import Sites, site_findings, site_with
from indexed import Indexed


@pytest.mark.parametrize(
    ("files", "start", "title"),
    [
        ({"a.md": "# A"}, "", "base"),
        ({"readme.md": "# Readme", "a.md": "# A"}, "readme.md", "base"),
        ({"Home.md": "# The tea house", "README.md": "# R"}, "Home.md", "The tea house"),
        ({"a.md": "# A", "commonplace.yaml": "start: a\ntitle: Teas\n"}, "a.md", "Teas"),
        ({"Home.md": "# H", "commonplace.yaml": "start: none\n"}, "Home.md", "H"),
    ],
)
def test_the_start_page_is_the_declared_one_or_one_with_a_usual_name(
    tmp_path: Path, files: dict[str, str], start: str, title: str
) -> None:
    with Indexed(tmp_path, files) as base:
        site = Sites().of(base.collection)
        assert (site.start, site.title) == (start, title)


def test_a_changed_declaration_is_read_without_a_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sites, "CHECK_SECONDS", -1.0)
    with Indexed(tmp_path, {"a.md": "# A", "commonplace.yaml": "title: Teas\n"}) as base:
        cache = Sites()
        first = cache.of(base.collection)
        assert cache.of(base.collection) is first
        base.write("commonplace.yaml", "title: Coffees\n")
        assert cache.of(base.collection).title == "Coffees"


def test_a_site_of_some_pages_has_no_others(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"Home.md": "# H", "a.md": "# A"}) as base:
        records = [record for record in base.index.records() if record.address.path == "a.md"]
        assert list(site_with(base.collection, records).navigation.places) == ["a.md"]


def test_what_a_declaration_names_and_is_not_there_is_told(tmp_path: Path) -> None:
    declared = "logo: none.png\nstart: nothing\nnavigation:\n- a.md\n- Gone: gone.md\n"
    with Indexed(tmp_path, {"a.md": "# A", "commonplace.yaml": declared}) as base:
        findings = {finding.field: finding.message for finding in site_findings(base.collection)}
    assert findings.keys() == {"logo", "start", "navigation"}
    assert "gone.md" in findings["navigation"]
