"""Cases that were reported from outside, one folder each in `shared/cases`: the command that failed, and its answer."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from lsprotocol import types

from agent import Agent, agent
from editor import editing
from serving import served
from shell import Shell
from support import SHARED, GitRepo, new_repo

CASES = SHARED / "cases"
Case = Callable[[GitRepo, Shell], None]


def _writer(repo: GitRepo, call: Callable[[Agent], None]) -> None:
    with agent("mcp", repo.path, "--toolset", "notes", "--tier", "write", "--no-embed") as client:
        call(client)


def _findings(shell: Shell) -> list[str]:
    return [finding["rule"] for finding in shell("check", "--json").json["findings"]]


def _pages(shell: Shell, query: str) -> tuple[list[str], str]:
    done = shell.ok("search", "--json", "--mode", "keyword", query).json
    return [hit["path"] for hit in done["hits"]], str(done.get("notice") or "")


def latin_word(repo: GitRepo, shell: Shell) -> None:
    del repo
    assert _pages(shell, "Python") == (["a.md"], "")


def phrase_of_cjk(repo: GitRepo, shell: Shell) -> None:
    del repo
    assert _pages(shell, '"2023年1月"') == (["a.md"], "")
    for query in ("第3章", "2023"):
        pages, notice = _pages(shell, query)
        assert (pages[0], notice) == ("a.md", "")


def heading_without_colon(repo: GitRepo, shell: Shell) -> None:
    assert "dead_anchor" not in _findings(shell)
    assert "game text" in shell.ok("read", "t#Minecraft The Video Game").text
    with served(repo.path) as server:
        server.ask("GET", "/api/v1/search?q=game")
        assert server.ask("GET", "/p/i").body.decode().count("game text") == 1


def heading_with_markup(repo: GitRepo, shell: Shell) -> None:
    del repo
    assert "dead_anchor" not in _findings(shell)


def renamed_heading(repo: GitRepo, shell: Shell) -> None:
    del shell
    with editing(repo.path) as editor:
        place = {"text_document": types.TextDocumentIdentifier(editor.uri("t.md")), "position": types.Position(2, 5)}
        params = types.RenameParams(new_name="Terraria: Game", **place)  # type: ignore[arg-type]
        edit = editor.call(editor.client.text_document_rename_async, params)
        changes = edit.document_changes or ()
        edits = [edit for change in changes if isinstance(change, types.TextDocumentEdit) for edit in change.edits]
    assert len(edits) == 5, "four links and the heading"


def published_address(repo: GitRepo, shell: Shell) -> None:
    before = (repo.path / "content/i.md").read_bytes()
    shell.ok("mv", "content/drinks/green.md", "content/drinks/verde.md")
    assert (repo.path / "content/i.md").read_bytes() == before


def html_image(repo: GitRepo, shell: Shell) -> None:
    shell.ok("mv", "notes/a.md", "deep/er/a.md")
    assert 'src="../../img/p.png"' in (repo.path / "deep/er/a.md").read_text()
    assert not {"unused_attachment", "broken_link"} & set(_findings(shell))


def mdx_link(repo: GitRepo, shell: Shell) -> None:
    assert "gone.mdx" in shell.ok("links", "--broken").text
    assert "a.mdx" in shell.ok("links", "b", "--back").text
    shell.ok("mv", "b.mdx", "bb.mdx")
    assert "[x](bb.mdx)" in (repo.path / "a.mdx").read_text()


def title_first(repo: GitRepo, shell: Shell) -> None:
    def search(client: Agent) -> None:
        assert client.text("search", query="2022-05-25").index("2022-05-25.md") < 40

    _writer(repo, search)
    assert shell.ok("search", "2022-05-25", "--max-tokens", "300").text.lstrip().startswith("2022-05-25.md")


def block_edit(repo: GitRepo, shell: Shell) -> None:
    del shell
    table = "| a | b |\n|---|---|\n| 9 | 9 |"

    def edit(client: Agent) -> None:
        client.text("edit", page="n", changes=[{"do": "block", "block": "tab-1", "text": table}])

    _writer(repo, edit)
    assert f"{table}\n\n^tab-1\n" in (repo.path / "n.md").read_text()


def invalid_front_matter(repo: GitRepo, shell: Shell) -> None:
    del shell

    def edit(client: Agent) -> None:
        change = {"do": "replace", "old": "title: Q3 Planning", "text": "title: Q3: Planning"}
        assert "YAML" in client.text("edit", page="n", changes=[change])

    _writer(repo, edit)


def title_of_a_vault(repo: GitRepo, shell: Shell) -> None:
    del repo
    assert shell("check").code == 0
    assert "missing_title" not in _findings(shell)


def no_broken_link(repo: GitRepo, shell: Shell) -> None:
    del repo
    assert shell.ok("links", "--broken", "--json").json["broken"] == []


def block_of_a_heading(repo: GitRepo, shell: Shell) -> None:
    del repo
    assert shell.ok("read", "n#^h1").text.startswith("## Head ^h1\n\ntext")


def refused_rename(repo: GitRepo, shell: Shell) -> None:
    del repo
    done = shell("mv", "p", "Plan, new")
    assert done.code != 0
    assert "deep/c" in done.stderr


def history(repo: GitRepo, shell: Shell) -> None:
    repo.commit("Second", **{"old.md": "# P\n\nv2\n"})
    shell.ok("mv", "old", "fresh")
    text = shell.ok("log", "fresh").text
    assert "Second" in text
    assert "Begin" in text


RUNS: dict[str, Case] = {
    "01-latin-word-behind-cjk": latin_word,
    "02-phrase-of-cjk-and-digits": phrase_of_cjk,
    "03-heading-link-without-colon": heading_without_colon,
    "04-heading-link-with-markup": heading_with_markup,
    "05-lsp-heading-rename-misses-links": renamed_heading,
    "06-published-address-rewritten-on-move": published_address,
    "07-html-image-left-behind": html_image,
    "08-mdx-link-in-a-line-that-begins-with-a-tag": mdx_link,
    "09-title-first-in-sections-mode": title_first,
    "10-block-edit-swallows-blank-line-table": block_edit,
    "11-edit-makes-front-matter-invalid": invalid_front_matter,
    "12-missing-title-in-a-plain-vault": title_of_a_vault,
    "13-hugo-module-mounts": no_broken_link,
    "14-toml-in-a-hugo-shortcode": no_broken_link,
    "15-block-id-of-a-heading": block_of_a_heading,
    "16-kramdown-id-on-its-own-line": heading_with_markup,
    "17-rename-refused-without-the-page": refused_rename,
    "18-history-ends-at-a-rename": history,
}


@pytest.mark.skipif(not CASES.is_dir(), reason="the cases are not here")
def test_every_case_has_a_run() -> None:
    assert sorted(RUNS) == sorted(case.name for case in CASES.iterdir())


@pytest.mark.skipif(not CASES.is_dir(), reason="the cases are not here")
@pytest.mark.parametrize("case", RUNS)
def test_the_answer_is_the_expected_one(case: str, tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base")
    shutil.copytree(CASES / case / "in", repo.path, dirs_exist_ok=True)
    repo.git("add", "-A")
    repo.git("commit", "-qm", "Begin")
    RUNS[case](repo, Shell(repo.path, {"XDG_CACHE_HOME": str(tmp_path / "cache")}))
