"""Pages of unusual size: shown in parts, with outlines and lists that stay short."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from serving import Answer, Server, served
from support import new_repo

HTML = {"Accept": "text/html"}
FILES: dict[str, str | bytes] = {
    "huge.md": "# Huge\n\n"
    + "Some words of a page that is very long, and a [[hub]].\n\n" * 90_000
    + "The last line.\n",
    "heads.md": "# Heads\n\n" + "".join(f"## Heading {number}\n\nText {number}.\n\n" for number in range(3_000)),
    "hub.md": "# Hub\n\nAll lead here.\n",
    **{f"many/{number:04}.md": f"# Page {number}\n\nSee [[hub]].\n" for number in range(300)},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    repo = new_repo(tmp_path_factory.mktemp("bad") / "base", FILES)
    with served(repo.path) as running:
        yield running


def get(server: Server, path: str) -> Answer:
    answer = server.ask("GET", path, headers=HTML)
    while answer.status == 503 and answer.headers.get("refresh"):
        answer = server.ask("GET", path, headers=HTML)
    assert answer.status == 200, answer.body
    return answer


@pytest.mark.soak
def test_a_page_of_five_megabytes_is_shown_in_parts(server: Server) -> None:
    assert len(str(FILES["huge.md"])) > 5_000_000
    first = get(server, "/p/huge").body.decode()
    match = re.search(r"Part 1 of (\d+)\.", first)
    assert match
    last = get(server, f"/p/huge?part={match[1]}").body.decode()

    assert len(first) < 600_000
    assert 'href="/p/huge?part=2"' in first
    assert "The last line." in last
    assert "The last line." not in first
    assert 'rel="next"' not in last


@pytest.mark.soak
def test_the_outline_of_three_thousand_headings_is_cut(server: Server) -> None:
    page = get(server, "/p/heads").body.decode()
    outline = page.partition('aria-label="On this page"')[2].partition("</nav>")[0]

    assert outline.count("<li") == 251
    assert "2,750 more" in outline
    assert '<h2 id="heading-2999">' in page


@pytest.mark.soak
def test_a_page_with_many_backlinks_counts_them_and_names_the_first(server: Server) -> None:
    page = get(server, "/p/hub").body.decode()
    backlinks = page.partition('<section class="backlinks"')[2].partition("</section>")[0]

    assert "Linked from 301 pages" in backlinks
    assert backlinks.count("<li>") == 50
    assert '<a href="/backlinks/hub?page=2">251 more</a>' in backlinks
    assert page.count('r="6"/>') == 24, "neighbours that are drawn"


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_folder_of_twenty_thousand_pages_and_names_of_any_kind_are_shown(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"many/{at:05}.md": f"# Page {at}\n\nWords.\n" for at in range(20_000)}
    files |= {
        "Home.md": "# First start\n\nSee [[guide]].\n",
        "index.md": "# Second start\n",
        "guide.md": "# The page\n",
        "guide/one.md": "# In the folder of the same name\n",
        "folder.md/inner.md": "# In a folder named as a page\n",
        "emoji.md": "---\ntitle: \U0001f6a2\U0001f30a\n---\n\nShips.\n",
        "\U0001f680.md": "Without a heading.\n",
        "rtl.md": "---\ntitle: \u05de\u05d3\u05e8\u05d9\u05da\n---\n\n\u05d8\u05e7\u05e1\u05d8.\n",
    }
    with served(new_repo(tmp_path / "base", files).path) as running:
        assert "First start" in get(running, "/").body.decode()
        for path, text in {
            "/p/index": "Second start",
            "/p/guide": "The page",
            "/p/guide/one": "In the folder of the same name",
            "/p/folder.md/inner": "In a folder named as a page",
            "/tree/folder.md/": "In a folder named as a page",
            "/p/emoji": "\U0001f6a2\U0001f30a",
            f"/p/{quote(chr(0x1F680))}": "Without a heading.",
            "/p/rtl": 'lang="he" dir="rtl"',
        }.items():
            assert text in get(running, path).body.decode(), path
        for path in ("/p/many/10000", "/tree/many/", "/", "/overview"):
            assert len(get(running, path).body) < 120_000, path
        assert 'href="/p/many/10001"' in get(running, "/p/many/10000").body.decode()
