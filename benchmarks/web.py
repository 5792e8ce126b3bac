"""Web pages at 10,000 files: the server's time, the bytes that a browser loads, and search while typing."""

from __future__ import annotations

import gzip
import http.client
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from functools import partial
from urllib.parse import quote

from benchmarks.http.server import HttpServer
from benchmarks.measuring import Row, Work, milliseconds, percentile
from benchmarks.trees import Tree, generated_tree

PART = "web"
FILES = 10_000
SIZE = 10_000
"""Size in bytes of the measured pages."""
PAGES = 20
ROUNDS = 10
TYPED = ("ba", "bal", "der", "ing", "tem", "sol")
"""Queries that are typed, letter by letter."""
INDEX_SECONDS = 900.0
"""Timeout in seconds of the first index."""
WAIT = 120_000
"""Timeout in milliseconds of every operation in the browser."""
_TYPE = """async (words) => {
  const input = document.getElementById("_ui-search"), box = document.getElementById("_ui-suggestions"), times = [];
  const shown = (typed) => new Promise((done) => {
    const look = () => box.dataset.query === typed && (watch.disconnect(), done());
    const watch = new MutationObserver(look);
    watch.observe(box, { attributes: true });
    look();
  });
  input.focus();
  for (const word of words) for (let end = 1; end <= word.length; end++) {
    const typed = word.slice(0, end), begun = performance.now();
    input.value = typed;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await shown(typed);
    times.push(performance.now() - begun);
  }
  return times;
}"""


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part."""
    tree = generated_tree(work.folder, FILES, 10)
    _prepare(tree)
    state = {name: str(work.folder / "state") for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME")}
    with HttpServer(tree, state) as server:
        _wait(server)
        for what, path, aim in _measured():
            calls = [partial(_page, server.port, element) for element in path]
            milliseconds(calls)
            cpu = server.cpu()
            times = milliseconds(list(calls) * ROUNDS)
            spent = 1000 * (server.cpu() - cpu) / len(times)
            detail = f"p99 {percentile(times, 99):.1f} ms, {spent:.1f} CPU ms in the server"
            yield Row(PART, f"{what}, {tree.name}", percentile(times, 50), "ms", aim, detail)
        yield from _in_browser(server.port)


def _measured() -> Iterator[tuple[str, Sequence[str], str]]:
    yield f"page of {SIZE // 1000} kB", [f"/p/sized/page-{number:02}" for number in range(PAGES)], "p50 ≤ 10"
    yield "home", ["/"], "p50 ≤ 15"
    yield "page of a search", [f"/search?q={word}" for word in TYPED], "p50 ≤ 15"
    yield "section of the navigation", ["/section/0"], "p50 ≤ 8"
    yield "wanted pages", ["/wanted"], "p50 ≤ 20"
    yield "findings", ["/findings"], "p50 ≤ 20"
    yield "broken links", ["/broken"], "p50 ≤ 50"
    yield "graph", ["/graph"], "p50 ≤ 15"
    yield "data of the graph", ["/graph.json"], "p50 ≤ 20"
    yield "recent changes", ["/recent"], ""


def _prepare(tree: Tree) -> None:
    """Add the measured pages, and commit everything once."""
    part = "## Part\n\nSome *words* with `code` and a [[page-01]] link, more of them in a line.\n\n- one\n- two\n\n"
    for number in range(PAGES):
        file = tree.folder / "sized" / f"page-{number:02}.md"
        file.parent.mkdir(exist_ok=True)
        head = f"---\ntitle: Sized {number}\ntags: [sized]\n---\n"
        file.write_text(head + part * ((SIZE - len(head)) // len(part)), encoding="utf-8")
    git = [shutil.which("git") or "git", "-c", "user.name=Bench", "-c", "user.email=bench@example.org"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Begin"]):
        subprocess.run([*git, *arguments], cwd=tree.folder, check=True)


def _wait(server: HttpServer) -> None:
    """Wait until the first index is built."""
    deadline = time.monotonic() + INDEX_SECONDS
    while time.monotonic() < deadline:
        try:
            server.get("/pages?limit=1")
        except RuntimeError:  # the API reports the progress of the index
            time.sleep(0.5)
        else:
            return
    raise RuntimeError("the index was not built in time")


def _page(port: int, path: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT / 1000)
    connection.request("GET", quote(path, safe="/?=&"), headers={"Accept": "text/html", "Accept-Encoding": "gzip"})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    if answer.status != 200 or not gzip.decompress(body):
        raise AssertionError(f"{path}: {answer.status}")


def _in_browser(port: int) -> Iterator[Row]:
    program = next((found_text for name in ("chromium", "google-chrome") if (found_text := shutil.which(name))), None)
    if program is None:
        return
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only where there is a browser

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        weights: list[int] = []
        page.on("response", lambda answer: weights.append(int(answer.headers.get("content-length", "0"))))
        page.goto(f"http://127.0.0.1:{port}/p/sized/page-01", wait_until="load", timeout=WAIT)
        yield Row(PART, "weight of a page with all that it loads", sum(weights) / 1000, "kB compressed", "≤ 120")
        page.evaluate(_TYPE, list(TYPED))
        times: list[float] = sorted(page.evaluate(_TYPE, list(TYPED) * 3))
        detail = f"p99 {percentile(times, 99):.1f} ms, {len(times)} letters"
        yield Row(
            PART, "search as you type, from a letter to the hits", percentile(times, 50), "ms", "p50 ≤ 30", detail
        )
        browser.close()
