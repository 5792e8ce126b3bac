"""Pages on a phone, in a narrow window and on paper: drawers, a low header, targets for fingers, all of the text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from browser import needs_browser, opened, running
from serving import Server, served
from support import new_repo

pytestmark = [needs_browser, pytest.mark.xdist_group("browser")]

WIDTHS = (320, 390, 768, 1024, 1248, 1920)
LONG = "".join(f"## Part {number}\n\n" + "Words about boats and ropes. " * 40 + "\n\n" for number in range(12))
FILES = {
    "README.md": "# A harbour with quite a long name for its site\n\nSee [[Page 30]].\n",
    "long/a.md": f"# {'Longname' * 60}\n",
    "folded.md": '# Folded\n\n=== "One"\n\n    first\n\n=== "Two"\n\n    second\n\n> [!note]- Note\n> third\n',
    "long/b.md": "# After a long name\n",
    **{f"many/page {number}.md": f"---\ntags: [a]\n---\n# Page {number}\n\n{LONG}" for number in range(90)},
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running() as other_browser:
        yield other_browser


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with served(new_repo(tmp_path_factory.mktemp("narrow") / "harbour", FILES).path) as running_server:
        while running_server.ask("GET", "/", headers={"Accept": "text/html"}).status == 503:
            pass
        yield running_server


def page_of(browser: Browser, width: int, *, scripts: bool = True) -> Page:
    return browser.new_context(viewport={"width": width, "height": 800}, java_script_enabled=scripts).new_page()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.sampled(6)
def test_every_width_has_the_navigation_and_a_low_header(browser: Browser, server: Server, width: int) -> None:
    page = page_of(browser, width)
    opened(page, f"{server.url}/p/long/b")
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "the link to the page before is broken"
    opened(page, f"{server.url}/p/many/page%2030")
    assert page.locator("#_ui-top").bounding_box()["height"] <= 56  # type: ignore[index]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    current = page.locator("#_ui-nav [aria-current=page]")
    if width <= 960:
        expect(current).to_be_hidden()
        page.locator(".nav-button").click()
    expect(current).to_be_in_viewport()
    if width <= 1280:
        page.keyboard.press("Escape")
        expect(page.locator("#_ui-info")).to_be_hidden()
        page.locator(".info-button").click()
    expect(page.locator("#_ui-info .outline a").first).to_be_in_viewport()
    page.context.close()


def test_a_print_has_the_text_of_every_tab_and_folded_part(browser: Browser, server: Server) -> None:
    page = page_of(browser, 1024, scripts=False)
    opened(page, f"{server.url}/p/folded")
    expect(page.get_by_text("second")).to_be_hidden()
    page.emulate_media(media="print")
    for text in ("first", "second", "third"):
        expect(page.get_by_text(text, exact=True)).to_be_visible()
    page.context.close()


def test_a_page_is_found_from_the_start_page_in_at_most_four_clicks(browser: Browser, server: Server) -> None:
    for width in (390, 1248):
        page = page_of(browser, width)
        opened(page, server.url)
        steps = [
            page.locator("#_ui-nav summary", has_text="many"),
            page.get_by_role("link", name="Page 42", exact=True),
        ]
        if width == 390:
            steps.insert(0, page.locator(".nav-button"))
        assert len(steps) <= 4
        for step in steps:
            step.click()
        page.wait_for_url("**/p/many/page%2042")
        page.context.close()


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
@pytest.mark.soak
def test_the_drawers_need_only_the_keyboard(browser: Browser, server: Server, scripts: bool) -> None:
    page = page_of(browser, 390, scripts=scripts)
    opened(page, f"{server.url}/p/many/page%2030")
    for _ in range(8):
        page.keyboard.press("Tab")
        if page.locator(".nav-button:focus").count():
            break
    page.keyboard.press("Enter")
    expect(page.locator("#_ui-nav")).to_be_visible()
    page.keyboard.press("Tab")
    assert page.locator("#_ui-nav :focus").count() == 1, "the next key reaches what the drawer holds"
    page.keyboard.press("Escape")
    expect(page.locator("#_ui-nav")).to_be_hidden()
    expect(page.locator(".nav-button")).to_be_focused()
    page.locator(".info-button").focus()
    page.keyboard.press("Enter")
    page.locator("#_ui-info .outline a", has_text="Part 11").press("Enter")
    page.wait_for_url("**#part-11")
    if scripts:
        expect(page.locator("#_ui-info")).to_be_hidden()
    expect(page.locator("#part-11")).to_be_in_viewport()
    page.context.close()


@pytest.mark.soak
def test_the_header_is_away_while_somebody_reads_down(browser: Browser, server: Server) -> None:
    page = page_of(browser, 390)
    opened(page, f"{server.url}/p/many/page%2030")
    header = page.locator("#_ui-top")
    page.mouse.wheel(0, 1500)
    expect(header).not_to_be_in_viewport()
    page.mouse.wheel(0, -300)
    expect(header).to_be_in_viewport()
    page.context.close()


def test_search_is_one_touch_away(browser: Browser, server: Server) -> None:
    page = page_of(browser, 390)
    opened(page, f"{server.url}/p/many/page%2030")
    page.locator(".search-link").click()
    expect(page.locator("#_ui-search")).to_be_focused()
    page.keyboard.type("page 17")
    expect(page.locator("#_ui-suggestions [role=option]").first).to_be_visible()
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=page+17")
    page.context.close()
    plain = page_of(browser, 390, scripts=False)
    opened(plain, f"{server.url}/p/many/page%2030")
    plain.locator(".search-link").click()
    plain.locator(".page-search input").fill("page 17")
    plain.locator(".page-search input").press("Enter")
    plain.wait_for_url("**/search?q=page+17")
    plain.context.close()


def test_what_fingers_touch_is_large_enough(browser: Browser, server: Server) -> None:
    page = page_of(browser, 390)
    opened(page, f"{server.url}/p/many/page%2030")
    small: list[str] = []
    for opener in ("", ".nav-button", ".menu-button", ".info-button"):
        if opener:
            page.locator(opener).click()
        small += page.evaluate(
            """() => [...document.querySelectorAll("#_ui-top a, #_ui-top button, #_ui-nav a, #_ui-nav summary,"
                 + " #_ui-info a, .around a, .actions a, .crumbs a, .info-button")]
              .filter((one) => !one.closest(".local-graph") && !one.classList.contains("brand"))
              .map((one) => [one.outerHTML.slice(0, 90), one.getBoundingClientRect()])
              .filter(([, box]) => box.width && box.height < 43.9).map(([text, box]) => `${box.height}: ${text}`)"""
        )
        page.keyboard.press("Escape")
    assert small == []
    page.context.close()


def test_sections_load_when_they_are_opened(browser: Browser, server: Server) -> None:
    page = page_of(browser, 1280)
    opened(page, f"{server.url}/")
    page.locator("#_ui-nav summary", has_text="many").click()
    page.locator("#_ui-nav a", has_text="Page 59").click()
    page.wait_for_url("**/p/many/page%2059")
    expect(page.locator(".around a[rel=prev]")).to_contain_text("Page 58")
    page.locator(".around a[rel=prev]").click()
    page.wait_for_url("**/p/many/page%2058")
    page.context.close()
    plain = page_of(browser, 390, scripts=False)
    opened(plain, f"{server.url}/")
    plain.locator(".nav-button").click()
    plain.locator("#_ui-nav summary", has_text="many").click()
    plain.locator("#_ui-nav a", has_text="All 90").click()
    plain.locator("main a", has_text="Page 59").click()
    plain.wait_for_url("**/p/many/page%2059")
    plain.context.close()


@pytest.mark.soak
def test_a_large_graph_begins_as_communities_that_open(browser: Browser, tmp_path: Path) -> None:
    text = "# P{0} N{1}\n\n[[part {0}/page 0]] [[part {0}/page {2}]]\n"
    files = {
        f"part {part}/page {number}.md": text.format(part, number, number // 2)
        for part in range(3)
        for number in range(700)
    }
    with served(new_repo(tmp_path / "large", files).path) as large:
        while large.ask("GET", "/", headers={"Accept": "text/html"}).status == 503:
            pass
        page = page_of(browser, 1280)
        opened(page, f"{large.url}/graph")
        status = page.locator("#_ui-graph-status")
        expect(status).to_have_text("3 of 3 communities of linked pages are shown.", timeout=30_000)
        expect(page.locator("#_ui-graph-legend li")).to_have_count(3)
        canvas = page.locator("#_ui-graph-canvas")
        expect(canvas).to_have_attribute("data-names", "3")
        canvas.focus()
        page.keyboard.press("n")
        expect(status).to_contain_text("(700 pages)")
        page.keyboard.press("Enter")
        expect(status).to_have_text("700 of 700 pages are shown.", timeout=30_000)
        page.locator("#_ui-graph-whole").click()
        expect(status).to_contain_text("3 of 3 communities")
        page.locator("#_ui-graph-from").fill("P1 N6")
        page.locator("#_ui-graph-to").fill("P1 N3")
        expect(page.locator("#_ui-graph-path a")).to_have_text(["P1 N6", "P1 N3"])
        expect(status).to_have_text("2 of 2 pages are shown.")
        page.locator("#_ui-graph-to").fill("P2 N3")
        expect(status).to_have_text("No links lead from one of these pages to the other.")
        page.context.close()
