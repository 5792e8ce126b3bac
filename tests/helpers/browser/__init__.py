"""One real browser for a test session: the system's Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


@cache
def program() -> str:
    """The path of the browser, or ""."""
    return next((found_text for name in PROGRAMS if (found_text := shutil.which(name))), "")


needs_browser = pytest.mark.skipif(
    not program() and "REQUIRE_TOOLS" not in os.environ, reason="needs Chromium (Debian's package chromium)"
)
"""Skips where there is no browser; where everything is required (`.ci/run`) its absence is a failure."""


@contextmanager
def running() -> Iterator[Browser]:
    """A browser without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program(), args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


def opened(page: Page, url: str) -> None:
    """Open a URL and wait until nothing is loaded any more."""
    page.goto(url, wait_until="load", timeout=30_000)
