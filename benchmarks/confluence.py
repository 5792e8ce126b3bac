"""`cn clone` and `cn pull` of a large space, against a site on loopback that runs in a process of its own."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measuring import Row, Work

PART = "confluence"
PAGES = 5_000
CHANGES = 20
LABELLED = 5
"""One in how many pages has a label, for which a pull asks by label; in 86 exports of spaces it is one in 15."""
TESTS = Path(__file__).resolve().parents[1] / "tests"
SITE = """
import sys
sys.path[:0] = [{tests!r}, {helpers!r}]
from benchmarks.confluence import large_site
from confluence.server import SiteServer
server = SiteServer(large_site({pages}))
server.judged = False
import threading
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.url, flush=True)
for line in sys.stdin:
    if line.strip() == "change":
        pages = [page for page in server.site.pages.values() if page.title.startswith("Page ")]
        for page in pages[:: len(pages) // {changes}][:{changes}]:
            server.site.edit(page, page.body.replace("word", "other", 1))
    print(server.count, flush=True)
    server.count = 0
"""


@dataclass(frozen=True, slots=True)
class _Done:
    """The cost of a command."""

    cpu: float
    """CPU seconds."""
    memory: float
    """Maximum resident memory in MB."""


def rows(work: Work) -> Iterator[Row]:
    """The cost of cloning a space, and of a pull with some changes."""
    size = work.size(PAGES)
    script = SITE.format(tests=str(TESTS), helpers=str(TESTS / "helpers"), pages=size, changes=CHANGES)
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as site:
        if site.stdin is None or site.stdout is None:
            raise RuntimeError("the site has no pipes")
        url = site.stdout.readline().strip()
        folder = work.folder / "space"
        cloned = _cn(work.folder, "clone", "ENG", str(folder), "--site", url)
        requests = _said(site, "requests")
        detail = f"{cloned.memory:.0f} MB (aim 300), {requests} requests"
        yield Row(PART, f"clone of {size:,} pages", cloned.cpu, "CPU s", "< 60", detail)
        _said(site, "change")
        pulled = _cn(folder, "pull")
        requests = _said(site, "requests")
        detail = f"{requests} requests (aim 30), {pulled.memory:.0f} MB"
        yield Row(PART, f"pull with {CHANGES} changes in {size:,} pages", pulled.cpu, "CPU s", "≤ 2", detail)
        site.stdin.close()


def _said(site: subprocess.Popen[str], line: str) -> int:
    """The number of requests since the last question; the site does what the line says before it answers."""
    if site.stdin is None or site.stdout is None:
        raise RuntimeError("the site has no pipes")
    site.stdin.write(f"{line}\n")
    site.stdin.flush()
    return int(site.stdout.readline())


def _cn(folder: Path, *arguments: str) -> _Done:
    """Run `cn`, and measure that process alone."""
    environment = {**os.environ, "CN_TOKEN": "secret", "CN_EMAIL": "ann@example.org"}
    command = [sys.executable, "-m", "commonplace.cn", *arguments, "--json"]
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"cn {arguments[0]} ended with {process.returncode}")
    return _Done(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000)


def large_site(pages: int) -> object:
    """A site with pages of all kinds of blocks in a tree, links among them, labels, and an attachment each tenth."""
    from confluence.bodies import BLOCKS  # noqa: PLC0415 - a part of the tests
    from confluence.site import Site  # noqa: PLC0415

    chance = random.Random(46)
    site = Site()
    kinds = [re.sub("alpha|beta|gamma|delta", "word", body) for name, body in BLOCKS.items() if name != "image"]
    parents = [site.pages[site.home]]
    for number in range(pages - 1):
        link = f'<p>See <ac:link><ri:page ri:content-title="Page {chance.randrange(pages)}" /></ac:link>.</p>'
        text = f"<p>{' '.join(['word'] * chance.randrange(40, 200))}</p>"
        body = text + "".join(chance.sample(kinds, 5)) + link
        page = site.add(f"Page {number}", chance.choice(parents[-40:]).id, body)
        if number % 10 == 0:
            parents.append(page)
            page.body += BLOCKS["image"]
            page.files = dict.fromkeys(("a b.png", "c.png"), (1, b"PNG" * 100))
        page.labels = {chance.choice(("ops", "draft", "howto", "faq"))} if number % LABELLED == 0 else set()
    return site
