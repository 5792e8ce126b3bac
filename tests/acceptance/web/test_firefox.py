"""The main ways through the pages in Firefox: home, page, search as you type, history, the switch to dark."""

from __future__ import annotations

from pathlib import Path

import pytest

from browser.firefox import Firefox, firefox, needs_firefox
from serving import Server, served
from support import new_repo
from vaults.three_languages import FILES

pytestmark = [needs_firefox, pytest.mark.xdist_group("browser")]

HEADING = "document.querySelector('h1')?.textContent"


@pytest.mark.timeout(300)  # a second browser starts, and nothing of it is warm
@pytest.mark.soak
def test_the_main_ways(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "vault", FILES)
    rules = repo.path / "Betrieb" / "Hafenordnung.md"
    rules.write_text(rules.read_text().replace("in Metern.", "in Metern und Zentimetern."))
    repo.git("commit", "-qam", "Genauer")
    (tmp_path / "profile").mkdir()
    with served(repo.path) as server, firefox(tmp_path / "profile") as browser:
        while server.ask("GET", "/", headers={"Accept": "text/html"}).status == 503:
            pass
        _home_and_page(browser, server)
        _search_as_you_type(browser)
        _history(browser)
        _dark(browser, server)
        _small_and_from_right_to_left(browser, server)


def _home_and_page(browser: Firefox, server: Server) -> None:
    browser.open(f"{server.url}/")
    assert browser.evaluate(HEADING).startswith("Start")
    browser.evaluate("void document.querySelector('main a[href*=Hafenordnung]').click()")
    browser.until("document.querySelector('article.text')")
    browser.until("document.querySelector('.katex')")
    browser.evaluate("void document.querySelector('iframe.diagram').scrollIntoView()")
    browser.until("document.querySelector('.mermaid-block pre').hidden")  # it is drawn
    assert browser.evaluate("document.querySelectorAll('.copy').length") == 1
    assert browser.evaluate("document.querySelector('article img').naturalWidth") == 480
    assert browser.evaluate("getComputedStyle(document.querySelector('article')).hyphens") == "auto"


def _search_as_you_type(browser: Firefox) -> None:
    browser.press("/", *"Gezei")
    browser.until("document.querySelector('#_ui-suggestions[data-query=Gezei] [role=option] mark')")
    browser.press("ArrowDown", "Enter")
    browser.until("location.pathname === '/p/Betrieb/Gezeiten'")
    browser.until("document.readyState === 'complete'")


def _history(browser: Firefox) -> None:
    browser.evaluate("void (location.href = '/history/Betrieb/Hafenordnung')")
    browser.until("document.querySelector('.history button, form .button')")
    browser.evaluate("void document.querySelector('main form button').click()")
    browser.until("location.pathname.startsWith('/compare/')")
    browser.until("document.readyState === 'complete'")
    assert browser.evaluate("document.querySelector('.diff .new mark').textContent").strip() == "und Zentimetern"


def _dark(browser: Firefox, server: Server) -> None:
    browser.evaluate("void document.getElementById('_ui-theme').click()")
    chosen = browser.evaluate("document.documentElement.dataset.theme")
    browser.open(f"{server.url}/tags")
    assert browser.evaluate("document.documentElement.dataset.theme") == chosen
    ground = {"dark": "rgb(23, 25, 28)", "light": "rgb(253, 252, 249)"}[chosen]
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == ground


def _small_and_from_right_to_left(browser: Firefox, server: Server) -> None:
    browser.call("browsingContext.setViewport", context=browser.window, viewport={"width": 320, "height": 700})
    for path in (
        "/",
        "/p/Betrieb/Hafenordnung",
        "/p/عربي/ميناء",
        "/search?q=Lotse",
        "/graph",
        "/compare/Betrieb/Hafenordnung",
    ):
        browser.open(f"{server.url}{path}")
        assert browser.evaluate("document.documentElement.scrollWidth") <= 320, path
    browser.open(f"{server.url}/p/عربي/ميناء")
    assert browser.evaluate("getComputedStyle(document.querySelector('article')).direction") == "rtl"
