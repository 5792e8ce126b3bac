"""The site of a base: its title, its start page, and what is wrong in its declaration."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commonplace.domain.json import Json
from commonplace.services import sites
from commonplace.services.sites import KnownNavigation, Sites, known_navigation, site_findings, site_with
from indexed import Indexed


@pytest.mark.parametrize(
    ("files", "start", "title"),
    [
        ({"a.md": "# A"}, "", "base"),
        ({"readme.md": "# Readme", "a.md": "# A"}, "readme.md", "base"),
        ({"Home.md": "# The tea house", "README.md": "# R"}, "Home.md", "The tea house"),
        ({"a.md": "# A", "commonplace.yaml": "start: a\ntitle: Teas\n"}, "a.md", "Teas"),
        ({"Home.md": "# H", "commonplace.yaml": "start: none\n"}, "Home.md", "H"),
        (
            {"docs/source/conf.py": "extensions = ['myst_parser']", "docs/source/index.md": "# I"},
            "docs/source/index.md",
            "I",
        ),
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
        assert list(site_with(base.collection, records)[0].navigation.places) == ["a.md"]


def test_what_a_declaration_names_and_is_not_there_is_told(tmp_path: Path) -> None:
    declared = "logo: none.png\nstart: nothing\nnavigation:\n- a.md\n- Gone: gone.md\n"
    with Indexed(tmp_path, {"a.md": "# A", "commonplace.yaml": declared}) as base:
        findings = {finding.field: finding.message for finding in site_findings(base.collection)}
    assert findings.keys() == {"logo", "start", "navigation"}
    assert "gone.md" in findings["navigation"]
    declared = "publish:\n  exclude: [intrenal, INTERNAL, a, Drafts/b.md, files, other.md]\n"
    pages = {"internal/x.md": "# X", "a.md": "# A", "drafts/b.md": "# B", "files/a.png": "x"}
    with Indexed(tmp_path / "excluding", {**pages, "commonplace.yaml": declared}) as base:
        findings = [(finding.field, finding.message) for finding in site_findings(base.collection)]
    assert [field for field, _ in findings] == ["publish.exclude"] * 2
    assert ["intrenal" in findings[0][1], "other.md" in findings[1][1]] == [True, True]


def test_what_a_browser_refuses_and_a_page_named_twice_are_told(tmp_path: Path) -> None:
    files = {
        "a.md": "# A",
        "b/b.md": "# B",
        "x.svg": '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
        "plain.svg": '<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0h1"/></svg>',
        "x.css": "/* url(https://a.example/) */\n@import '//far.example/x.css';\n",
        "font.css": '@font-face { src: url( "HTTPS://far.example/f.woff2") }',
        "plain.css": "/* @import url(https://a.example/x.css) */ p { background: url(data:image/png;base64,AAAA) }",
        "commonplace.yaml": "",
    }
    cases: list[tuple[str, dict[str, str]]] = [
        ("logo: x.svg\nfavicon: plain.svg\n", {"logo": "a script"}),
        ("favicon: x.svg\nstyle: plain.css\n", {"favicon": "a script"}),
        ("style: x.css\n", {"style": "//far.example/x.css"}),
        ("style: font.css\n", {"style": "HTTPS://far.example/f.woff2"}),
        ("navigation:\n- a.md\n- b/b.md\n- b\n", {}),
        ("navigation:\n- a.md\n- Part:\n  - Again: a\n", {"navigation": "the page a.md more than once"}),
    ]
    with Indexed(tmp_path, files) as base:
        for declared, expected in cases:
            base.write("commonplace.yaml", declared)
            findings = {finding.field: finding.message for finding in site_findings(base.collection)}
            assert findings.keys() == expected.keys(), (declared, findings)
            assert all(part in findings[key] for key, part in expected.items()), findings


def test_a_known_navigation_is_taken_as_long_as_all_that_it_was_built_of_is_the_same(tmp_path: Path) -> None:
    files = {
        "docs/toc.yml": "- name: One\n  href: a.md\n- name: More\n  href: more/toc.yml\n",
        "docs/more/toc.yml": "- name: Two\n  href: b.md\n",
        "docs/a.md": "---\nnav_order: 1\nnote: x\n---\n# A\n",
        "docs/more/b.md": "# B\n",
        "docs/c.md": "# C\n",
    }
    with Indexed(tmp_path, files) as base:

        def again(known: KnownNavigation | None) -> KnownNavigation:
            base.index.sync()
            site, now = site_with(base.collection, base.index.records(), known)
            fresh, _ = site_with(base.collection, base.index.records())
            assert site.navigation == fresh.navigation
            return now

        first = again(None)
        stored = known_navigation(json.loads(json.dumps(first.as_json())))
        assert stored == first
        base.write("docs/a.md", "---\nnav_order: 1\nnote: y\n---\n# A\n\nMore text.\n")
        assert again(stored) is stored, "neither texts nor other keys matter"
        changes = {
            "docs/a.md": "---\nnav_order: 2\n---\n# A\n",
            "docs/c.md": "# Another title\n",
            "docs/more/toc.yml": "- name: Three\n  href: b.md\n",
            "docs/d.md": "# D\n",
            "commonplace.yaml": "navigation: [docs/c.md]\n",
        }
        known = first
        for path, text in changes.items():
            base.write(path, text)
            before, known = known, again(known)
            assert known != before, path
    others: list[Json] = [None, [], {}, {"roots": [1]}, {"roots": [["a"]]}, {"roots": "x", "texts": 1}]
    for wrong in others:
        assert known_navigation(wrong) is None or known_navigation(wrong) != first
