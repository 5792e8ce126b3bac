"""Superseding, sources and the review queue over the real process, in every face that has them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent import RefusedError, agent
from serving import served
from shell import Shell
from support import new_repo

QUOTE = "Install the tool before anything else."
PAGES = {
    "net.py": "PORT = 8080\n",
    "network.md": "# Network\n\n## Port\n\nThe port is 8080.\n",
    "old.md": "# Old\n\nOf before.\n",
    "links.md": "# Links\n\nSee [port](network.md#port) and [[old]].\n",
    "words.md": "# Words\n\nSee [[network#Port]].\n",
    "guide.md": "---\nowner: '@docs'\nreview_by: 2020-01-01\n---\n# Guide\n\nInstall the tool before anything else.\n",
    "CODEOWNERS": "* @all\nteam/ @team\n",
}


def test_superseding_is_one_act_that_undo_takes_back(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", PAGES)
    today = datetime.now(UTC).date().isoformat()
    with agent("mcp", repo.path, "--no-embed", "--tier", "write", "--commit", "auto") as notes:
        notes.text("search", query="port")
        change = {"do": "supersede", "section": "Port", "text": "The port is 9090.", "reason": "It moved."}
        source = f'guide.md: "{QUOTE}"'
        answer = notes.text("edit", page="network.md", changes=[{**change, "sources": [source]}])
        assert "Links that meant the old text: links.md, words.md" in answer
        assert "Sources: [1] guide.md" in answer
        text = (repo.path / "network.md").read_text()
        assert text.startswith("# Network\n\n## Port\n\nThe port is 9090.[^1]\n\n[^1]: [guide](guide.md): ")
        assert "\n\n## History\n\n### Port, until" in text
        assert "8080" in text
        found_text = notes.text("search", query="port 8080")
        assert "SUPERSEDED by network.md#port" in found_text
        answer = notes.text("edit", page="old.md", changes=[{"do": "supersede", "by": "network.md"}])
        assert "Links that meant the old text: links.md" in answer
        assert "SUPERSEDED by network.md" in notes.text("read", page="old.md")
        head = repo.git("rev-parse", "HEAD")[:10]
        sources = [{"path": "guide.md", "quote": QUOTE}, "net.py#L1", "net.py#L9", "net.py#L1@deadbeef"]
        answer = notes.text("edit", page="links.md", changes=[{"do": "append", "text": "So.", "sources": sources}])
        assert f"[2] net.py#L1@{head}; [3] net.py#L9 (no commit has these lines" in answer
        assert "net.py has 1 lines, not 9" in answer
        assert "no commit 'deadbeef'" in answer
        assert f'[^1]: [guide](guide.md): "{QUOTE}"\n' in (repo.path / "links.md").read_text()
        with pytest.raises(RefusedError, match="'@HEAD' is no commit"):
            notes.text("write", page="new.md", text="# New\n", sources=["net.py#L1@HEAD"])
        queue = notes.run(notes.client.read_resource, f"notes://{repo.path.name}/review").contents[0].text
        assert "guide.md: It was to be reviewed by 2020-01-01" in queue
        assert "(@docs)" in queue
        answer = notes.text(
            "edit", page="guide.md", changes=[{"do": "reviewed", "by": "Ada", "fields": {"review_by": "2999-01-31"}}]
        )
        assert "; next review 2999-01-31" in answer
        assert f"last_reviewed_on: {today}\nreviewed_by: Ada" in (repo.path / "guide.md").read_text()
    shell = Shell(repo.path)
    commit = repo.git("log", "--format=%H", "--", "old.md").split()[0]
    shell.ok("undo", commit)
    assert (repo.path / "old.md").read_text() == PAGES["old.md"]


def test_the_queue_is_narrowed_to_an_owner_in_every_face(tmp_path: Path) -> None:
    due = "---\nreview_by: 2020-01-01\n---\n# Due\n\nText of its own {}.\n"
    repo = new_repo(tmp_path / "base", {**PAGES, "team/a.md": due.format("a"), "b.md": due.format("b")})
    shell = Shell(repo.path)
    paths = {owner: [element["path"] for element in shell("review", "--owner", owner, "--json").json["items"]]
             for owner in ("@team", "ALL", "docs", "nobody")}  # fmt: skip
    assert paths == {"@team": ["team/a.md"], "ALL": ["b.md"], "docs": ["guide.md"], "nobody": []}
    assert "team/a.md: It was to be reviewed by 2020-01-01" in shell.ok("review").text
    with served(repo.path) as server:
        server.ask("GET", "/api/v1/search?q=guide")  # waits for the index
        page = server.ask("GET", "/review?owner=docs", headers={"Accept": "text/html"}).body.decode()
        assert "guide.md" in page
        assert "team/a.md" not in page
    shell.ok("review", "--done", "team/a.md", "--by", "Ada", "--until", "2999-01-01")
    assert "review_by: 2999-01-01" in (repo.path / "team/a.md").read_text()
    assert [element["path"] for element in shell("review", "--json").json["items"]] == ["b.md", "guide.md"]
