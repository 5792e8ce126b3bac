"""The search box of an earlier version, in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from browser import needs_browser, opened, running
from serving import served
from support import new_repo

pytestmark = [needs_browser, pytest.mark.xdist_group("browser")]


@pytest.mark.soak
def test_search_on_an_earlier_version_stays_at_its_moment(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", {"plain.md": "# Plain\n\nNothing but words.\n"})
    repo.commit("Other words", **{"plain.md": "# Plain\n\nOther words.\n"})
    with served(repo.path) as server, running() as browser:
        page = browser.new_page()
        while server.ask("GET", "/", headers={"Accept": "text/html"}).status == 503:
            pass
        opened(page, f"{server.url}/history/plain")
        page.locator('main a[href*="?at="]').last.click()
        expect(page.locator("main")).to_contain_text("An earlier version")
        page.keyboard.press("/")
        page.keyboard.type("words")
        expect(page.locator("#_ui-suggestions")).to_contain_text("Nothing but words")
        page.keyboard.press("Enter")
        page.wait_for_url("**/search?q=words&at=*")
        expect(page.locator("main")).to_contain_text("From the past")
        expect(page.locator("main")).to_contain_text("Nothing but words")
