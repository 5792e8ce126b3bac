"""The editor in a real browser: write, keep a draft, conflict with an agent, merge; by keyboard, and for everybody."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Dialog, Page, expect

from browser import needs_browser, opened, running
from browser.accessibility import violations
from forms import page as html_of
from npm import needs_npm
from serving import Server, served
from support import GitRepo, eventually, new_repo

pytestmark = [needs_browser, pytest.mark.xdist_group("browser")]
TEA = (
    "---\ntags: [drink]\n---\n# Tea\n\nBoil water.\n\n## Green\n\n"
    "- [ ] Buy leaves\n- [ ] Warm the pot\n\n## Black\n\nFive minutes.\n"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running() as other_browser:
        yield other_browser


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    return new_repo(tmp_path / "notes", {"tea.md": TEA, "guides/pot.md": "# Pot\n\n## Care\n\nSee [[tea]].\n"})


@pytest.fixture
def server(repo: GitRepo) -> Iterator[Server]:
    with served(repo.path, "--toolset", "notes", "--tier", "write", "--commit", "auto") as running_server:
        html_of(running_server, "/p/tea")
        yield running_server


@pytest.fixture
def problems() -> list[str]:
    """What the console of the browser says, which is nothing."""
    return []


@pytest.fixture
def page(browser: Browser, problems: list[str]) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    other_page = context.new_page()
    other_page.on("pageerror", lambda error: problems.append(str(error)))
    other_page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    yield other_page
    context.close()


def editor(page: Page) -> None:
    """Put the cursor at the end of the text."""
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")


@pytest.mark.soak
def test_a_page_is_written_with_its_preview_beside_and_saved_by_keyboard(
    page: Page, server: Server, repo: GitRepo, problems: list[str]
) -> None:
    opened(page, f"{server.url}/p/tea")
    page.get_by_role("link", name="Edit", exact=True).click()
    editor(page)
    page.keyboard.type("/ See [[guides/pot]], **hot")
    expect(page.locator(".edit-preview")).to_contain_text("/ See", timeout=15_000)
    expect(page.locator(".edit-preview a[href='/p/guides/pot']")).to_be_visible(timeout=15_000)
    page.keyboard.press("Control+s")
    page.wait_for_url("**/p/tea")

    expect(page.locator("article.text")).to_contain_text("/ See")
    assert (repo.path / "tea.md").read_text() == f"{TEA}/ See [[guides/pot]], **hot"
    assert page.evaluate("Object.keys(localStorage).filter((one) => one.startsWith('draft'))") == []
    assert problems == []


@pytest.mark.soak
def test_lists_go_on_and_buttons_mark_what_is_selected(page: Page, server: Server, repo: GitRepo) -> None:
    opened(page, f"{server.url}/edit/tea?section=green")
    editor(page)
    page.keyboard.press("Enter")
    page.keyboard.type("Wait")
    page.keyboard.press("Control+Shift+ArrowLeft")
    page.keyboard.press("Control+b")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url("**/p/tea#green")

    assert (repo.path / "tea.md").read_text() == TEA.replace("the pot\n", "the pot\n- [ ] **Wait**\n")


def test_an_agents_write_meanwhile_is_merged_by_a_person(
    page: Page, server: Server, repo: GitRepo, problems: list[str]
) -> None:
    opened(page, f"{server.url}/edit/tea")
    editor(page)
    page.keyboard.type("Mine.\n")
    change = {"do": "replace", "old": "Five minutes.", "text": "Six minutes."}
    done = server.call("notes", "edit", {"page": "tea", "changes": [change]})
    assert not done.get("isError"), done
    page.keyboard.press("Control+s")

    expect(page.locator("#_ui-main > h1")).to_have_text("The page has changed since you opened it")
    expect(page.locator("#_ui-main > h1")).to_be_focused()
    rows = page.locator(".merge-row.conflict")
    expect(rows).to_have_count(1)
    for side, text in (("As you opened it", "Five"), ("As it is now", "Six"), ("Yours", "Mine.")):
        expect(rows.get_by_role("group", name=side)).to_contain_text(text)
    expect(rows.get_by_role("radio", name="both, yours below")).to_be_checked()
    rows.get_by_role("radio", name="yours", exact=True).check()
    rows.get_by_role("radio", name="both, yours below").check()
    page.get_by_role("button", name="Take these").click()
    expect(page.locator(".cm-content")).to_contain_text("Mine.")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url("**/p/tea")

    text = (repo.path / "tea.md").read_text()
    assert "Six minutes.\nFive minutes.\nMine.\n" in text
    assert len(repo.git("log", "--format=%h").splitlines()) == 3
    assert [problem for problem in problems if "409" not in problem] == []


@pytest.mark.soak
def test_a_draft_survives_the_browser_and_is_offered_again(page: Page, server: Server, repo: GitRepo) -> None:
    opened(page, f"{server.url}/edit/tea")
    editor(page)
    page.keyboard.type("A draft.\n")
    questions: list[str] = []

    def leave(dialog: Dialog) -> None:
        questions.append(dialog.type)
        dialog.accept()

    page.once("dialog", leave)
    page.goto(f"{server.url}/p/tea")
    assert questions == ["beforeunload"]
    repo.commit("Meanwhile", **{"tea.md": TEA.replace("Boil", "Heat")})

    opened(page, f"{server.url}/edit/tea")
    expect(page.locator("#_ui-draft")).to_contain_text("was not saved")
    expect(page.locator(".cm-content")).not_to_contain_text("A draft.")
    page.get_by_role("button", name="Use it").click()
    expect(page.locator(".cm-content")).to_contain_text("A draft.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#_ui-main > h1")).to_have_text("The page has changed since you opened it")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url("**/p/tea")

    assert (repo.path / "tea.md").read_text() == TEA.replace("Boil", "Heat") + "A draft.\n"
    opened(page, f"{server.url}/edit/tea")
    expect(page.locator("#_ui-draft")).to_be_hidden()


def test_two_tabs_keep_a_draft_each_and_broken_front_matter_is_said(page: Page, server: Server, repo: GitRepo) -> None:
    tabs = [page, page.context.new_page()]
    for number, tab in enumerate(tabs):
        opened(tab, f"{server.url}/edit/tea")
        tab.locator(".cm-content").click()
        tab.keyboard.press("Control+End")
        tab.keyboard.type(f"Draft {number}.\n")
    stored = "Object.values(localStorage).filter((one) => one.includes('Draft ')).length"
    eventually(lambda: page.evaluate(stored) == 2)
    third = page.context.new_page()
    opened(third, f"{server.url}/edit/tea")
    expect(third.get_by_role("button", name="Use it")).to_have_count(2)
    third.get_by_role("button", name="Use it").first.click()
    expect(third.locator(".cm-content")).to_contain_text("Draft ")
    expect(third.get_by_role("button", name="Use it")).to_have_count(1)
    third.get_by_role("button", name="Text", exact=True).click()
    third.locator(".cm-content").click()
    for key in ("Control+Home", "ArrowDown"):
        third.keyboard.press(key)
    third.keyboard.type("a: {")
    expect(third.locator("#_ui-findings")).to_contain_text("Something is wrong with this text", timeout=15_000)
    assert violations(third) == []
    tab = tabs[1]
    tab.clock.install()
    tab.clock.pause_at(datetime.now(UTC) + timedelta(days=1))  # saved before the check that follows the last key
    for key in ("Control+Home", "ArrowDown"):
        tab.keyboard.press(key)
    tab.keyboard.type("a: {")
    tab.keyboard.press("Control+s")
    expect(tab.locator("#_ui-status")).to_contain_text("Nothing was saved yet")
    assert (repo.path / "tea.md").read_text() == TEA
    tab.keyboard.press("Control+s")
    tab.wait_for_url("**/p/tea")
    assert (repo.path / "tea.md").read_text() == TEA.replace("---\n", "---\na: {", 1) + "Draft 1.\n"


def test_what_the_server_cannot_take_stays_in_the_editor(page: Page, server: Server, repo: GitRepo) -> None:
    opened(page, f"{server.url}/edit/tea")
    editor(page)
    page.keyboard.type("Kept.\n")
    page.route("**/edit/tea", lambda route: route.abort())
    page.keyboard.press("Control+s")
    expect(page.locator("#_ui-status")).to_contain_text("The server does not answer.")
    page.unroute("**/edit/tea")
    page.keyboard.press("Control+s")
    page.wait_for_url("**/p/tea")
    assert (repo.path / "tea.md").read_text() == f"{TEA}Kept.\n"


def test_the_keyboard_leaves_the_editor_and_reaches_everything(page: Page, server: Server) -> None:
    opened(page, f"{server.url}/edit/tea")
    page.get_by_role("button", name="Bold").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("button", name="Italic")).to_be_focused()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "edit-host"
    page.keyboard.type("x")
    page.keyboard.press("Tab")
    for _ in range(30):  # links of the preview among them
        if page.evaluate("document.activeElement.value") == "save":
            return
        page.keyboard.press("Tab")
    raise AssertionError("Tab does not reach Save")


@pytest.mark.soak
def test_a_page_of_a_megabyte_is_written_with_the_part_at_the_cursor_beside(
    page: Page, server: Server, repo: GitRepo
) -> None:
    row = "## Part {0}\n\nWords of **part {0}**, see [[tea]].\n\n- [ ] one\n\n"
    text = "# Big\n\n" + "".join(row.format(number) for number in range(17_000))
    repo.commit("Large", **{"big.md": text})
    html_of(server, "/p/big")
    page.add_init_script("localStorage.setItem('edit-view', 'both')")
    opened(page, f"{server.url}/edit/big")
    editor(page)
    page.keyboard.type("The last words.")
    preview = page.locator(".edit-preview")
    expect(preview).to_contain_text("The last words.", timeout=20_000)
    expect(preview).to_contain_text("The part where the cursor is.")
    expect(preview).not_to_contain_text("Part 100 ")
    page.keyboard.press("Control+s")
    page.wait_for_url("**/p/big")
    assert (repo.path / "big.md").read_text() == f"{text}The last words."


@pytest.mark.soak
def test_boxes_are_ticked_in_place_one_after_the_other(page: Page, server: Server, repo: GitRepo) -> None:
    opened(page, f"{server.url}/p/tea")
    page.evaluate("window.same = true")
    boxes = page.locator("article").get_by_role("checkbox")
    boxes.nth(0).focus()
    page.keyboard.press("Space")
    expect(boxes.nth(0)).to_have_attribute("aria-checked", "true")
    boxes.nth(1).click()
    expect(boxes.nth(1)).to_have_attribute("aria-checked", "true")
    boxes.nth(0).click()
    expect(boxes.nth(0)).to_have_attribute("aria-checked", "false")
    assert page.evaluate("window.same"), "the page was not loaded again"
    assert (repo.path / "tea.md").read_text() == TEA.replace("[ ] Warm", "[x] Warm")
    assert repo.git("log", "--format=%s", "-3").splitlines() == [
        "Untick: Buy leaves",
        "Tick: Warm the pot",
        "Tick: Buy leaves",
    ]


@pytest.mark.soak
def test_a_page_is_made_moved_deleted_and_restored(page: Page, server: Server, repo: GitRepo) -> None:
    opened(page, f"{server.url}/p/guides/cup")
    page.get_by_role("link", name="Create this page").click()
    editor(page)
    page.keyboard.type("For [[tea]].")
    page.keyboard.press("Control+s")
    page.wait_for_url("**/p/guides/cup")
    page.get_by_role("link", name="Move").click()
    page.get_by_label("New path").fill("mug")
    page.get_by_role("button", name="See what changes").click()
    page.get_by_role("button", name="Move it").click()
    page.wait_for_url("**/p/guides/mug")
    page.get_by_role("link", name="Delete").click()
    page.get_by_role("button", name="Delete it").click()
    expect(page.locator("h1")).to_have_text("This page was removed")
    page.get_by_role("button", name="Restore it").click()
    page.wait_for_url("**/p/guides/mug")
    assert (repo.path / "guides/mug.md").read_text() == "# cup\n\nFor [[tea]]."


@needs_npm
@pytest.mark.timeout(300)
def test_everybody_can_use_the_editor_and_the_merge(page: Page, server: Server, repo: GitRepo) -> None:
    for path in ("p/tea", "new/?path=x", "move/tea?to=leaves", "delete/tea", "history/tea"):
        opened(page, f"{server.url}/{path}")
        assert violations(page) == [], path
    opened(page, f"{server.url}/edit/tea")
    expect(page.locator(".edit-preview")).to_contain_text("Boil water.", timeout=15_000)
    assert violations(page) == []
    editor(page)
    page.keyboard.type("Mine.\n")
    repo.commit("Other", **{"tea.md": TEA.replace("Five", "Six")})
    page.keyboard.press("Control+s")
    expect(page.locator(".merge-row.conflict")).to_have_count(1)
    assert violations(page) == []
    page.get_by_role("button", name="Take these").click()
    expect(page.locator(".cm-content")).to_contain_text("Mine.")
    assert violations(page) == []
