"""Small parts of the pages: URLs, queries, differences, sign-in targets, the state of built files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from commonplace.faces.web.query_text import read_query
from commonplace.faces.web.signin import local_target
from commonplace.faces.web.urls import Urls
from commonplace.services.site.differences import differences

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize(
    ("collection", "path", "url"),
    [
        ("one", "notes/a b.md", "/p/notes/a%20b"),
        ("two", "notes/a.md", "/p/@two/notes/a"),
        ("one", "@types/a.md", "/p/@one/@types/a"),
        ("one", "notes/潮.md", "/p/notes/%E6%BD%AE"),
        ("one", "a?b#c%d.md", "/p/a%3Fb%23c%25d"),
        ("one", "x.markdown", "/p/x.markdown"),
    ],
)
def test_a_path_has_one_url(collection: str, path: str, url: str) -> None:
    assert Urls("one").page(collection, path) == url


@pytest.mark.parametrize(
    "target", ["https://far.example", "//far.example", "/\\far.example", "", "/sign-out", "/a\r\nb"]
)
def test_signing_in_never_leads_elsewhere(target: str) -> None:
    assert local_target(target) == "/"


def test_signing_in_leads_back() -> None:
    assert local_target("/p/notes/a?part=2") == "/p/notes/a?part=2"


def test_operators_are_read_from_a_query() -> None:
    query = read_query({"q": 'restore type:runbook tag:"on call" in:docs after:2026-01-31 a:b', "tag": "x"})

    assert query.words == "restore a:b"
    assert [chip.text for chip in query.chips] == [
        "type:runbook", 'tag:"on call"', "in:docs", "after:2026-01-31", "tag:x",
    ]  # fmt: skip
    assert query.filter().prefix == "docs/"
    assert query.filter().updated_from == "2026-01-31"
    assert "type:runbook" not in query.without(query.chips[0])


def test_a_comparison_marks_the_words_that_differ() -> None:
    rows = differences("same\nthe old word\nlast\n", "same\nthe new word\nlast\nmore\n")

    changed = next(row for row in rows if row.kind == "changed")
    assert [text for is_changed, text in changed.old if is_changed] == ["old"]
    assert [text for is_changed, text in changed.new if is_changed] == ["new"]
    assert [row.kind for row in rows if row.kind != "same"] == ["changed", "added"]
    assert differences("a\nb", "a\nb") == []


def test_a_comparison_of_long_versions_is_bounded() -> None:
    old = "\n".join(f"line {number}" for number in range(20_000))

    rows = differences(old, old.replace("line 10000\n", "changed\n"))

    assert [row.kind for row in rows if row.kind != "gap"] == ["changed"]


def test_the_browsers_files_were_built_from_their_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    sys.modules.pop("build_web", None)
    import build_web  # noqa: PLC0415

    stamp = (build_web.STATIC / build_web.STAMP).read_text(encoding="utf-8").strip()
    assert stamp == build_web.sources_digest(), "run make web"


def test_the_lock_of_npm_packages_names_no_download_address() -> None:
    lock = (ROOT / "src/commonplace/faces/web/browser/package-lock.json").read_text(encoding="utf-8")

    assert '"resolved"' not in lock
    assert '"integrity": "sha512-' in lock
