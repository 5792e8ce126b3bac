"""Every kind of page in a real browser, light and dark: axe-core finds nothing, 320 pixels are wide enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from browser import needs_browser, opened, running
from browser.bases import BASES
from npm import environment, needs_npm
from support import Amount

pytestmark = [needs_browser, needs_npm, pytest.mark.xdist_group("browser")]

AXE = "axe-core@4.14.1"
COLOURS = ["color-contrast", "link-in-text-block"]
"""Rules whose result can differ between light and dark."""


@pytest.fixture(scope="module")
def axe() -> str:
    """The program that looks for what keeps people from using a page."""
    folder = Path(environment(AXE)["PATH"].split(":")[0]).parent
    return (folder / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running() as one:
        yield one


@pytest.mark.timeout(600)  # of many pages, each read three times
@pytest.mark.parametrize("kind", list(BASES))
def test_everybody_can_use_every_page(browser: Browser, tmp_path: Path, axe: str, kind: str, amount: Amount) -> None:
    found: dict[str, object] = {}
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    page = context.new_page()
    with BASES[kind](tmp_path) as (server, paths):
        while server.ask("GET", "/", headers={"Accept": "text/html"}).status == 503:
            pass
        for path in list(paths)[:: amount(2, 1)]:
            opened(page, f"{server.url}{path}")
            wrong = _wrong(page, axe)
            if wrong:
                found[path] = wrong
    context.close()
    assert found == {}


def _wrong(page: Page, axe: str) -> Sequence[str]:
    """Accessibility violations of the open page in light mode, in dark mode, and at 320 pixels."""
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    page.evaluate(axe)
    wrong = _violations(page, {})
    page.emulate_media(color_scheme="dark")
    wrong += [f"dark: {one}" for one in _violations(page, {"runOnly": COLOURS})]
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 320, "height": 700})
    width = page.evaluate("document.documentElement.scrollWidth")
    page.set_viewport_size({"width": 1280, "height": 900})
    return [*wrong, *([f"{width} pixels wide"] if width > 320 else [])]


def _violations(page: Page, options: dict[str, object]) -> list[str]:
    result = page.evaluate("options => axe.run(options)", {"resultTypes": ["violations"], **options})
    return [f"{one['id']}: {one['nodes'][0]['html'][:160]}" for one in result["violations"]]
