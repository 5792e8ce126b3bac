"""The site around the pages: start page, the base's own file, and the navigation, over a running server."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path

import pytest

from commonplace.domain.navigation import Navigation
from serving import Answer, Server, served
from shell import Shell
from support import new_repo

HTML = {"Accept": "text/html"}
SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
OWN = """title: The harbour
description: All about the harbour.
logo: files/logo.svg
favicon: files/logo.svg
accent: "#f80"
style: files/own.css
footer: By the [[Tides|crew]] & <script>alert(1)</script>.
start: Tides
edit_url: https://forge.example/edit/{path}
url: https://notes.example
hidden_keys: [secretkey]
navigation:
  - Tides.md
  - Guides:
      - Moor: guides/moor.md
      - guides
"""
FILES: dict[str, str | bytes] = {
    "Home.md": "# Home\n\nWelcome to [[Tides]].\n",
    "Tides.md": "---\naliases: [Ebb]\nsecretkey: hush\nowner: crew\n---\n# Tides\n\nHigh and low.\n",
    "guides/moor.md": "# Mooring\n\n## Ropes\n\nTwo.\n",
    "guides/anchor.md": "# Anchoring\n",
    "files/logo.svg": SVG,
    "files/own.css": "@import url(https://far.example/x.css);\n.text { color: red }\n",
}


def get(server: Server, path: str, **headers: str) -> Answer:
    answer = server.ask("GET", path, headers={**HTML, **headers})
    while answer.status == 503 and answer.headers.get("refresh"):
        answer = server.ask("GET", path, headers={**HTML, **headers})
    return answer


def text(answer: Answer) -> str:
    return answer.body.decode()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with served(new_repo(tmp_path_factory.mktemp("plain") / "en", FILES).path) as running:
        get(running, "/")  # suggestions do not wait for the first index
        yield running


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    repo = new_repo(tmp_path_factory.mktemp("own") / "en", {**FILES, "commonplace.yaml": OWN})
    with served(repo.path) as running:
        yield running


def test_the_start_page_is_a_document_with_what_changed_below_it(plain: Server) -> None:
    home = text(get(plain, "/"))
    assert '<h1 id="home">Home' in home
    assert home.index("Welcome to") < home.index("Recent changes")
    assert 'href="/overview"' in home
    assert "Where to begin" in text(get(plain, "/overview")) or "Folders" in text(get(plain, "/overview"))


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"README.md": "# Tool\n", "index.md": "# Index page\n", "a.md": "# A\n"}, "Index page"),
        ({"readme.md": "# Tool\n", "a.md": "# A\n"}, "Tool"),
        ({"HOME.md": "# At home\n", "README.md": "# Tool\n"}, "At home"),
        ({"mkdocs.yml": "site_name: S\n", "docs/index.md": "# Docs start\n", "README.md": "# Tool\n"}, "Docs start"),
        ({"a.md": "# A\n", "deep/index.md": "# Deep\n"}, ""),
    ],
)
def test_the_start_page_is_the_one_with_a_usual_name(tmp_path: Path, files: Mapping[str, str], expected: str) -> None:
    with served(new_repo(tmp_path / "base", files).path) as running:
        shown = re.findall(r"<h1[^>]*>(.*?)(?:<a|</h1>)", text(get(running, "/")))[0].strip()
        assert shown == (expected or "base")


def test_the_title_is_that_of_the_generator_or_of_the_start_page(tmp_path: Path) -> None:
    for name, files, title in (
        ("one", {"mkdocs.yml": "site_name: The site\n", "docs/index.md": "# X\n"}, "The site"),
        ("two", {"README.md": "# A real product\n"}, "A real product"),
        ("three", {"README.md": "# Home\n"}, "three"),
    ):
        with served(new_repo(tmp_path / name, files).path) as running:
            assert f"<title>{title}</title>" in text(get(running, "/overview"))


def test_the_own_file_decides_what_stands_around_the_pages(own: Server) -> None:
    home = text(get(own, "/"))
    assert "<title>Tides · The harbour</title>" in home
    assert '<img src="/files/files/logo.svg"' in home
    assert '<link rel="icon" href="/files/files/logo.svg">' in home
    footer = home[home.index('<footer class="site-foot"') :]
    assert '<a class="page-link" href="/p/Tides">crew</a>' in footer
    assert "<script>" not in footer
    assert "hush" not in home
    assert "crew" in home
    assert "Ebb" in home, "aliases are shown where the base hides other keys"
    logo = own.ask("GET", "/files/files/logo.svg")
    assert "sandbox" in logo.headers["content-security-policy"]
    style = get(own, re.findall(r'href="(/style/[^"]*)"', home)[0].replace("&amp;", "&"))
    assert style.headers["content-type"].startswith("text/css")
    assert "--accent:#" in text(style)
    assert ".text { color: red }" in text(style)
    assert "far.example" not in text(style)
    assert "--accent:#f80" not in text(style), "an accent is darkened until it can be read"


def test_the_own_file_orders_the_navigation(own: Server) -> None:
    page = text(get(own, "/p/guides/moor"))
    assert navigation_of(page) == [
        ("Tides", "/p/Tides"),
        ("Guides", ""),
        ("Moor", "/p/guides/moor"),
        ("guides", ""),
        ("All 2", "/section/1.1"),
        ("Other pages", ""),
        ("All 1", "/section/2"),
    ]
    assert 'aria-current="page">Moor</a>' in page
    assert re.search(r'class="prev" rel="prev" href="/p/Tides"', page)
    assert re.search(r'class="next" rel="next" href="/p/guides/anchor"', page)


def test_changes_of_the_own_file_are_taken_in_while_serving(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", FILES)
    with served(repo.path) as running:
        assert "Home · " in text(get(running, "/"))
        for content, title in (("title: First\n", "First"), ("title: Second one\n", "Second one"), ("title: [\n", "")):
            (repo.path / "commonplace.yaml").write_text(content)
            while f"<title>Home · {title or 'base'}</title>" not in text(get(running, "/")):
                pass
        (repo.path / "commonplace.yaml").unlink()
        assert "<title>Home · base</title>" in text(get(running, "/"))


WRONG = """title: [no]
desciption: Typing error.
logo: ../outside.png
favicon: files/absent.png
accent: red
style: files/own.txt
start: Nowhere
navigation: [gone.md, {A: 1}, Tides.md]
edit_url: javascript:alert(1)
absolute_urls: {windows: x}
publish: {drafts: yes}
language: xx
hidden_keys: all
"""


WRONG_KEYS = [line.partition(":")[0] for line in WRONG.splitlines()]


def test_wrong_keys_are_told_by_check_and_doctor_and_change_nothing_else(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", {**FILES, "commonplace.yaml": WRONG})
    shell = Shell(repo.path)
    findings = shell("check", "--json").json["findings"]
    messages = [finding["message"] for finding in findings if finding["path"] == "commonplace.yaml"]
    for key in WRONG_KEYS:
        assert any(f"`{key}`" in message for message in messages), (key, messages)
    assert any("Is `description` meant?" in message for message in messages)
    assert "`accent` must be a color" in shell("doctor").text
    with served(repo.path) as running:
        assert "<title>Home · base</title>" in text(get(running, "/"))


def test_a_large_logo_and_a_foreign_style_do_no_harm(tmp_path: Path) -> None:
    files = {
        **FILES,
        "files/logo.svg": b"<svg>" + b" " * 1_100_000 + b"</svg>",
        "commonplace.yaml": "logo: files/logo.svg\n",
    }
    with served(new_repo(tmp_path / "base", files).path) as running:
        assert "logo.svg" not in text(get(running, "/"))


class _Links(HTMLParser):
    """The links and section titles of a navigation, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[str, str]] = []
        self._href: str | None = None
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"a", "summary"}:
            self._href, self._text = dict(attrs).get("href") or "", ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag in {"a", "summary"} and self._href is not None:
            if not self._text.startswith("Pages below"):
                self.rows.append((self._text, self._href))
            self._href = None


def navigation_of(page: str) -> list[tuple[str, str]]:
    reader = _Links()
    reader.feed(page[page.index('<nav class="nav-tree"') : page.index("</nav>", page.index('<nav class="nav-tree"'))])
    return reader.rows


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    files = {f"many/p{number}.md": f"# Page {number} {'x' * 40}\n" for number in range(733)}
    deep = {f"deep/{'a/' * level}p.md": f"# Level {level}\n" for level in range(12)}
    with served(
        new_repo(tmp_path_factory.mktemp("wide") / "wide", {**files, **deep, "README.md": "# Wide\n"}).path
    ) as running:
        yield running


@pytest.mark.soak
def test_the_page_being_read_is_in_its_navigation_and_the_rest_loads(wide: Server) -> None:
    for number in (0, 39, 40, 366, 700, 732):
        page = get(wide, f"/p/many/p{number}")
        assert len(page.body) < 60_000
        rows = navigation_of(text(page))
        assert any(url == f"/p/many/p{number}" for _, url in rows)
        assert text(page).count('aria-current="page"') == 1
    page = text(get(wide, "/p/many/p366"))
    fragments = [match.replace("&amp;", "&") for match in re.findall(r'data-more="([^"]*)"', page)]
    assert len(fragments) == 2
    shown = [url for _, url in navigation_of(page) if url.startswith("/p/many/")]
    before, after = (re.findall(r'href="(/p/many/[^"]*)"', text(get(wide, fragment))) for fragment in fragments)
    assert [*before, *shown, *after] == [f"/p/many/p{number}" for number in range(733)]
    assert get(wide, fragments[0].replace("fragment=", "fragment=0")).status == 404
    assert get(wide, "/section/99.99").status == 404
    assert get(wide, "/section/x").status == 404
    listed = text(get(wide, re.findall(r'<a href="(/section/[^"]*)"', page)[0].replace("&amp;", "&")))
    assert "<h1" in listed


def test_a_deep_page_is_reached_by_open_sections(wide: Server) -> None:
    page = text(get(wide, f"/p/deep/{'a/' * 11}p"))
    assert navigation_of(page)[-1] == ("Wide", "/p/README") or ("Level 11", f"/p/deep/{'a/' * 11}p") in navigation_of(
        page
    )
    assert page.count("<details open>") == 12


def test_a_navigation_version_differs_with_its_pages() -> None:
    assert Navigation(()).version == Navigation(()).version


def test_the_page_whose_title_is_typed_is_offered_before_its_sections(plain: Server) -> None:
    for typed in ("mooring", "Mooring"):
        urls = re.findall(r'data-url="([^"]*)"', text(get(plain, f"/suggest?q={typed}")))
        assert urls[0] == "/p/guides/moor"
    urls = re.findall(r'data-url="([^"]*)"', text(get(plain, "/suggest?q=ropes")))
    assert urls[0] == "/p/guides/moor#ropes"
    urls = re.findall(r'data-url="([^"]*)"', text(get(plain, "/suggest?q=ebb")))
    assert urls[0] == "/p/Tides"


def test_a_base_with_an_address_of_its_own_is_open_to_search_engines(own: Server, plain: Server) -> None:
    assert "Disallow: /\n" not in text(own.ask("GET", "/robots.txt"))
    assert "Disallow: /\n" in text(plain.ask("GET", "/robots.txt"))


def test_a_page_says_to_other_programs_what_it_is(own: Server) -> None:
    page = text(get(own, "/p/guides/moor"))
    assert '<meta name="description" content="Two.">' in page, "its first paragraph"
    assert '<meta name="description" content="All about the harbour.">' in text(get(own, "/"))
    assert '<meta property="og:title" content="Mooring">' in page
    assert re.search(r'<link rel="canonical" href="http://127.0.0.1:\d+/p/guides/moor">', page)


ELSEWHERE = "[far](/windows/x?a=1#b) [near](/guides/moor.md) [gone](/own/gone) ![pic](/windows/y.png) [[/windows/z]]\n"


@pytest.mark.parametrize("tree", [{}, {"mkdocs.yml": "site_name: S\ndocs_dir: .\n"}])
def test_absolute_paths_without_a_page_are_another_sites_if_the_base_says_so(
    tmp_path: Path, cache_dir: Path, tree: Mapping[str, str]
) -> None:
    assert cache_dir.is_dir()
    declared = "absolute_urls:\n  /windows: https://far.example/w\n  /windows/deep/: https://deep.example\n"
    repo = new_repo(tmp_path / "base", {**FILES, **tree, "links.md": f"# Links\n\n{ELSEWHERE}"})
    shell = Shell(repo.path)
    with served(repo.path) as running:
        assert "/wanted/windows/x" in text(get(running, "/p/links"))
        (repo.path / "commonplace.yaml").write_text(declared)
        page = text(get(running, "/p/links"))
        for _ in range(300):
            if "far.example" in page:
                break
            time.sleep(0.1)
            page = text(get(running, "/p/links"))
        assert '<a class="external" href="https://far.example/w/x?a=1#b">far</a>' in page
        assert 'href="https://far.example/w/y.png"' in page
        assert '<a class="page-link" href="/p/guides/moor">near</a>' in page
        assert "/wanted/own/gone" in page
        wanted_text = text(get(running, "/wanted"))
    assert "own/gone" in wanted_text
    assert "windows/x" not in wanted_text
    broken = [finding["message"] for finding in shell("check", "--json").json["findings"] if "link" in finding["rule"]]
    assert len(broken) == 2  # the page that is gone, and the wikilink, which has no address
    assert not any("/windows/x" in message for message in broken)
