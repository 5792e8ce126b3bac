"""The pages in a real browser: nothing of a document runs, everybody can use them, the keyboard is enough."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Error, Page, Request, expect

from browser import needs_browser, opened, running
from browser.accessibility import violations
from commonplace.faces.web.urls import Urls
from hostile.scripts import pages
from npm import needs_npm
from serving import Server, served
from support import Amount, new_repo

pytestmark = [needs_browser, pytest.mark.xdist_group("browser")]

RECORD = """
window.ran = [];
for (const name of ['alert', 'confirm', 'prompt', 'print', 'open'])
  Object.defineProperty(window, name, { value: (...given) => window.ran.push([name, ...given].join(' ')) });
"""
FILES: dict[str, str | bytes] = {
    "index.md": "---\ntags: [start]\n---\n# Handbook\n\nSee [[Guide]] and [[Not yet]].\n",
    "guides/guide.md": "---\ntitle: Guide\ntype: note\ntags: [how/to]\n---\n"
    "Intro with `code` and [[index]].\n\n> [!warning] Mind\n> This.\n\n## Setup\n\n```python\nx = 1  # one\n```\n\n"
    "| a | b |\n|---|--:|\n| 1 | 2 |\n\n- [x] done\n\n![[pic.svg]]\n\n"
    "## Use\n\n$a^2$\n\n```mermaid\ngraph TD\nA-->B\n```\n\n"
    "x[^1]\n\n[^1]: A note.\n" + "Line.\n\n" * 60,
    "guides/plain.md": "# Plain\n\nNothing but words about installing.\n",
    "files/pic.svg": '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>',
    "guides/versions.md": '# Versions\n\n=== "Linux"\n\n    Use make.\n\n=== "macOS"\n\n    Use brew.\n\n'
    '::: moniker range=">=tool-10"\n## New way\n::: moniker-end\n\n::: moniker range="<=tool-9"\nThe old way.\n'
    "::: moniker-end\n\n```py [a.py] {2}\na = 1\nb = 2\n```\n",
    "broken.md": "---\ntags: [a\n---\n# Broken\n\nText.\n",
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running() as other_browser:
        yield other_browser


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    repo = new_repo(tmp_path_factory.mktemp("site") / "handbook", FILES)
    (repo.path / "guides/plain.md").write_text("# Plain\n\nOther words about installing.\n")
    repo.git("commit", "-qam", "Other words")
    with served(repo.path) as running_server:
        wait_indexed(running_server)
        yield running_server


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield context.new_page()
    context.close()


def wait_indexed(server: Server) -> None:
    while server.ask("GET", "/", headers={"Accept": "text/html"}).status == 503:
        pass


def test_no_payload_runs_and_nothing_is_loaded_from_elsewhere(browser: Browser, tmp_path: Path, amount: Amount) -> None:
    planted = list(pages())
    assert len(planted) >= 400
    repo = new_repo(tmp_path / "hostile", dict(planted))
    with served(repo.path) as server:
        wait_indexed(server)
        context = browser.new_context()
        context.add_init_script(RECORD)
        page = context.new_page()
        foreign: list[str] = []
        answers: list[int] = []

        def noted(request: Request) -> None:
            if not request.url.startswith((server.url, "about:", "blob:null")):
                foreign.append(f"{page.url}: {request.url}")

        context.on("request", noted)
        urls = Urls("hostile")
        chosen = planted[:: -(-len(planted) // amount(8, len(planted)))]
        joined = "\n\n".join(text for _, text in planted if not text.startswith("---"))
        (repo.path / "all.md").write_text(joined)
        paths = [urls.page("hostile", path) for path, _ in chosen]
        paths += ["/", "/tags", "/types", "/recent", "/wanted", "/findings", "/tree/names/", "/graph", "/p/all"]
        paths += [f"/search?q={quote(text)}" for _, text in planted[:240:120]]
        for path in paths:
            answered = page.goto(f"{server.url}{path}", wait_until="load")
            answers.append(answered.status if answered else 0)
            ran = page.evaluate("window.ran")
            assert ran == [], path
        context.close()
    assert foreign == []
    assert answers.count(200) >= len(answers) - 3, "the pages themselves are shown"


def test_the_payloads_would_run_without_the_sanitizer(browser: Browser) -> None:
    context = browser.new_context()
    context.add_init_script(RECORD)
    page = context.new_page()
    ran = 0
    every = list(pages())
    for _, text in every[:105:7] + every[265:300]:
        with suppress(Error):  # some of them navigate
            page.set_content(f"<!doctype html><body>{text}", wait_until="load", timeout=1_000)
            ran += bool(page.evaluate("(window.ran ?? []).splice(0).length"))
    context.close()
    assert ran >= 15


def test_search_as_you_type_needs_only_the_keyboard(page: Page, server: Server) -> None:
    opened(page, f"{server.url}/")
    page.keyboard.press("/")
    page.keyboard.type("insta")
    option = page.locator("#_ui-suggestions [role=option]")
    expect(option).to_have_count(1)
    expect(option).to_contain_text("Plain")
    page.keyboard.press("ArrowDown")
    expect(option).to_have_attribute("aria-selected", "true")
    page.keyboard.type("l")
    expect(page.locator("#_ui-suggestions")).to_have_attribute("data-query", "instal")
    expect(option).to_have_attribute("aria-selected", "true")  # a later answer does not take the choice away
    page.keyboard.press("Enter")
    page.wait_for_url("**/p/guides/plain")
    page.keyboard.press("Control+k")
    expect(page.locator("#_ui-search")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#_ui-suggestions")).to_be_hidden()


def test_formulas_and_diagrams_are_drawn(page: Page, server: Server) -> None:
    opened(page, f"{server.url}/p/guides/guide")
    expect(page.locator(".katex").first).to_be_visible(timeout=20_000)
    frame = page.frame_locator("iframe.diagram")
    expect(frame.locator("svg").first).to_be_visible(timeout=20_000)
    assert page.locator("iframe.diagram").get_attribute("sandbox") == "allow-scripts"
    expect(page.locator(".mermaid-block pre")).to_be_hidden()


def test_a_link_shows_a_preview_and_escape_closes_it(page: Page, server: Server) -> None:
    opened(page, f"{server.url}/p/index")
    page.locator("a.page-link").first.hover()
    preview = page.locator(".preview")
    expect(preview).to_contain_text("Intro with")
    page.keyboard.press("Escape")
    expect(preview).to_have_count(0)


def test_the_switch_keeps_dark_across_pages(page: Page, server: Server) -> None:
    page.emulate_media(color_scheme="light")
    opened(page, f"{server.url}/")
    page.locator("#_ui-theme").click()
    opened(page, f"{server.url}/tags")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(23, 25, 28)"


@pytest.mark.soak
def test_a_page_that_changes_while_it_is_read_says_so(page: Page, tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "live", {"a.md": "# A\n\nBefore.\n"})
    with served(repo.path) as server:
        wait_indexed(server)
        with page.expect_response("**/events"):
            opened(page, f"{server.url}/p/a")
        expect(page.locator("footer.page-foot")).to_contain_text("Linked from 0 pages")
        (repo.path / "b.md").write_text("# B\n\n[[a]]\n")
        (repo.path / "a.md").write_text("# A\n\nAfter.\n")
        expect(page.locator("#_ui-live")).to_contain_text("This page has changed.", timeout=15_000)
        expect(page.locator("article")).to_contain_text("Before.")
        page.evaluate("window.same = true")
        page.get_by_text("Show what changed").click()
        expect(page.locator("article .insertion")).to_have_text("After.")
        expect(page.locator("article .deletion")).to_have_text("Before.")
        expect(page.locator("#_ui-live")).to_contain_text("1 new, 1 gone")
        assert page.evaluate("window.same"), "the page was not loaded again"
        expect(page.locator("footer.page-foot")).to_contain_text("Linked from 1 page")
        page.get_by_role("link", name="Who wrote what").click()
        expect(page.locator("footer.page-foot")).to_contain_text("Linked from 1 page")
        page.get_by_text("Without marks").click()
        expect(page.locator("article .insertion")).to_have_count(0)
        expect(page.locator("article")).to_contain_text("After.")


def test_nothing_jumps_when_a_change_above_the_reader_is_shown(page: Page, tmp_path: Path) -> None:
    lines = "".join(f"Line {number} of the text.\n\n" for number in range(200))
    repo = new_repo(tmp_path / "live", {"a.md": f"# A\n\n{lines}"})
    with served(repo.path) as server:
        wait_indexed(server)
        with page.expect_response("**/events"):
            opened(page, f"{server.url}/p/a")
        line = page.get_by_text("Line 100 of the text.")
        line.scroll_into_view_if_needed()
        before = line.bounding_box()
        (repo.path / "a.md").write_text(f"# A\n\n{'More words above. ' * 300}\n\n{lines}")
        page.get_by_text("Show what changed").click(timeout=15_000)
        expect(page.locator("article .insertion")).to_have_count(1)
        after = line.bounding_box()
    assert before
    assert after
    assert abs(before["y"] - after["y"]) < 2


def test_a_commit_that_renamed_a_page_of_a_long_path_fits_a_narrow_window(page: Page, tmp_path: Path) -> None:
    long = "a_folder_whose_name_is_long_and_has_no_blanks"
    repo = new_repo(tmp_path / "long", {f"{long}/and_a_page_in_it_whose_name_is_long.md": "# A\n\nText that stays.\n"})
    repo.git("mv", long, f"{long}_and_is_new")
    repo.commit("Move")
    with served(repo.path) as server:
        wait_indexed(server)
        page.set_viewport_size({"width": 320, "height": 700})
        opened(page, f"{server.url}/commit/{repo.git('rev-parse', 'HEAD')}")
        expect(page.locator(".file h2")).to_contain_text("renamed from")
        assert page.evaluate("document.documentElement.scrollWidth") <= 320


@pytest.mark.soak
def test_below_each_section_stands_on_demand_who_wrote_it(page: Page, server: Server) -> None:
    opened(page, f"{server.url}/p/guides/guide")
    page.get_by_role("link", name="Who wrote what").click()
    expect(page.locator("article .written")).to_have_count(3)
    expect(page.locator("article .written").first).to_contain_text("Test Writer")
    page.get_by_role("link", name="Who wrote what").click()
    expect(page.locator("article .written")).to_have_count(0)


def test_without_scripts_every_page_can_be_read(browser: Browser, server: Server) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    opened(page, f"{server.url}/p/guides/guide")
    page.locator("#_ui-search").fill("install")
    page.locator("#_ui-search").press("Enter")
    page.get_by_role("link", name="Plain").click()
    expect(page.locator("article")).to_contain_text("Other words")
    context.close()


def test_a_page_weighs_little(page: Page, server: Server) -> None:
    weights: list[int] = []
    page.on("response", lambda answer: weights.append(int(answer.headers.get("content-length", "0"))))
    opened(page, f"{server.url}/p/guides/plain")

    assert 0 < sum(weights) <= 120_000


@needs_npm
@pytest.mark.soak
def test_tabs_and_versions_show_one_part_at_a_time_and_a_link_to_a_hidden_part_shows_it(
    page: Page, server: Server
) -> None:
    opened(page, f"{server.url}/p/guides/versions")
    expect(page.get_by_text("Use make.")).to_be_visible()
    expect(page.get_by_text("Use brew.")).to_be_hidden()
    page.get_by_text("macOS").click()
    expect(page.get_by_text("Use brew.")).to_be_visible()
    expect(page.get_by_text("Use make.")).to_be_hidden()
    expect(page.locator(".line.marked")).to_have_text("b = 2")
    assert page.get_by_text("Use brew.").bounding_box()["x"] < 700  # type: ignore[index]
    version = page.get_by_label("Version")
    expect(page.get_by_text("The old way.")).to_be_visible()
    version.select_option("tool-10")
    expect(page.get_by_text("The old way.")).to_be_hidden()
    expect(page.locator("#new-way")).to_be_visible()
    page.reload()
    expect(version).to_have_value("tool-10")
    page.evaluate("sessionStorage.setItem('version', 'tool-9')")
    opened(page, f"{server.url}/p/guides/versions#new-way")
    expect(page.locator("#new-way")).to_be_visible()
    assert violations(page) == []
