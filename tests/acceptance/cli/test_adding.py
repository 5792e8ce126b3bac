"""Sources come in by the command line and over MCP: kept as they came, searched and cited."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent import RefusedError, agent
from papers import pdf
from shell import Shell
from sites import site
from support import GitRepo, MakeRepo

REPORT = pdf(["The turnover was 12 million", "It rose by a tenth"])


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    return git_repo("notes", {"tea.md": "# Tea\n"})


def test_a_file_is_kept_as_it_came_and_its_text_is_searched_and_cited(repo: GitRepo, tmp_path: Path) -> None:
    shell = Shell(repo.path)
    for name in ("report.pdf", "again.pdf"):
        (tmp_path / name).write_bytes(REPORT)
    added = shell.ok("add", tmp_path / "report.pdf", "--json").json["items"][0]
    head = repo.git("rev-parse", "HEAD")
    assert added == {
        "collection": "notes",
        "file": "sources/report.pdf",
        "page": "sources/report.md",
        "title": "Annual report",
        "kind": "pdf",
        "size": len(REPORT),
        "action": "created",
        "commit": head,
        "notes": [],
    }
    assert (repo.path / "sources/report.pdf").read_bytes() == REPORT
    assert repo.git("status", "--porcelain") == ""
    again = shell.ok("add", tmp_path / "again.pdf", "--json").json["items"][0]
    assert (again["action"], again["file"]) == ("unchanged", "sources/report.pdf")
    (tmp_path / "report.pdf").write_bytes(pdf(["Another one"]))
    assert shell.ok("add", tmp_path / "report.pdf").lines[0].startswith("Added sources/report-2.md")
    hit = shell.ok("search", "turnover", "--json").json["hits"][0]
    assert (hit["path"], repo.git("log", "-1", "--format=%s")) == ("sources/report.md", "Add source: report.pdf")
    shell.ok("write", "tea", "--append", stdin='[^1]: [Report](sources/report.md#page-2): "rose by a tenth"\n')
    assert not [row for row in shell("check", "--json").json["findings"] if row["severity"] != "info"]
    with (tmp_path / "huge.pdf").open("wb") as huge:
        huge.truncate(200_000_000)
    refused = shell("add", tmp_path / "huge.pdf")
    assert "200,000,000 bytes; the limit is" in refused.stderr
    assert "no file" in shell("add", tmp_path / "nowhere.pdf").stderr
    assert "no URL" in shell("add", "https://").stderr


def test_of_several_sources_each_is_tried(repo: GitRepo, tmp_path: Path) -> None:
    for name, text in (("t.html", "<h1>A</h1><table><tr><td>x"), ("t.pdf", "%PDF-1.4 damaged"), ("t.txt", "some")):
        (tmp_path / name).write_text(text)
    (tmp_path / "own.md").write_text("# Own\n")
    shell = Shell(repo.path)
    files = [tmp_path / name for name in ("t.html", "t.pdf", "t.txt", "own.md")]
    some = shell("add", *files)
    assert "t.pdf" in some.stderr
    assert some.code != 0
    assert [line.split()[1] for line in some.lines if line.startswith("Added")] == [
        f"sources/{name}.md" for name in ("t", "t-2", "own")
    ]
    assert any("It is Markdown: it stays as it came" in line for line in some.lines)
    assert (repo.path / "sources/own.md").read_bytes() == b"# Own\n"
    again = shell("add", *files, "--json").json
    assert [row["action"] for row in again["items"]] == ["unchanged"] * 3
    assert [row["error"]["code"] for row in again["failed"]] == ["invalid"]


def test_a_web_page_comes_in_where_private_addresses_are_permitted(repo: GitRepo) -> None:
    shell = Shell(repo.path)
    with site() as url:
        refused = shell("add", f"{url}/guide")
        assert "private network" in refused.stderr
        assert "--private" in refused.stderr
        assert not (repo.path / "sources").exists()
        added = shell.ok("add", f"{url}/to-guide", "--private", "--json").json["items"][0]
        assert (added["file"], added["title"]) == ("sources/guide.html", "Guide")
        page = (repo.path / "sources/guide.md").read_text()
        assert f"url: {url}/guide" in page
        assert "copy: sources/guide.html" in page
        assert "## Kettle\n\nDescale it monthly." in page
        assert shell.ok("add", f"{url}/lies.pdf", "--private", "--json").json["items"][0]["action"] == "unchanged"
        (repo.path / "sources/guide.html").unlink()
        assert "sources/guide.html" in str(shell("check").stdout)


def test_an_agent_adds_a_file_of_the_folder(repo: GitRepo) -> None:
    (repo.path / "inbox").mkdir()
    (repo.path / "inbox/report.pdf").write_bytes(REPORT)
    with agent("mcp", repo.path, "--no-embed", "--tier", "write", "--commit", "auto") as writer:
        text = writer.text("add", source="inbox/report.pdf", title="Report of 2024")
        assert "Added sources/report.md (from inbox/report.pdf, kept as sources/report.pdf, " in text
        assert "Cite: sources: [sources/report.md#page-N]" in text
        assert "rose by a tenth" in writer.text("read", page="sources/report.md", section="Page 2")
        assert "Was added before" in writer.text("add", source="inbox/report.pdf")
        for source, reason in (
            ("../x.pdf", "path"),
            ("http://127.0.0.1:9/x", "private network"),
            ("tea.pdf", "No such file"),
        ):
            with pytest.raises(RefusedError, match=reason):
                writer.text("add", source=source)
    assert repo.git("log", "-1", "--format=%s") == "Add source: report.pdf"
