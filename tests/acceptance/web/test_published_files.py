"""Published files: the same bytes from a copy, a search in scripts without blanks, and the rules of a generator."""

from __future__ import annotations

import http.server
import shutil
import threading
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from browser import needs_browser, opened, running
from shell import Shell
from support import new_repo

FILES = {
    "数据.md": "---\naliases: [每日备份]\n---\n# 数据库的备份\n\n"
    "每天进行一次。使用`Python`编写, 管理员 sees *管理*员 it.\n",
    "東京.md": "# 図書館\n\n東京大学の図書館は本郷キャンパスにあります。\n\n## 潮汐表\n\n据此 库存 tide.\n",
    "old/plain.md": "---\nsuperseded_by: 東京\ndate: 2026-03-01\n---\n# Plain\n\nA page about harbours and tide.\n",
    "last.md": "# Last\n\n![[map.png]] [[plain]]\n",
    "files/map.png": "map",
}


def test_a_copy_elsewhere_gives_the_same_bytes(tmp_path: Path) -> None:
    """Its files come in another order, and the time zone and the language of the machine are others."""
    base, copy = new_repo(tmp_path / "a/harbour", FILES), tmp_path / "b/harbour"
    base.git("mv", "last.md", "Last page.md")
    base.commit("Rename")
    shutil.copytree(base.path / ".git", copy / ".git")
    for name in sorted(filter(None, base.git("ls-files", "-z").split("\0")), reverse=True):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(base.path / name, copy / name)
    url = ("--url", "https://harbour.example/docs")
    Shell(tmp_path).ok("publish", base.path, tmp_path / "one", *url)
    elsewhere = {"TZ": "Pacific/Auckland", "LC_ALL": "C", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    Shell(tmp_path, elsewhere).ok("publish", copy, tmp_path / "two", *url)
    one, two = (
        {file.relative_to(out).as_posix(): file.read_bytes() for file in out.rglob("*") if file.is_file()}
        for out in (tmp_path / "one", tmp_path / "two")
    )
    assert one == two
    assert "last.html" in one
    assert any(name.endswith(".pf_index") for name in one)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        del format, args


@needs_browser
@pytest.mark.xdist_group("browser")
def test_words_inside_a_run_of_characters_are_found(tmp_path: Path) -> None:
    Shell(tmp_path).ok("publish", new_repo(tmp_path / "base", FILES).path, tmp_path / "site")
    first, second = "数据库的备份", "図書館"
    expected = {
        "据库": [first], "编写": [first], "日备": [first], "sees 管理员": [first], '"sees 管理员"': [first],
        "学の図": [second], "キャンパス": [second], "汐表": [second], "本郷 tide": [second], "据": [first, second],
        "tide": ["Plain", second], "猫": [],
    }  # fmt: skip
    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(tmp_path / "site"))) as host,
        running() as browser,
    ):
        threading.Thread(target=host.serve_forever).start()
        page = browser.new_page()
        for query, titles in expected.items():
            opened(page, f"http://127.0.0.1:{host.server_port}/-/search.html?{urlencode({'q': query})}")
            expect(page.locator("#_ui-results-count")).not_to_be_empty(timeout=20_000)
            assert sorted(page.locator("#_ui-results h2").all_inner_texts()) == sorted(titles), query
            assert "\u2060" not in page.content()
            if query == "据库":
                assert page.locator("#_ui-results .snippet").inner_text().startswith("数据库的备份")
                assert page.locator("#_ui-results mark").all_inner_texts() == ["据库"]
        page.close()
        host.shutdown()


@pytest.mark.parametrize("key", ["exclude_docs", "draft_docs"])
def test_rules_of_mkdocs_are_not_passed_over(tmp_path: Path, key: str) -> None:
    base = new_repo(
        tmp_path / "base",
        {
            "mkdocs.yml": f"site_name: M\n{key}: |\n  /priv\n",
            "docs/index.md": "# M\n",
            "docs/priv/p.md": "# Otter\n",
        },
    )
    done = Shell(tmp_path)("publish", base.path, tmp_path / "site", "--no-search")
    assert done.code == 4, done.stderr
    assert f"mkdocs.yml leaves pages out with {key}, which is not read" in done.stderr
    assert not (tmp_path / "site").exists()
    (base.path / "commonplace.yaml").write_text("publish: {exclude: [docs/priv]}\n")
    Shell(tmp_path).ok("publish", base.path, tmp_path / "site", "--no-search")
    assert not any(b"Otter" in file.read_bytes() for file in (tmp_path / "site").rglob("*.html"))
