"""Everything that pages offer is done by keyboard alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from browser import needs_browser, opened, running
from serving import Server, served
from support import new_repo
from vaults.three_languages import FILES

pytestmark = [needs_browser, pytest.mark.xdist_group("browser")]

RULES = "/p/Betrieb/Hafenordnung"
MAX_STOPS = 200
FOCUSED = """() => {
  const one = document.activeElement, style = getComputedStyle(one);
  return { tag: one.tagName, text: (one.ariaLabel || one.textContent || one.value || "").trim().slice(0, 60),
           outlined: style.outlineStyle !== "none" || one.matches("input, select") };
}"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    repo = new_repo(tmp_path_factory.mktemp("site") / "vault", FILES)
    rules = repo.path / "Betrieb" / "Hafenordnung.md"
    rules.write_text(rules.read_text().replace("in Metern.", "in Metern und Zentimetern."))
    repo.git("commit", "-qam", "Genauer")
    with served(repo.path) as running_server:
        while running_server.ask("GET", "/", headers={"Accept": "text/html"}).status == 503:
            pass
        yield running_server


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running() as other_browser:
        yield other_browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(
        viewport={"width": 1280, "height": 900}, permissions=["clipboard-read", "clipboard-write"]
    )
    yield context.new_page()
    context.close()


def reach(page: Page, text: str) -> None:
    """Press Tab until what has this text is focused; every stop on the way shows that it is focused."""
    for _ in range(MAX_STOPS):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        assert focused["tag"] == "BODY" or focused["outlined"], focused
        if focused["text"].startswith(text):
            return
    raise AssertionError(f"Tab does not reach {text!r}")


@pytest.mark.soak
def test_the_first_stop_leads_past_the_menu_to_the_text(page: Page, server: Server) -> None:
    opened(page, f"{server.url}/")
    reach(page, "Skip to the text")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")

    assert page.evaluate("document.querySelector('main').contains(document.activeElement)")


@pytest.mark.soak
def test_the_switch_between_light_and_dark(page: Page, server: Server) -> None:
    opened(page, f"{server.url}/")
    reach(page, "Switch between light and dark")
    page.keyboard.press("Space")

    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_code_is_copied_callouts_unfold_and_previews_show(page: Page, server: Server) -> None:
    opened(page, f"{server.url}{RULES}")
    reach(page, "Und bei Sturm?")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Dann warten alle vor der Mole.")).to_be_visible()
    reach(page, "Gezeiten")
    expect(page.locator(".preview")).to_contain_text("Ebbe und Flut.")
    page.keyboard.press("Escape")
    expect(page.locator(".preview")).to_have_count(0)
    reach(page, "Copy")
    page.keyboard.press("Enter")
    expect(page.locator(".copy")).to_have_text("Copied")
    assert "def tiefe" in page.evaluate("navigator.clipboard.readText()")


@pytest.mark.soak
def test_who_wrote_what_and_mentions_are_shown(page: Page, server: Server) -> None:
    opened(page, f"{server.url}/p/Betrieb/Gezeiten")
    reach(page, "Who wrote what")
    page.keyboard.press("Enter")
    expect(page.locator("article .written").first).to_contain_text("Test Writer")
    reach(page, "Mentions without a link")
    page.keyboard.press("Enter")
    expect(page.locator(".mentions")).to_contain_text("Der Lotse kennt")


@pytest.mark.soak
def test_two_versions_are_chosen_and_compared(page: Page, server: Server) -> None:
    opened(page, f"{server.url}/history/Betrieb/Hafenordnung")
    reach(page, "From ")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowDown")
    reach(page, "Compare")
    page.keyboard.press("Enter")
    page.wait_for_url("**/compare/**")
    expect(page.locator(".diff .new mark")).to_have_text("und Zentimetern", use_inner_text=True)
    reach(page, "Inline")
    page.keyboard.press("Enter")
    expect(page.locator(".diff-inline")).to_be_visible()


@pytest.mark.soak
def test_a_search_is_narrowed_and_widened_again(page: Page, server: Server) -> None:
    opened(page, f"{server.url}/search?q=Lotse")
    reach(page, "Narrow down")
    page.keyboard.press("Enter")
    reach(page, "regeln/hafen")
    page.keyboard.press("Enter")
    page.wait_for_url("**tag**")
    expect(page.locator(".hits > li")).to_have_count(1)
    reach(page, "tag:regeln/hafen")
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "tag" not in url)


@pytest.mark.soak
def test_the_graph_is_filtered_and_a_page_of_it_opened(page: Page, server: Server) -> None:
    opened(page, f"{server.url}/graph")
    status = page.locator("#_ui-graph-status")
    expect(status).to_have_text("12 of 12 pages are shown.")
    reach(page, "")
    page.locator("#_ui-graph-find").focus()
    page.keyboard.type("Lotse")
    expect(status).to_have_text("1 of 12 pages are shown.")
    reach(page, "Pages as points")
    page.keyboard.press("n")
    expect(status).to_contain_text("Chosen: Lotse; Enter opens it.")
    page.keyboard.press("Enter")
    page.wait_for_url("**/p/Betrieb/Lotse")


@pytest.mark.soak
def test_parts_that_scroll_are_reached(page: Page, server: Server) -> None:
    opened(page, f"{server.url}{RULES}")
    unreachable = page.evaluate(
        """[...document.querySelectorAll("main *")].filter((one) => one.scrollWidth > one.clientWidth + 1
          && ["auto", "scroll"].includes(getComputedStyle(one).overflowX)
          && one.tabIndex < 0).map((one) => one.outerHTML)"""
    )

    assert unreachable == []


def test_a_question_mark_lists_the_keys_and_each_does_what_it_says(page: Page, server: Server) -> None:
    opened(page, f"{server.url}/p/Betrieb/Gezeiten")
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    expect(keys).to_contain_text("search, also Ctrl K")
    expect(keys).not_to_contain_text("edit this page")  # nobody can edit here
    page.keyboard.press("Escape")
    expect(keys).to_have_count(0)
    following = page.locator(".around a[rel=next]").get_attribute("href")
    page.keyboard.press("]")
    page.wait_for_url(f"{server.url}{following}")
    page.keyboard.press("[")
    page.wait_for_url(f"{server.url}/p/Betrieb/Gezeiten")
    page.keyboard.press("/")
    page.keyboard.type("?]")
    expect(page.locator("#_ui-search")).to_have_value("?]")
    expect(keys).to_have_count(0)
