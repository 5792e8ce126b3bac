"""Walks through a site by its pages alone: to a page by the navigation, click by click, in any browser."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from playwright.sync_api import Page

from browser.firefox import Firefox

SECONDS = 60.0
"""Timeout in seconds of each step."""
_WAY = """(() => {
  const current = document.querySelector("#_ui-nav [aria-current=page]");
  const way = [];
  for (let at = current && current.closest("li").parentElement.closest("li"); at; at = at.parentElement.closest("li"))
    way.unshift(at.querySelector(":scope > details > summary").textContent.trim());
  return current && [current.href, ...way];
})()"""
"""The URL of the open page, and the titles of the sections above it in the navigation; null if it is in none."""
_NEXT = """(async (last, href, ...way) => {
  const next = () => {
    const at = (element, what) => {
      element.scrollIntoView({ block: "center", behavior: "instant" });
      const box = element.getClientRects()[0];
      const [x, y] = [box.left + Math.min(box.width / 2, 30), box.top + box.height / 2].map(Math.round);
      return element.contains(document.elementFromPoint(x, y)) ? [what, x, y] : null;
    };
    const nav = document.getElementById("_ui-nav");
    if (!nav.checkVisibility()) return at(document.querySelector(".nav-button"), "drawer");
    const shown = (element) => element.checkVisibility() && element.getClientRects().length;
    const link = [...nav.querySelectorAll("a")].find((a) => a.href === href && shown(a));
    if (link) return at(link, "page");
    let list = nav.querySelector("ul");
    for (const title of way) {
      const named = (li) => li.querySelector(":scope > details > summary")?.textContent.trim() === title;
      const section = [...list.children].find(named)?.querySelector(":scope > details");
      if (!section) break;
      if (!section.open) return at(section.querySelector("summary"), `open ${title}`);
      list = section.querySelector(":scope > ul");
    }
    const more = list.querySelector(":scope > li.more > a");
    return more && at(more, `more ${list.children.length}`);
  };
  let before = null;
  for (let tries = 0; tries < 1000; tries++) {
    const step = next();
    if (step && step[0] !== last && String(step) === String(before)) return step;
    before = step;
    await new Promise((done) => setTimeout(done, 50));
  }
  return null;
})"""
"""The next click on the way to a page, and its place, once it stays there: a drawer slides in. Null if none comes."""


class Window(Protocol):
    """A window of a browser."""

    def open(self, url: str) -> None:
        """Open a URL and wait until it is loaded."""

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript."""

    def click(self, x: int, y: int) -> None:
        """Press and release the first button of a pointer."""

    def arrive(self, path: str) -> None:
        """Wait until a page of this path is open."""


@dataclass(frozen=True, slots=True)
class ChromiumWindow:
    """A window of Chromium."""

    page: Page

    def open(self, url: str) -> None:
        """Open a URL and wait until it is loaded."""
        self.page.goto(url, wait_until="load", timeout=SECONDS * 1000)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript."""
        return self.page.evaluate(expression)

    def click(self, x: int, y: int) -> None:
        """Press and release the first button of a pointer."""
        self.page.mouse.click(x, y)

    def arrive(self, path: str) -> None:
        """Wait until a page of this path is open."""
        self.page.wait_for_url(lambda url: _path(url) == path, timeout=SECONDS * 1000)


@dataclass(frozen=True, slots=True)
class FirefoxWindow:
    """The window of Firefox."""

    browser: Firefox

    def open(self, url: str) -> None:
        """Open a URL and wait until it is loaded."""
        self.browser.open(url)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript."""
        return self.browser.evaluate(expression)

    def click(self, x: int, y: int) -> None:
        """Press and release the first button of a pointer."""
        moves = [{"type": "pointerMove", "x": x, "y": y}, {"type": "pointerDown", "button": 0}]
        actions = [*moves, {"type": "pointerUp", "button": 0}]
        source = {"type": "pointer", "id": "mouse", "actions": actions}
        self.browser.call("input.performActions", context=self.browser.window, actions=[source])

    def arrive(self, path: str) -> None:
        """Wait until a page of this path is open."""
        self.browser.until(f"decodeURIComponent(location.pathname) === {json.dumps(path)}")


def clicks_to(window: Window, start: str, page: str) -> list[str]:
    """What was clicked on the way from the start page to a page, in its navigation alone.

    Args:
        window: The window.
        start: URL of the start page.
        page: URL of the page.
    """
    window.open(page)
    way = window.evaluate(_WAY)
    assert way, f"{page} is not in its navigation"
    window.open(start)
    if window.evaluate("document.querySelector('#_ui-nav [aria-current=page]')?.href") == way[0]:
        return []
    clicks: list[str] = []
    while not clicks or clicks[-1] != "page":
        arguments = ", ".join(map(json.dumps, [clicks[-1] if clicks else "", *way]))
        step = window.evaluate(f"{_NEXT}({arguments})")
        assert step, f"nothing leads to {page} after {clicks}"
        window.click(step[1], step[2])
        clicks.append(step[0])
    window.arrive(_path(way[0]))
    return clicks


def _path(url: str) -> str:
    return unquote(urlsplit(url).path)
