"""Activity and administration in a real browser: everybody can use them, by keyboard alone, at 320 pixels."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from browser import needs_browser, opened, running
from browser.accessibility import violations
from forms import page
from npm import needs_npm
from serving import Server, create_key, served
from support import Amount, new_repo

pytestmark = [needs_browser, needs_npm, pytest.mark.xdist_group("browser")]
FILES: dict[str, str | bytes] = {
    "tea.md": "# Tea\n\nfirst line\n\nsecond line\n",
    "about.md": "# About\n\nSee [[tea]].\n",
}


def edit(server: Server, key: str, name: str, old: str, new: str) -> None:
    """One write of an agent over MCP."""
    arguments = {"page": name, "changes": [{"do": "replace", "old": old, "text": new}]}
    done = server.call("notes", "edit", arguments, key=key)
    assert not done.get("isError"), done


def press(tab: Page, text: str) -> None:
    """Press Tab until a control with this text is focused, then Enter."""
    for _ in range(80):
        tab.keyboard.press("Tab")
        if tab.evaluate("(document.activeElement.textContent || '').trim()") == text:
            tab.keyboard.press("Enter")
            return
    raise AssertionError(f"Tab does not reach {text!r}")


@pytest.mark.timeout(300)
def test_everybody_can_watch_and_administer(tmp_path: Path, cache_dir: Path, amount: Amount) -> None:
    assert cache_dir.is_dir()
    repo = new_repo(tmp_path / "notes", FILES)
    agent, admin = create_key("bot", "--tier", "write"), create_key("Ada", "--tier", "admin")
    with served(repo.path, "--commit", "auto") as server, running() as browser:
        page(server, "/p/tea", key=admin)
        edit(server, agent, "tea", "first", "FIRST")
        edit(server, agent, "about", "See", "Look at")
        tea = repo.path / "tea.md"
        tea.write_text(tea.read_text().replace("FIRST", "my"))
        repo.git("commit", "-qam", "By a person")
        session = re.search(r'href="(/activity/[0-9a-f]{16})"><bdi>bot</bdi>', page(server, "/activity", key=admin))
        assert session
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        tab = context.new_page()
        opened(tab, f"{server.url}/sign-in")
        tab.get_by_label("Key").fill(admin)
        tab.keyboard.press("Enter")
        tab.wait_for_url("**/")
        paths = (
            session[1],
            "/admin",
            f"{session[1]}?view=side",
            "/activity",
            "/admin/keys",
            "/admin/doctor",
            "/edit/run",
        )
        for path in paths[: amount(2, len(paths))]:
            opened(tab, f"{server.url}{path}")
            assert violations(tab) == [], path
        opened(tab, f"{server.url}{session[1]}")
        press(tab, "Undo all writes of this session")
        expect(tab.get_by_text("tea.md, line 3: later writes changed the same place")).to_be_visible()
        assert violations(tab) == [], "the conflict"
        press(tab, "Undo the other 1 file")
        expect(tab.get_by_text("Undone:")).to_be_visible()
        assert "See [[tea]]" in (repo.path / "about.md").read_text()
        opened(tab, f"{server.url}/admin/keys")
        tab.get_by_label("Name of who will use it").focus()
        tab.keyboard.type("made by keyboard")
        press(tab, "Create it")
        expect(tab.get_by_label("The new key")).to_have_value(re.compile("cpk_.+"))
        assert violations(tab) == [], "the new key"
        for width in (700, 970, 1100):
            tab.set_viewport_size({"width": width, "height": 800})
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, "the menu fits"
        context.close()
