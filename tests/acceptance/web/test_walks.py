"""Sites walked by their pages alone: each page in four clicks from the start page, in two browsers and every width.

`WALKED` names further folders to walk, divided as in `PATH`; `PICTURES` a folder for a picture of each page.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser

from browser import needs_browser, opened, running
from browser.accessibility import SCHEMES, WIDTHS, violations_in
from browser.firefox import firefox, needs_firefox
from browser.walks import ChromiumWindow, FirefoxWindow, Window, clicks_to
from docs_trees import TREES
from npm import needs_npm
from serving import Server, served
from support import Corpora, new_repo
from vaults.three_languages import FILES

pytestmark = [needs_browser, needs_npm, pytest.mark.xdist_group("browser"), pytest.mark.soak, pytest.mark.timeout(3600)]

MOST_CLICKS = 4
TARGETS = 6
"""Number of pages of a base to which the navigation is followed, in each width: as many of them are deepest."""
OTHER_KINDS = (
    *("/overview", "/section/0", "/search?q=install", "/search?q=qqqq", "/tags", "/types", "/timeline", "/tree/"),
    *("/recent", "/wanted", "/broken", "/orphans", "/findings", "/attachments", "/graph", "/p/nowhere"),
)
OF_PAGES = ("p", "history", "sections", "agent", "mentions", "compare", "backlinks")
CORPORA = ("cpp-docs", "powershell-docs")
TREES_BY_NAME = {tree.name: tree for tree in TREES}
FOLDERS = [folder for folder in os.environ.get("WALKED", "").split(os.pathsep) if folder]
BASES = ["vault", *CORPORA, *TREES_BY_NAME, *FOLDERS]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running() as chromium:
        yield chromium


def folder_of(base: str, corpora: Corpora, place: Path) -> Path:
    if base in CORPORA:
        return corpora(base)
    if base in FOLDERS:
        return Path(base)
    return new_repo(place / "base", FILES if base == "vault" else TREES_BY_NAME[base].files).path


def wait_ready(server: Server) -> None:
    while server.ask("GET", "/tags", headers={"Accept": "text/html"}).status == 503:
        pass


def pages_of(folder: Path) -> Sequence[str]:
    """Paths of some pages in URLs: the deepest ones, and others at equal distances."""
    files = [file.relative_to(folder) for file in folder.rglob("*.md")]
    files = [file for file in files if not any(part.startswith(".") for part in file.parts)]
    by_depth = sorted(files, key=lambda file: (-len(file.parts), file.as_posix()))
    chosen = dict.fromkeys([*by_depth[:TARGETS], *sorted(files)[:: max(1, len(files) // TARGETS)]])
    return [quote(file.with_suffix("").as_posix()) for file in chosen]


@needs_firefox
@pytest.mark.parametrize("base", BASES)
def test_a_page_is_found_in_four_clicks(browser: Browser, corpora: Corpora, tmp_path: Path, base: str) -> None:
    folder = folder_of(base, corpora, tmp_path)
    (tmp_path / "profile").mkdir()
    with served(folder) as server, firefox(tmp_path / "profile") as other_browser:
        wait_ready(server)
        most: dict[tuple[str, int], int] = {}
        for width in (390, 1248):
            page = browser.new_context(viewport={"width": width, "height": 800}).new_page()
            size = {"width": width, "height": 800}
            other_browser.call("browsingContext.setViewport", context=other_browser.window, viewport=size)
            windows: dict[str, Window] = {"Chromium": ChromiumWindow(page), "Firefox": FirefoxWindow(other_browser)}
            for name, window in windows.items():
                for path in pages_of(folder):
                    clicks = clicks_to(window, f"{server.url}/", f"{server.url}/p/{path}")
                    most[name, width] = max(most.get((name, width), 0), len(clicks))
                    assert len(clicks) <= MOST_CLICKS, (name, width, path, clicks)
            page.context.close()
    sys.stderr.write(f"{base}: {most}\n")


@pytest.mark.parametrize("base", BASES)
def test_every_kind_of_page_is_right_in_six_widths(
    browser: Browser, corpora: Corpora, tmp_path: Path, base: str
) -> None:
    folder = folder_of(base, corpora, tmp_path)
    pictures = os.environ.get("PICTURES", "")
    kept = Path(pictures or tmp_path) / Path(base).name
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    wrongs: dict[str, Sequence[str]] = {}
    with served(folder) as server:
        wait_ready(server)
        page = browser.new_context(viewport={"width": 1248, "height": 900}).new_page()
        chosen = pages_of(folder)
        paths = ["/", *(f"/p/{path}" for path in chosen[:2]), *OTHER_KINDS]
        paths += [f"/{kind}/{chosen[-1]}" for kind in OF_PAGES]
        for number, path in enumerate(paths):
            opened(page, f"{server.url}{path}")
            for width, scheme, violations in violations_in(page, WIDTHS, SCHEMES):
                # Levels of headings that a text skips are its author's.
                wrong = [
                    text for text in violations if not (path.startswith("/p/") and text.startswith("heading-order"))
                ]
                if wrong:
                    wrongs[f"{path} {width} {scheme}"] = wrong
                if pictures:
                    name = f"{number:02}{path.partition('?')[0].replace('/', '-')[:30]}-{width}-{scheme}.png"
                    page.screenshot(path=kept / name)
        page.context.close()
    assert wrongs == {}
