"""What axe-core finds on an open page, light and dark, and whether a width is enough for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from playwright.sync_api import Page

from npm import environment

AXE = "axe-core@4.14.1"
COLOURS = ["color-contrast", "link-in-text-block"]
"""Rules whose result can differ between light and dark."""
WIDTHS = (320, 390, 768, 1024, 1248, 1920)
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")


@cache
def axe() -> str:
    """The program that looks for what keeps people from using a page."""
    folder = Path(environment(AXE)["PATH"].split(":")[0]).parent
    return (folder / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


def violations(page: Page) -> Sequence[str]:
    """Accessibility violations of the open page in light mode, in dark mode, and at 320 pixels."""
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    page.evaluate(axe())
    wrong = _violations(page, {})
    page.emulate_media(color_scheme="dark")
    wrong += [f"dark: {violation}" for violation in _violations(page, {"runOnly": COLOURS})]
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 320, "height": 700})
    wrong += _too_wide(page, 320)
    page.set_viewport_size({"width": 1280, "height": 900})
    return wrong


def violations_in(
    page: Page, widths: Sequence[int], schemes: Sequence[Scheme]
) -> Iterator[tuple[int, Scheme, Sequence[str]]]:
    """Accessibility violations of the open page in each width and color scheme; the page is shown so meanwhile."""
    page.evaluate(axe())
    for width in widths:
        page.set_viewport_size({"width": width, "height": 900})
        for scheme in schemes:
            page.emulate_media(color_scheme=scheme)
            yield width, scheme, [*_violations(page, {}), *_too_wide(page, width)]


def _too_wide(page: Page, width: int) -> list[str]:
    needed = page.evaluate("document.documentElement.scrollWidth")
    return [f"{needed} pixels wide"] if needed > width else []


def _violations(page: Page, options: dict[str, object]) -> list[str]:
    result = page.evaluate("options => axe.run(options)", {"resultTypes": ["violations"], **options})
    return [f"{violation['id']}: {violation['nodes'][0]['html'][:160]}" for violation in result["violations"]]
