"""Every face puts what holds first, and marks the rest with what replaces it."""

from __future__ import annotations

import re
from pathlib import Path

from agent import agent
from serving import served
from shell import Shell
from support import new_repo

PAGES = {
    "old.md": "---\nsuperseded_by: new.md\n---\n# Port of the server\n\nport of the server port server 8080\n",
    "new.md": "# Network\n\nAmong much that matters to nobody the server listens on the port 9090.\n",
    "expired.md": "---\nexpires: 2020-01-01\n---\n# Server port campaign\n\nport of the server\n",
}

AS_WRITTEN = {
    "new.md": PAGES["new.md"],
    "dec/1.md": "# Port 1\n\n## Status\n\nAccepted\n\nSuperceded by [2](2.md)\n\n## Port\n\nserver port\n",
    "dec/2.md": "# Network 2\n\n## Status\n\nAccepted\n\n## Rest\n\nserver port of the second, with many other words\n",
    "dec/3.md": "# Port 3\n\n| Status | Superseded by [2](2.md) |\n|--|--|\n| Day | 2020-01-01 |\n\nserver port\n",
    "key.md": "---\nsuperseded-by: dec/2.md\n---\n# Port key\n\nserver port\n",
    "both.md": "---\nStatus: draft, superseded\n---\n# Port both\n\nserver port\n",
    "day.md": "---\nValid-Until: 30.11.2020\n---\n# Port day\n\nserver port\n",
    "month.md": "---\nexpires: November 2020\n---\n# Port month\n\nserver port\n",
    "doubt.md": "---\nexpires: 3/4/2020\n---\n# Other\n\nNothing.\n",
}
"""Pages that do not hold, as people write it; two that hold, and one whose day is in doubt."""

SAID = "old.md (Port of the server) is superseded by new.md: it comes after what holds."
"""What a search says whose words are the title of a page that lapsed."""


def test_every_face_puts_what_holds_first(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", PAGES)
    with agent("mcp", repo.path, "--no-embed") as notes:
        text = notes.text("search", query="server port")
        assert text.index("new.md") < text.index("old.md#port-of-the-server SUPERSEDED by new.md")
        assert "EXPIRED" in text
        assert "old.md" not in notes.text("search", query="server port", status="current")
        assert "SUPERSEDED by new.md" in notes.text("read", page="old.md")
        assert "Nothing that holds answers" in notes.text("search", query="8080")
        assert "EXPIRED" in notes.text("read", page="expired.md", at="HEAD").splitlines()[0]
        assert "SUPERSEDED by new.md" in notes.text("read", page="old.md", at="HEAD").splitlines()[0]
        assert SAID in notes.text("search", query="port of the server")
    with agent("mcp", repo.path, "--no-embed", "--toolset", "kb") as kb:
        rows = kb.call("kb_search", query="server port")["results"]
        assert rows[0]["id"] == "new"
        assert {row["snippet"].partition("]")[0] for row in rows[1:]} == {"[SUPERSEDED by new.md", "[EXPIRED"}
    with agent("mcp", repo.path, "--no-embed", "--toolset", "wiki") as wiki:
        text = wiki.text("search_notes", query="server port")
        assert text.index("new") < text.index("[SUPERSEDED by new.md]")
    shell = Shell(repo.path)
    hits = shell("search", "server", "port", "--mode", "keyword", "--json").json["hits"]
    assert hits[0]["path"] == "new.md"
    assert {hit["path"]: hit.get("status") for hit in hits} == {
        "new.md": None,
        "old.md": {"status": "superseded", "by": "new.md"},
        "expired.md": {"status": "expired", "by": ""},
    }
    assert SAID in shell("search", "port", "of", "the", "server", "--mode", "keyword").stderr
    only = shell("search", "server", "port", "--mode", "keyword", "--status", "superseded", "--json").json["hits"]
    assert [hit["path"] for hit in only] == ["old.md"]
    with served(repo.path) as server:
        rows = server.ask("GET", "/api/v1/search?q=server+port").json["results"]
        assert rows[0]["path"] == "new"
        assert {row["snippet"].partition("]")[0] for row in rows[1:]} == {"[SUPERSEDED by new.md", "[EXPIRED"}
        rows = server.ask("GET", "/api/v1/search?q=server+port&status=current").json["results"]
        assert [row["path"] for row in rows] == ["new"]
        assert server.ask("GET", "/api/v1/search?q=server+port&status=bogus").status in {400, 422}
        assert SAID in server.ask("GET", "/search?q=port+of+the+server", headers={"Accept": "text/html"}).body.decode()
        body = server.ask("GET", "/search?q=server+port", headers={"Accept": "text/html"}).body.decode()
        assert body.index("/new") < body.index("SUPERSEDED by ")
        assert re.search(r'SUPERSEDED by <a [^>]*href="/p/new"[^>]*>new\.md</a>', body)
        assert (
            "This page is superseded by new.md"
            in server.ask("GET", "/p/old", headers={"Accept": "text/html"}).body.decode()
        )


def test_every_face_reads_a_status_as_people_write_it(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", AS_WRITTEN)
    lapsed = dict.fromkeys(("dec/1.md", "dec/3.md", "key.md"), "SUPERSEDED by dec/2.md")
    lapsed |= {"both.md": "SUPERSEDED", "day.md": "EXPIRED", "month.md": "EXPIRED"}
    shell = Shell(repo.path)
    hits = shell("search", "server", "port", "--mode", "keyword", "--json").json["hits"]
    assert {hit["path"] for hit in hits[:2]} == {"new.md", "dec/2.md"}
    assert {hit["path"] for hit in hits[2:]} == set(lapsed)
    issues = shell("check", "--json").json["findings"]
    assert [issue["path"] for issue in issues if "counts as no day" in issue["message"]] == ["doubt.md"]
    with agent("mcp", repo.path, "--no-embed") as notes, served(repo.path) as server:
        text = notes.text("search", query="server port")
        rows = server.ask("GET", "/api/v1/search?q=server+port").json["results"]
        for path, mark in lapsed.items():
            assert max(text.index("new.md"), text.index("dec/2.md#")) < text.index(f"{path}#")
            assert mark in notes.text("read", page=path).splitlines()[0]
            assert mark.split()[0].lower() in str(shell("read", path, "--json").json["status"])
            (row,) = (row for row in rows if row["path"] == path.removesuffix(".md"))
            assert row["snippet"].startswith(f"[{mark}]")
            page = server.ask("GET", f"/p/{path.removesuffix('.md')}", headers={"Accept": "text/html"}).body.decode()
            assert f"This page is {mark.split()[0].lower()}" in page or "This page expired" in page
