"""Every kind of page in a real browser, light and dark: axe-core finds nothing, 320 pixels are wide enough."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from browser import needs_browser, opened, running
from browser.accessibility import violations
from browser.bases import BASES
from npm import needs_npm
from support import Amount

pytestmark = [needs_browser, needs_npm, pytest.mark.xdist_group("browser")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running() as other_browser:
        yield other_browser


@pytest.mark.timeout(600)  # of many pages, each read three times
@pytest.mark.parametrize("kind", list(BASES))
@pytest.mark.sampled(2)
def test_everybody_can_use_every_page(browser: Browser, tmp_path: Path, kind: str, amount: Amount) -> None:
    wrongs: dict[str, object] = {}
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    page = context.new_page()
    with BASES[kind](tmp_path) as (server, paths):
        while server.ask("GET", "/", headers={"Accept": "text/html"}).status == 503:
            pass
        for path in list(paths)[:: amount(6, 1)]:
            opened(page, f"{server.url}{path}")
            wrong = violations(page)
            if wrong:
                wrongs[path] = wrong
    context.close()
    assert wrongs == {}
