"""`commonplace publish`: pages as files that need no server, and nothing in them that is not published."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from functools import partial
from hashlib import blake2b
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser, expect

from browser import needs_browser, opened, running
from remotes import canary
from shell import Shell
from support import GitRepo, new_repo

CANARY = "canary7"
MANIFEST = ".commonplace-publish.json"
SITE = """title: Harbour
description: All about it.
logo: files/logo.svg
start: Home
edit_url: https://forge.example/edit/{path}
footer: Written by [the crew](crew.md).
publish:
  exclude: [internal, Journal/day.md]
"""
FILES: dict[str, str | bytes] = {
    "commonplace.yaml": SITE,
    "Home.md": "---\ntags: [start, how/to]\n---\n# Home\n\n"
    "See [[Moor|how to moor]], [the crew](crew.md#pay), [[Nowhere]], [gone](/foo/bar) and #start.\n\n"
    f"Hidden: [[{CANARY} draft]], [[drafts/one]], [[drafts/one|a plan]], [{CANARY} draft](drafts/one.md), "
    "![[drafts/one]], <a href='drafts/one.md'>raw</a>, [[internal/two#Deep]].\n\n"
    f"Parts: [[drafts/one#{CANARY} heading]], [[{CANARY} alias#{CANARY} heading]], [[drafts/one#^{CANARY}]], "
    f"[](drafts/one.md#{CANARY}-heading), [](drafts/one.md), ![[drafts/one#{CANARY} heading]].\n\n"
    "![[board.canvas]] [[files/open.canvas]]\n\n"
    '`href="/p/crew"` is text.\n',
    "guides/Moor.md": f"---\ndescription: /etc is no link.\nrelated: '[[drafts/one#{CANARY} heading]]'\n"
    "---\n# Mooring & more\n\n"
    "![A map](../files/map.png) ![[map.png|90]]\n\n"
    "## Ropes\n\n$a^2$\n\n```mermaid\ngraph TD\nA-->B\n```\n\n```python\nx = 'href=\"/p/x\"'\n```\n",
    "guides/index.md": "# Guides\n\n[[Home]]\n",
    "guides.md": "# A page with a folder's name\n",
    "crew.md": "---\naliases: [/old/crew.html, /former/, Shipmates]\ntags: [start]\n---\n# Crew\n\n"
    "## Pay\n\nGood. ![[guides/Moor#Ropes]]\n",
    "CREW notes.md": "# Crew notes\n",
    "guides/Old.md": "---\nsuperseded_by: guides/Moor.md\nsources:\n- path: drafts/one.md\n"
    f"  quote: {CANARY} words in a row\n- '[[internal/two#Deep]] “{CANARY} says so”'\n- internal/{CANARY}.png\n"
    f"- path: crew.md\n  quote: Good.\nplan: ../drafts/{CANARY}.md\n---\n# Old mooring\n\nMooring, moor mooring.\n",
    "guides/Gone.md": f"---\nsuperseded_by: drafts/{CANARY}.md\n---\n# Gone\n\n"
    f"## Ways {{#ways status=superseded by=drafts/{CANARY}.md}}\n\nOver.\n",
    "guides/Rules.md": f"# Rules\n\n## Speed {{#speed status=superseded by=drafts/{CANARY}.md}}\n\n"
    "Three knots, gallopade.\n",
    "ünï/ページ.md": "# ページ\n\n[[Home]]\n",
    "files/map.png": b"\x89PNG\r\n\x1a\nmap",
    "files/logo.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>",
    "files/board.canvas": f'{{"nodes": [{{"type": "file", "file": "drafts/{CANARY}.md"}}]}}',
    "files/open.canvas": '{"nodes": [{"type": "file", "file": "crew.md"}]}',
    "files/unused.png": b"\x89PNG\r\n\x1a\nunused",
    "drafts/one.md": f"---\ndraft: true\ntitle: {CANARY} draft\naliases: [{CANARY} alias]\ntags: [{CANARY}tag]\n"
    f"description: {CANARY} words\n---\n# {CANARY} heading\n\n[[Moor]] {CANARY} ![[{CANARY}.png]]\n",
    "drafts/private.md": f"---\nprivate: true\n---\n# {CANARY} private\n\n[[Home]]\n",
    "drafts/unpublished.md": f"---\npublish: false\n---\n# {CANARY} unpublished\n\n[[crew]]\n",
    "drafts/status.md": f"---\nstatus: Draft\n---\n# {CANARY} status\n\n[[crew]]\n",
    "internal/two.md": f"# {CANARY} internal\n\n## Deep\n\n[[Home]]\n",
    f"internal/{CANARY}.png": f"{CANARY}",
    "Journal/day.md": f"# {CANARY} day\n",
    f"drafts/{CANARY}.md": f"---\ndraft: yes\n---\n# {CANARY} by name\n",
}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> GitRepo:
    made = new_repo(
        tmp_path_factory.mktemp("publish") / "harbour", {**FILES, "guides/Anchor.md": "# Anchoring\n\nOne two three.\n"}
    )
    made.git("mv", "guides/Anchor.md", "guides/Anchoring.md")
    made.git("commit", "-qm", f"Rename beside {CANARY}")
    return made


def publish(repo: GitRepo, out: Path, *options: str) -> Any:
    return Shell(repo.path.parent)("publish", str(repo.path), str(out), *options, "--json").json


@pytest.fixture(scope="module")
def site(repo: GitRepo, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out") / "site"
    publish(repo, out, "--url", "https://harbour.example/docs")
    return out


def files_of(folder: Path) -> dict[str, bytes]:
    files = (file for file in folder.rglob("*") if file.is_file() and file.name != canary.NAME)  # which tests plant
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def test_pages_that_are_hidden_are_in_no_file(repo: GitRepo, site: Path) -> None:
    hidden = [path for path in FILES if path.endswith(".md") and path.startswith(("drafts", "internal", "Journal"))]
    assert len(hidden) == 7
    named = {
        name: content
        for name, content in files_of(site).items()
        if CANARY in name or CANARY.encode() in content.lower()
    }
    assert named == {}
    report = publish(repo, site, "--url", "https://harbour.example/docs")
    assert sorted(element["path"] for element in report["left_out"]) == sorted([*hidden, "files/board.canvas"])
    assert (site / "files" / "open.canvas").is_file()
    assert [element["target"] for element in report["broken"]] == ["Nowhere", "/foo/bar"]
    home = (site / "index.html").read_text()
    assert "a plan" in home, "a label of the page itself stays"
    assert "(unpublished page)" in home
    assert "drafts" not in home.replace("data-src", "")
    old, gone = ((site / "guides" / name).read_text() for name in ("Old.html", "Gone.html"))
    assert "drafts" not in old + gone
    assert old.count("(unpublished page)") == 4, "three sources and a path"
    assert "<dd>crew.md</dd>" in old
    assert "This page is superseded by (unpublished page)." in gone
    assert '<a dir="auto" href="Moor.html">Go to what holds.</a> This page is superseded by guides/Moor.md.' in old


class _Urls(HTMLParser):
    """The URLs and the ids of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.urls: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del tag
        for name, value in attrs:
            if name in {"href", "src", "data-src", "data-more", "action"} and value:
                self.urls.append(value)
            if name == "id" and value:
                self.ids.add(value)


def test_every_link_leads_to_a_file_and_its_part(site: Path) -> None:
    pages: dict[Path, _Urls] = {}
    for file in site.rglob("*.html"):
        pages[file.resolve()] = _Urls()
        pages[file.resolve()].feed(file.read_text())
    assert len(pages) >= 15
    for file, page in pages.items():
        for url in page.urls:
            parts = urlsplit(url)
            if file.name == "404.html" and not parts.scheme:
                assert url.startswith(("/docs/", "#")), url
            if parts.scheme or file.name in {"404.html", "diagram.html"}:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            assert target.is_file(), f"{file}: {url}"
            assert target.is_relative_to(site.resolve())
            if parts.fragment and target in pages and "sections" not in url:
                assert unquote(parts.fragment) in pages[target].ids, f"{file}: {url}"


def test_pages_are_those_of_the_server(site: Path) -> None:
    moor = (site / "guides/Moor.html").read_text()
    assert "<title>Mooring &amp; more · Harbour</title>" in moor
    assert '<meta name="description" content="/etc is no link.">' in moor
    assert '<link rel="canonical" href="https://harbour.example/docs/guides/Moor.html">' in moor
    assert 'src="../files/map.png"' in moor
    assert 'href="https://forge.example/edit/guides/Moor.md"' in moor
    assert 'class="prev"' in moor
    home = (site / "index.html").read_text()
    assert '<meta name="description" content="' in home
    assert '<code>href="/p/crew"</code>' in home, "code is not changed"
    assert 'href="guides/Moor.html">how to moor</a>' in home
    assert 'href="crew.html#pay"' in home
    assert 'href="-/tags/start.html"' in home
    assert '<span class="unpublished">Nowhere</span>' in home
    names = files_of(site)
    assert {
        "guides/index.html",
        "guides.html",
        "crew.html",
        "CREW notes.html",
        "ünï/ページ.html",
        "404.html",
        ".nojekyll",
    } <= names.keys()
    assert "files/unused.png" not in names
    assert "https://harbour.example/docs/guides/Moor.html</loc>" in names["sitemap.xml"].decode()
    assert b"<title>Crew</title>" in names["-/feed.atom"]
    assert 'href="/docs/-/' in names["404.html"].decode()
    for old, new in (
        ("guides/Anchor.html", "Anchoring.html"),
        ("old/crew.html", "../crew.html"),
        ("former/index.html", "../crew.html"),
    ):
        assert f'url={new}"' in names[old].decode(), old


@pytest.mark.soak
def test_the_same_base_gives_the_same_bytes_and_a_change_only_what_it_concerns(repo: GitRepo, tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    publish(repo, first)
    publish(repo, second)
    assert files_of(first) == files_of(second)
    again = publish(repo, first)
    assert (again["rendered"], again["written"], again["removed"]) == (0, 0, 0)
    moor = repo.path / "guides/Moor.md"
    before = moor.read_text()
    moor.write_text(before + "\nOne more line, with [[ページ]].\n")
    changed = publish(repo, first)
    assert 0 < changed["rendered"] < changed["pages"]
    publish(repo, second.with_name("c"))
    assert files_of(first) == files_of(second.with_name("c"))
    (repo.path / "CREW notes.md").rename(repo.path / "Notes.md")
    publish(repo, first)
    assert (first / "Notes.html").is_file()
    assert not (first / "CREW notes.html").exists()
    (repo.path / "Notes.md").rename(repo.path / "CREW notes.md")
    moor.write_text(before)
    publish(repo, first)
    assert files_of(first) == files_of(second)


def test_a_folder_that_is_not_its_own_is_never_written(repo: GitRepo, tmp_path: Path) -> None:
    full, link, file = tmp_path / "full", tmp_path / "link", tmp_path / "file"
    full.mkdir()
    (full / "mine.txt").write_text("mine")
    link.symlink_to(full)
    file.write_text("mine")
    before = files_of(repo.path)
    for out in (full, link, file, repo.path, repo.path.parent, repo.path / "public"):
        done = Shell(repo.path.parent)("publish", str(repo.path), str(out))
        assert done.code != 0, out
        assert "Nothing was published" in done.stderr
    assert files_of(full) == {"mine.txt": b"mine"}
    assert files_of(repo.path) == before
    assert not (repo.path / "public").exists()
    done = Shell(repo.path.parent)("publish", str(repo.path), str(tmp_path / "x"), "--url", "ftp://x")
    assert "must begin with https://" in done.stderr
    other = tmp_path / "other"
    other.mkdir()
    (other / "index.md").write_text("# Other\n")
    (other / "cranes.md").write_text("# Cranes\n")
    shell, out = Shell(other), tmp_path / "out"
    shell.ok("publish", str(other), str(out), "--no-search")
    before = files_of(out)
    done = shell("publish", str(repo.path), str(out), "--no-search")
    assert f"{out} has the publication of another folder, with cranes.md" in done.stderr
    assert files_of(out) == before


def test_a_link_inside_the_output_leads_nowhere_else(repo: GitRepo, tmp_path: Path) -> None:
    out, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    publish(repo, out)
    elsewhere.mkdir()
    for file in (out / "guides").iterdir():
        file.unlink()
    (out / "guides").rmdir()
    (out / "guides").symlink_to(elsewhere)
    done = Shell(repo.path.parent)("publish", str(repo.path), str(out))
    assert done.code != 0
    assert list(elsewhere.iterdir()) == []


def _forge(out: Path, files: dict[str, str]) -> None:
    """Add files to the manifest of a publication."""
    manifest = json.loads((out / MANIFEST).read_text())
    manifest["files"] |= files
    (out / MANIFEST).write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    "name", ["{0}/mine.txt", "../mine.txt", "guides/../../mine.txt", "link/mine.txt", "a\0b", "\ud800"]
)
def test_a_forged_manifest_removes_nothing_elsewhere(repo: GitRepo, tmp_path: Path, name: str) -> None:
    out, mine = tmp_path / "site", tmp_path / "mine.txt"
    publish(repo, out)
    mine.write_text("mine")
    (out / "link").symlink_to(tmp_path)
    _forge(out, {name.format(tmp_path): blake2b(b"mine", digest_size=12).hexdigest()})
    done = Shell(repo.path.parent)("publish", str(repo.path), str(out))
    assert mine.read_text() == "mine"
    if name == "link/mine.txt":
        assert (done.code, "link/mine.txt is left in the folder" in done.stderr) == (0, True)
    else:
        assert (done.code, "that no publication wrote" in done.stderr) == (4, True)


def test_files_that_others_have_changed_are_left_and_links_become_files(repo: GitRepo, tmp_path: Path) -> None:
    out, mine = tmp_path / "site", tmp_path / "mine.txt"
    publish(repo, out)
    mine.write_text("mine")
    (out / "gone.html").write_text("changed")
    (out / "own.html").write_text("as it was")
    _forge(out, {"gone.html": "0" * 24, "own.html": blake2b(b"as it was", digest_size=12).hexdigest()})
    crew = (out / "crew.html").read_bytes()
    for name in ("crew.html", f"{MANIFEST}.new"):
        (out / name).unlink(missing_ok=True)
        (out / name).symlink_to(mine)
    done = Shell(repo.path.parent)("publish", str(repo.path), str(out))
    assert (done.code, "gone.html is left in the folder" in done.stderr) == (0, True)
    assert (out / "gone.html").read_text() == "changed"
    assert not (out / "own.html").exists()
    assert ((out / "crew.html").is_symlink(), (out / "crew.html").read_bytes()) == (False, crew)
    assert mine.read_text() == "mine"


def test_a_manifest_that_no_publication_wrote_is_refused(repo: GitRepo, tmp_path: Path) -> None:
    out = tmp_path / "site"
    out.mkdir()
    wrong = ("", "xx", "[]", "[" * 100_000, '{"format":2,"files":{},"state":{}}', '{"format":1,"files":[],"state":{}}')
    for text in (*wrong, '{"format":1,"files":{"a":1},"state":{}}', '{"format":1,"files":{},"state":"x"}'):
        (out / MANIFEST).write_text(text)
        done = Shell(repo.path.parent)("publish", str(repo.path), str(out))
        assert (done.code, "that no publication wrote" in done.stderr) == (4, True), text[:50]
    (out / MANIFEST).write_bytes(b"\xff\x00")
    assert Shell(repo.path.parent)("publish", str(repo.path), str(out)).code == 4
    assert [file.name for file in out.iterdir()] == [MANIFEST]


def test_a_forged_state_publishes_no_file(repo: GitRepo, tmp_path: Path) -> None:
    out = tmp_path / "site"
    publish(repo, out)
    manifest = json.loads((out / MANIFEST).read_text())
    manifest["state"]["pages"]["crew.md"]["files"] = [
        f"internal/{CANARY}.png",
        "drafts/one.md",
        "../x",
        "commonplace.yaml",
    ]
    manifest["state"]["pages"]["Home.md"] = [1]
    (out / MANIFEST).write_text(json.dumps(manifest))
    publish(repo, out)
    assert not [name for name in files_of(out) if CANARY in name or name.endswith((".md", ".yaml"))]


def test_only_marked_pages_are_published_where_the_base_says_so(tmp_path: Path) -> None:
    files = {
        "commonplace.yaml": "publish: {only_marked: true}\n",
        "a.md": "---\npublish: true\n---\n# A\n",
        "b.md": f"# {CANARY}\n",
    }
    out = tmp_path / "site"
    reported_publish = publish(new_repo(tmp_path / "base", files), out)
    assert reported_publish["pages"] == 1
    assert CANARY not in " ".join(content.decode("latin-1") for content in files_of(out).values())


RIGHT = "publish: {exclude: [internal]}\n"
UNSAFE: dict[str, str | bytes] = {
    "exclude": "publish: {exclude: internal}\n",
    "not a text": "publish: {exclude: [internal, 3]}\n",
    "a pattern": "publish: {exclude: ['internal/*']}\n",
    "a way up": "publish: {exclude: ['./internal']}\n",
    "nothing": "publish: {exclude: [internal, '/']}\n",
    "only_marked": "publish: {exclude: [internal], only_marked: perhaps}\n",
    "no value": "publish: {exclude: [internal], only_marked: }\n",
    "unknown": "publish: {exclude: [internal], exlude: [a]}\n",
    "syntax": f"{RIGHT}title: [\n",
    "second document": f"{RIGHT}---\ntitle: x\n",
    "list": "publish: [internal]\n",
    "text": "internal\n",
    "twice": f"{RIGHT}publish: {{exclude: [drafts]}}\n",
    "alias": "start: &a [internal]\npublish: {exclude: *a}\n",
    "case": "Publish: {exclude: [internal]}\n",
    "near": "publsh: {exclude: [internal]}\n",
    "outer": "exclude: [internal]\n",
    "inner": "site: {publish: {exclude: [internal]}}\n",
    "UTF-16": RIGHT.encode("utf-16"),
    "UTF-16 without a mark": RIGHT.encode("utf-16-le"),
    "Latin-1": "publish: {exclude: [internal, journée]}\n".encode("latin-1"),
    "large": RIGHT + "#" * 512_000,
}


@pytest.mark.parametrize("text", UNSAFE.values(), ids=UNSAFE)
@pytest.mark.sampled(8)
def test_nothing_is_published_if_the_rules_are_wrong(tmp_path: Path, text: str | bytes) -> None:
    base = new_repo(tmp_path / "base", {"a.md": "# A\n", "internal/b.md": f"# {CANARY}\n", "commonplace.yaml": text})
    done = Shell(tmp_path)("publish", base.path, tmp_path / "site")
    assert done.code == 4, done.stderr
    assert "Nothing was published: commonplace.yaml" in done.stderr
    assert "Valid:" in done.stderr
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize(
    "name", ["commonplace.yml", "Commonplace.yaml", "comonplace.yaml", ".commonplace.yaml", "link"]
)
def test_nothing_is_published_if_the_file_has_another_name(tmp_path: Path, name: str) -> None:
    base = new_repo(tmp_path / "base", {"a.md": "# A\n", name: RIGHT})
    if name == "link":
        (base.path / "commonplace.yaml").symlink_to(base.path / name)
    done = Shell(tmp_path)("publish", base.path, tmp_path / "site")
    assert (done.code, "commonplace.yaml" in done.stderr) == (4, True)
    assert not (tmp_path / "site").exists()


def test_other_errors_in_the_file_are_warnings(tmp_path: Path) -> None:
    files = {
        "a.md": "# A\n",
        "internal/b.md": f"# {CANARY}\n",
        "commonplace.yaml": f"{RIGHT}accent: red\nlogo: x.png\n",
    }
    base = new_repo(tmp_path / "base", files)
    done = Shell(tmp_path)("publish", base.path, tmp_path / "site", "--json")
    assert (done.code, done.json["pages"]) == (0, 1)
    assert "`accent` must be a color" in done.stderr
    assert "`logo` names x.png" in done.stderr


@pytest.mark.parametrize(
    "line",
    ["status: [draft]", "draft: [yes]", "publish: [[false]]", "access: [team, Secret]", "Draft: true\ndraft: false"],
)
@pytest.mark.sampled(6)
def test_lists_of_words_mark_pages_like_words(tmp_path: Path, line: str) -> None:
    base = new_repo(tmp_path / "base", {"a.md": "# A\n", "b.md": f"---\n{line}\n---\n# {CANARY}\n"})
    assert [element["path"] for element in publish(base, tmp_path / "site")["left_out"]] == ["b.md"]


def test_links_to_former_names_and_ignored_pages_do_not_name_them(tmp_path: Path) -> None:
    names = (f"drafts/{CANARY}", CANARY, f"private/{CANARY}x", f"{CANARY}x", f"{CANARY}x#Deep")
    links = " ".join(f"[[{name}]] ![[{name}]]" for name in names)
    files = {
        "Home.md": f"---\nrelated: '[[drafts/{CANARY}]]'\n---\n# Home\n\n{links} "
        f"[private/{CANARY}x.md](private/{CANARY}x.md)\n[the plan](private/x.md) [[Nowhere]]\n",
        f"drafts/{CANARY}.md": "---\ndraft: true\n---\n# One\n",
    }
    base = new_repo(tmp_path / "base", files)
    base.git("mv", f"drafts/{CANARY}.md", "drafts/other.md")
    base.git("commit", "-qm", "Rename it")
    (base.path / ".gitignore").write_text("private\n")
    (base.path / "private").mkdir()
    (base.path / f"private/{CANARY}x.md").write_text("# Ignored\n")
    publish(base, tmp_path / "site")
    assert not [name for name, content in files_of(tmp_path / "site").items() if CANARY.encode() in content]
    home = (tmp_path / "site/index.html").read_text()
    assert (home.count(">(unpublished page)<"), "the plan" in home, "Nowhere" in home) == (12, True, True)


def test_a_picture_that_runs_a_script_is_left_out_until_it_does_not(tmp_path: Path) -> None:
    plain = "<svg xmlns='http://www.w3.org/2000/svg'><path d='M0 0'/></svg>"
    base = new_repo(tmp_path / "base", {"a.md": "# A\n\n![[x.SVG]] ![[y.svg]]\n", "y.svg": plain, "x.SVG": plain})
    (base.path / "x.SVG").write_text(plain.replace("<path", "<a href='java&#9;script:x'/><path"))
    out = tmp_path / "site"
    for _ in range(2):
        assert [element["path"] for element in publish(base, out)["left_out"]] == ["x.SVG"]
        assert ((out / "x.SVG").exists(), (out / "y.svg").exists()) == (False, True)
        assert 'src="x.SVG"' not in (out / "a.html").read_text()
    (base.path / "x.SVG").write_text(plain)
    assert publish(base, out)["left_out"] == []
    assert (out / "x.SVG").read_text() == plain
    assert 'src="x.SVG"' in (out / "a.html").read_text()


def test_what_is_said_of_pages_that_are_left_out_or_do_not_hold_is_in_the_language_of_the_base(tmp_path: Path) -> None:
    files = {
        "commonplace.yaml": "language: de\n",
        "a.md": "---\nsuperseded_by: b.md\nsources: [c.md]\n---\n# A\n\n[[c]]\n\n> [!tip]\n> x\n",
        "b.md": "# B\n",
        "c.md": "---\ndraft: true\n---\n# C\n",
    }
    publish(new_repo(tmp_path / "base", files), tmp_path / "site")
    html = (tmp_path / "site/a.html").read_text()
    for expected in ("(unveröffentlichte Seite)", 'data-status="ERSETZT durch b.md"', ">Tipp</p>"):
        assert expected in html, expected
    assert "unpublished page" not in html


def test_a_logo_that_is_too_large_and_an_unsafe_favicon_are_in_no_file(tmp_path: Path) -> None:
    evil = "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
    settings = "logo: files/large.png\nfavicon: files/evil.svg\n"
    large = b"\x89PNG\r\n\x1a\n" + bytes(1_000_001)
    files = {"commonplace.yaml": settings, "a.md": "# A\n", "files/large.png": large, "files/evil.svg": evil}
    publish(new_repo(tmp_path / "base", files), tmp_path / "site")
    assert not (tmp_path / "site/files").exists()
    html = (tmp_path / "site/a.html").read_text()
    assert 'rel="icon" type="image/svg+xml" href="-/static/icon.svg"' in html
    assert ('href=""' in html, 'src=""' in html) == (False, False)


def test_an_empty_base_has_a_start_page(tmp_path: Path) -> None:
    assert publish(new_repo(tmp_path / "base", {"x.txt": "x"}), tmp_path / "site")["pages"] == 0
    assert (tmp_path / "site/index.html").is_file()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in the standard library
        del format, args


@pytest.fixture(scope="module")
def hosted(site: Path) -> Iterator[str]:
    """The published files below a path of a plain web server."""
    host = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site.parent)))
    thread = threading.Thread(target=host.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{host.server_port}/{site.name}"
    host.shutdown()
    thread.join()
    host.server_close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running() as other_browser:
        yield other_browser


@needs_browser
@pytest.mark.xdist_group("browser")
@pytest.mark.soak
def test_a_browser_reads_and_searches_the_files(hosted: str, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 1300, "height": 900})
    page = context.new_page()
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on(
        "requestfailed", lambda request: wrong.append(request.url) if request.failure != "net::ERR_ABORTED" else None
    )
    opened(page, f"{hosted}/index.html")
    page.locator("#_ui-nav a", has_text="Anchoring").click()
    page.wait_for_url("**/guides/Anchoring.html")
    page.locator("#_ui-nav a", has_text="Mooring & more").click()
    expect(page.locator(".katex").first).to_be_visible(timeout=20_000)
    expect(page.frame_locator("iframe.diagram").locator("svg").first).to_be_visible(timeout=20_000)
    page.keyboard.press("/")
    page.keyboard.type("moor")
    option = page.locator("#_ui-suggestions [role=option]").first
    expect(option).to_contain_text("Mooring", timeout=20_000)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/guides/Moor.html*")
    opened(page, f"{hosted}/-/search.html?q=good")
    expect(page.locator("#_ui-results a", has_text="Crew")).to_be_visible(timeout=20_000)
    opened(page, f"{hosted}/-/search.html?q=mooring")
    rows = page.locator("#_ui-results li")
    expect(rows.first).to_be_visible(timeout=20_000)
    titles = rows.locator("h2").all_inner_texts()
    assert (titles[0], titles[-1]) == ("Mooring & more", "Old mooring"), "what holds is first"
    assert rows.locator(".status").all_inner_texts() == ["SUPERSEDED by guides/Moor.md"]
    assert "Mooring, moor mooring." in rows.last.inner_text(), "blanks around marked words stay"
    opened(page, f"{hosted}/-/search.html?q=gallopade")
    expect(page.locator("#_ui-results .status")).to_have_text("Speed: SUPERSEDED by (unpublished page)", timeout=20_000)
    said = page.locator("#_ui-results-count")
    assert "None" not in said.inner_text()
    opened(page, f"{hosted}/-/search.html?q=mooring+moorwxyz")
    expect(said).to_contain_text("None of the pages shown contains moorwxyz;", timeout=20_000)
    for query, title, words in (
        ("shipmates", "Crew", "1 page"),
        ("zzqq", "", "Nothing is found by these words."),
        ("gallopade+mooring", "Rules", "No page has all of these words; the pages shown have one of them."),
    ):
        opened(page, f"{hosted}/-/search.html?q={query}")
        expect(said).to_contain_text(words, timeout=20_000)
        assert title in "".join(page.locator("#_ui-results h2").all_inner_texts())
    assert wrong == []
    context.close()


def test_a_picture_that_comes_later_is_shown_by_the_page_that_names_it(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    (base / "index.md").write_text("# Index\n\n![x](a.png)\n")
    shell, out = Shell(base), tmp_path / "out"
    shell.ok("publish", str(base), str(out), "--no-search")
    assert not (out / "a.png").exists()
    (base / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    shell.ok("publish", str(base), str(out), "--no-search")
    shell.ok("publish", str(base), str(tmp_path / "fresh"), "--no-search")
    assert files_of(out) == files_of(tmp_path / "fresh")
    assert 'src="a.png"' in (out / "index.html").read_text()


def test_a_page_is_rendered_again_only_for_what_it_shows_of_a_changed_one(tmp_path: Path) -> None:
    repo = new_repo(
        tmp_path / "notes",
        {
            "Target.md": "# Target\n\n## Part\n\nText.\n",
            "Plain.md": "# Plain\n\n[[Target]]\n",
            "Part.md": "# Part of it\n\n[[Target#Part]]\n",
            "Embeds.md": "# Embeds\n\n![[Target]]\n",
            "Embeds twice.md": "# Embeds twice\n\n![[Embeds]]\n",
        },
    )
    target, out = repo.path / "Target.md", tmp_path / "out"
    publish(repo, out, "--no-search")
    for text, rendered in (("## Part\n\nOther text.", 3), ("## Other part\n\nOther text.", 4)):
        target.write_text(f"# Target\n\n{text}\n")
        assert publish(repo, out, "--no-search")["rendered"] == rendered, text
    publish(repo, tmp_path / "new", "--no-search")
    assert files_of(out) == files_of(tmp_path / "new")
