"""Words and numbers beside scripts without blanks are found, quoted, shown and marked by every face."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from serving import Server, served
from shell import Shell
from support import eventually, new_repo

PAGES = {
    "tutorial.md": "# 教程\n\n使用Python编写\n",
    "a.md": "# A\n\n第3章の設定を2023年1月に変更\n",
    "b.md": "# B\n\n第4章の設定を2022年5月に確認\n",
    "m.md": "# M\n\n3章 第 名前 月\n",
    "thai.md": "# T\n\nบทที่7และ8월\n",
    "sync.md": "# S\n\nBeachte, dass Obsidian Sync [[Häufig gestellte Fragen|Einschränkungen]] hat.\n",
    "preview.md": "# V\n\n点开设置、然后选择**实时预览**、再看[这里](https://example.org/a.md)的说明\n",
    "stored.md": "# D\n\n"
    "Files are stored for <u>two weeks</u>, and ![[pic.png]] then removed.\n\nSee [md label](b.md) after.\n",
    "custom.md": '# C\n\nA ["0" custom specifier][..]. The number.\n\nUse **Publish changes** ![[icon]] or open it.\n',
    "python.md": "# P\n\n使用Python3.11写的摘要\n",
    "postgres.md": "# Q\n\n使用PostgreSQL16.2部署\n",
    "other.md": "# O\n\n部署和摘要\n",
    "nginx.md": "# N\n\nติดตั้งNginx1.25\n",
    "redis.md": "# R\n\nWe run Redis7 here, with dates by ISO8601.\n",
    "code.md": "# K\n\nWrite `gamma <u>delta</u> epsilon` so.\n",
}
FIRST = {
    "Python编写": "tutorial.md", "使用Python编写": "tutorial.md", '"2023年1月"': "a.md", "第3章": "a.md",
    "2023": "a.md", '"第3章"': "a.md", "บทที่7": "thai.md", "8월": "thai.md", "7 และ": "thai.md",
    '"Obsidian Sync Einschränkungen hat"': "sync.md", '"选择实时预览"': "preview.md", '"看这里的说明"': "preview.md",
    '"选择**实时预览**"': "preview.md", '"stored for two weeks, and then removed"': "stored.md",
    '"md label after"': "stored.md", '"[md label](b.md) after"': "stored.md",
    '"0 custom specifier. The number"': "custom.md",
    '"Publish changes or open"': "custom.md", '"gamma <u>delta</u> epsilon"': "code.md", "example": "preview.md",
    'stored AND "two weeks, and then"': "stored.md",
    "Python AND 摘要": "python.md", "PostgreSQL AND 部署": "postgres.md", '"PostgreSQL"': "postgres.md",
    '"使用PostgreSQL"': "postgres.md", "16.2": "postgres.md", "3.11": "python.md", '"3.11"': "python.md",
    "Redis 7": "redis.md", '"Redis 7"': "redis.md", "iso 8601": "redis.md", "Nginx": "nginx.md",
    "部署 NOT PostgreSQL": "other.md", "部署 -PostgreSQL": "other.md",
}  # fmt: skip
"""Searches, each with the page that comes first."""
ALONE = (
    '"2023年1月"',
    "2023",
    '"第3章"',
    '"选择实时预览"',
    '"stored for two weeks, and then removed"',
    "Python AND 摘要",
    "PostgreSQL AND 部署",
    '"PostgreSQL"',
    "部署 NOT PostgreSQL",
    "部署 -PostgreSQL",
    "Nginx",
)
"""The searches that find only this page."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_repo(tmp_path_factory.mktemp("mixed") / "base", PAGES).path


@pytest.fixture(scope="module")
def server(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    place = tmp_path_factory.mktemp("server")
    env = {"XDG_CACHE_HOME": str(place / "cache"), "XDG_STATE_HOME": str(place / "state"), "COMMONPLACE_EMBED": "false"}
    with served(folder, env=env) as running:
        eventually(lambda: running.ask("GET", "/search?q=page").status == 200)  # pages do not wait for a first index
        yield running


Ask = Callable[[str], tuple[list[str], str]]
"""Returns the paths of the hits in order, and the whole answer."""


@pytest.fixture(scope="module", params=["kb_search", "notes", "rest", "web", "command line"])
def ask(request: pytest.FixtureRequest, server: Server, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Ask:
    place = str(tmp_path_factory.mktemp("shell"))
    shell = Shell(folder, {"XDG_CACHE_HOME": place, "XDG_STATE_HOME": place, "COMMONPLACE_EMBED": "false"})

    def kb(text: str) -> tuple[list[str], str]:
        answer = server.call("kb", "kb_search", {"query": text})["structuredContent"]
        return [f"{row['id']}.md" for row in answer["results"]], json.dumps(answer, ensure_ascii=False)

    def notes(text: str) -> tuple[list[str], str]:
        shown = "".join(part["text"] for part in server.call("notes", "search", {"query": text})["content"])
        return re.findall(r"^\[\d+\] ([\w-]+\.md)", shown, re.MULTILINE), shown

    def rest(text: str) -> tuple[list[str], str]:
        answer: Any = server.ask("GET", f"/api/v1/search?q={quote(text, safe='')}").json
        return [row["path"] for row in answer["results"]], json.dumps(answer, ensure_ascii=False)

    def web(text: str) -> tuple[list[str], str]:
        shown = server.ask("GET", f"/search?q={quote(text, safe='')}").body.decode()
        return re.findall(r'<p class="where"><bdi>([^<]*)</bdi>', shown), shown

    def line(text: str) -> tuple[list[str], str]:
        done = shell("search", "-", "--json", stdin=text)
        return [row["path"] for row in done.json["hits"]], str(done.json)

    return {"kb_search": kb, "notes": notes, "rest": rest, "web": web, "command line": line}[request.param]


@pytest.mark.parametrize("query", FIRST)
@pytest.mark.sampled(3)  # each face has a third of the words, and each word a face
def test_a_word_beside_another_script_is_found_and_not_denied(ask: Ask, query: str) -> None:
    paths, answer = ask(query)
    assert [path.removesuffix(".md") for path in paths[:1]] == [FIRST[query].removesuffix(".md")], answer
    assert query not in ALONE or len(paths) == 1
    assert "No page" not in html.unescape(answer)
