"""The browser's files: built from their sources, and served under URLs that name their content."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cases import each_case
from commonplace.faces.web.pages import PREFIX, asset_at, asset_url, assets, digest

ROOT = Path(__file__).parents[5]


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


def test_every_file_is_served_at_the_url_of_its_content_alone() -> None:
    assert assets()
    for name, asset in assets().items():
        assert asset_at(asset_url(name)) == asset
        assert asset.content
        assert not asset.compressed or len(asset.compressed) < len(asset.content)
        assert asset_at(f"{PREFIX}/{'0' * len(digest())}/{name}") is None


@each_case("path", ["", "/", "/static", "/static/", "/static/../assets.py", "/other/x.css"])
def test_nothing_else_is_served(path: str) -> None:
    assert asset_at(path) is None
    assert asset_at(f"{PREFIX}/{digest()}/../assets.py") is None
