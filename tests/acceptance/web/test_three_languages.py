"""A vault in German, Arabic and Chinese in a real browser: directions, tables, diagrams, the graph."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from browser import needs_browser, opened, running
from serving import Server, served
from support import new_repo
from vaults.three_languages import FILES

pytestmark = [needs_browser, pytest.mark.xdist_group("browser")]

ARABIC, GERMAN, CHINESE = "/p/عربي/ميناء", "/p/Betrieb/Hafenordnung", "/p/中文/港口"
PLACES = """texts => {
  const at = (text) => {
    const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const start = node.data.indexOf(text);
      if (start < 0) continue;
      const range = document.createRange();
      range.setStart(node, start);
      range.setEnd(node, start + text.length);
      return range.getBoundingClientRect().x;
    }
    return -1;
  };
  return texts.map(at);
}"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    repo = new_repo(tmp_path_factory.mktemp("site") / "vault", FILES)
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
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="dark")
    yield context.new_page()
    context.close()


@pytest.mark.parametrize(
    ("path", "lang", "dir_"), [(ARABIC, "ar", "rtl"), (GERMAN, "de", "ltr"), (CHINESE, "zh", "ltr")]
)
@pytest.mark.soak
def test_a_page_has_its_language_and_direction(page: Page, server: Server, path: str, lang: str, dir_: str) -> None:
    opened(page, f"{server.url}{path}")

    expect(page.locator("article.text")).to_have_attribute("lang", lang)
    expect(page.locator("article.text")).to_have_attribute("dir", dir_)
    expect(page.locator(".outline ul")).to_have_attribute("dir", dir_)
    assert page.evaluate("getComputedStyle(document.querySelector('article.text')).hyphens") == "auto"


@pytest.mark.soak
def test_a_name_from_right_to_left_stands_before_the_number_behind_it(page: Page, server: Server) -> None:
    opened(page, f"{server.url}/overview")
    name, links = page.evaluate(PLACES, ["الميناء القديم", "from 3 pages"])
    opened(page, f"{server.url}/tags")
    tag = page.locator("li", has_text="كبيرة")
    number = tag.locator(".count").bounding_box()
    text = tag.locator("a").bounding_box()

    assert 0 < name < links
    assert number
    assert text
    assert text["x"] + text["width"] <= number["x"]


def test_a_sentence_runs_as_its_letters_do(page: Page, server: Server) -> None:
    opened(page, f"{server.url}{ARABIC}")
    sentence = page.locator(".backlinks p", has_text="المد يرفع")

    assert sentence.evaluate("one => getComputedStyle(one).direction") == "rtl"


def test_the_sides_of_a_table_are_those_that_are_written(page: Page, server: Server) -> None:
    opened(page, f"{server.url}{ARABIC}")
    sides = page.locator("article th").evaluate_all("all => all.map((one) => getComputedStyle(one).textAlign)")

    assert sides == ["start", "right", "center"]


def test_a_search_marks_words_with_their_article(page: Page, server: Server) -> None:
    opened(page, f"{server.url}/search?q=الميناء")

    expect(page.locator(".hits h2 mark").first).to_have_text("الميناء")


def test_a_diagram_follows_the_switch_between_light_and_dark(page: Page, server: Server) -> None:
    opened(page, f"{server.url}{GERMAN}")
    node = page.frame_locator("iframe.diagram").locator(".node rect").first
    fill = "one => getComputedStyle(one).fill"
    page.locator("iframe.diagram").scroll_into_view_if_needed()
    expect(node).to_be_attached(timeout=20_000)
    dark = node.evaluate(fill)
    page.locator("#_ui-theme").click()
    expect(node).not_to_have_css("fill", dark)


def test_the_sides_of_a_comparison_share_the_width(page: Page, server: Server) -> None:
    opened(page, f"{server.url}/compare{GERMAN.removeprefix('/p')}?from=")
    widths = (
        page.locator(".diff-side tbody tr").first.locator("td").evaluate_all("all => all.map((one) => one.offsetWidth)")
    )

    assert widths[0] == widths[2] < 80
    assert widths[1] == pytest.approx(widths[3], abs=2)


@pytest.mark.parametrize("width", [320, 1280])
def test_the_graph_is_as_sharp_as_the_screen_and_high_enough(browser: Browser, server: Server, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800}, device_scale_factor=2)
    page = context.new_page()
    opened(page, f"{server.url}/graph")
    canvas = page.locator("#_ui-graph-canvas")
    expect(page.locator("#_ui-graph-status")).to_have_text("12 of 12 pages are shown.")
    points, shown = canvas.evaluate("one => [[one.width, one.height], [one.clientWidth, one.clientHeight]]")
    context.close()

    assert points == [2 * shown[0], 2 * shown[1]]
    assert shown[1] >= 320
