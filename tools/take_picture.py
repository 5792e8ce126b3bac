"""Takes the README's picture: a page of the example, served by this checkout, in headless Chromium.

make picture
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile

from playwright.sync_api import sync_playwright
from sources import ROOT

PICTURE = ROOT / "docs" / "pages.png"
PAGE = "/p/runbooks/restore-database"
WIDTH, HEIGHT = 1280, 760
MAX_BYTES = 200_000
_SERVING = re.compile(r"Serving on (http://\S+)")


def main() -> int:
    """Write `docs/pages.png`; return 1 with the reason on stderr if it is too large."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {"XDG_CACHE_HOME": folder, "XDG_STATE_HOME": folder, "PATH": "/usr/bin:/bin"}
        command = [sys.executable, "-m", "commonplace", "serve", str(ROOT / "examples" / "kb"), "--port", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as server:
            try:
                _take(_url(server))
            finally:
                server.terminate()
    size = PICTURE.stat().st_size
    if size > MAX_BYTES:
        sys.stderr.write(f"picture: {size:,} bytes; at most {MAX_BYTES:,} are allowed\n")
    return int(size > MAX_BYTES)


def _url(server: subprocess.Popen[str]) -> str:
    """The URL at which the server listens."""
    for line in server.stderr or ():
        if match := _SERVING.match(line):
            return match[1]
    raise SystemExit("picture: the server did not start")


def _take(url: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(f"{url}{PAGE}")
        page.wait_for_selector("article.text", timeout=30_000)
        PICTURE.write_bytes(page.screenshot(type="png"))
        browser.close()


if __name__ == "__main__":
    sys.exit(main())
