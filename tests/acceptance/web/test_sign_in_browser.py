"""Signing in with a key in a real browser, and a session that ends while somebody types."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from browser import needs_browser, running
from identity import provider
from npm import needs_npm
from serving import Server, create_key, served
from support import new_repo

pytestmark = [needs_browser, pytest.mark.xdist_group("browser")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running() as other_browser:
        yield other_browser


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return create_key("reader", "--tier", "read")


@pytest.fixture
def server(tmp_path: Path, key: str) -> Iterator[Server]:
    assert key
    repo = new_repo(tmp_path / "handbook", {"index.md": "# Handbook\n", "guide.md": "# Guide\n\nHow to install.\n"})
    with served(repo.path) as running_server:
        yield running_server


def sign_in(page: Page, key: str) -> None:
    page.get_by_label("Access key").fill(key)
    page.locator("main button[type=submit]").click()


def test_a_person_signs_in_searches_and_signs_out(browser: Browser, server: Server, key: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{server.url}/p/guide")
    sign_in(page, "cpk_wrong")
    expect(page.get_by_role("alert")).to_be_visible()
    page.goto(f"{server.url}/p/guide#use")
    sign_in(page, key)
    expect(page).to_have_url(f"{server.url}/p/guide#use")
    expect(page.locator("h1")).to_contain_text("Guide")
    page.locator("#_ui-search").fill("half typed words")
    context.clear_cookies()  # as when the session has run out
    page.keyboard.press("Enter")
    sign_in(page, key)
    expect(page.locator("#_ui-search")).to_have_value("half typed words")
    page.get_by_role("button", name="Sign out").click()
    page.goto(f"{server.url}/p/guide")
    expect(page.get_by_label("Access key")).to_be_visible()
    context.close()


@needs_npm
@pytest.mark.timeout(300)
@pytest.mark.soak
def test_a_person_signs_in_at_the_provider(browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    repo = new_repo(tmp_path / "handbook", {"guide.md": "# Guide\n\nHow to install.\n"})
    requested_texts = ["--oauth-audience", "notes", "--oauth-client-id", "pages"]
    with (
        provider(scope="commonplace:read") as issuer,
        served(repo.path, "--oauth-issuer", issuer, *requested_texts) as server,
        browser.new_context() as context,
    ):
        page = context.new_page()
        page.goto(f"{server.url}/p/guide#use")
        page.get_by_role("link", name="Sign in at").click()
        expect(page).to_have_url(f"{server.url}/p/guide#use")
        expect(page.locator("h1")).to_contain_text("Guide")
        page.get_by_role("button", name="Sign out").click()
        page.goto(f"{server.url}/p/guide")
        expect(page.get_by_role("link", name="Sign in at")).to_be_visible()
