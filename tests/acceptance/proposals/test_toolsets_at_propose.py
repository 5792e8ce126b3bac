"""Each toolset at the tier `propose`: its writes wait, and are what they would have been."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent import agent
from at_propose import accept_all, served
from confluence.clones import served_clone
from confluence.site import Site
from layers import write_cascade
from serving import create_key
from serving import served as server
from support import new_repo

PAGES: dict[str, str | bytes] = {
    "kb.yaml": "name: tea\ntypes:\n  note: {}\n",
    "green.md": "---\nid: green\ntitle: Green tea\ntype: note\n---\n# Green tea\n\nHot.\n",
}
CALLS = {
    "kb": [
        ("kb_create", {"title": "Oolong", "kb_name": "tea", "entry_type": "note", "body": "Dark."}),
        ("kb_update", {"kb_name": "tea", "entry_id": "green", "body": "Cold."}),
    ],
    "wiki": [
        ("write_note", {"path": "Oolong", "content": "# Oolong\n\nDark.\n"}),
    ],
}


@pytest.mark.parametrize("toolset", CALLS)
def test_writes_wait_and_accepting_leaves_what_writing_leaves(tmp_path: Path, toolset: str) -> None:
    texts: list[dict[str, bytes]] = []
    for tier in ("write", "propose"):
        repo = new_repo(tmp_path / tier / "tea", PAGES)
        before = served(repo.path)
        command = ("mcp", repo.path, "--toolset", toolset, "--tier", tier, "--no-embed", "--commit", "auto")
        with agent(*command) as client:
            for tool, values in CALLS[toolset]:
                if toolset == "kb":
                    client.raw("kb_get", kb_name="tea", entry_id="green")
                result = client.raw(tool, **values)
                assert not result.is_error, result
                assert ("PROPOSED" in str(result.content)) is (tier == "propose")
            if tier == "propose":
                assert served(repo.path) == before
                assert "proposals" in client.tools()
                accept_all(repo.path, tmp_path)
        texts.append({path.name: path.read_bytes() for path in repo.path.rglob("*.md")})
    assert texts[0].keys() == texts[1].keys()
    assert len(texts[0]) > 1
    for name, text in texts[0].items():
        assert b"".join(_undated(texts[1][name])) == b"".join(_undated(text))


def test_an_edit_of_a_space_waits_and_is_pushed_after_it_was_accepted(tmp_path: Path) -> None:
    site = Site()
    page = site.add("Deploy", body="<h2>When</h2><p>On Monday.</p><h2>How</h2><p>Slowly.</p>")
    with served_clone(tmp_path, site) as clone:
        clone.clone()
        before = served(clone.folder)
        with agent("mcp", clone.folder, "--tier", "propose", env={"HOME": str(tmp_path)}) as client:
            assert list(client.tools()) == ["search", "read_page", "edit_section", "proposals"]
            edited = client.call("edit_section", page="deploy.md", heading="When", text="On Friday.")
            assert "\n-On Monday.\n+On Friday.\n" in edited["diff"]
            assert (edited["refusal"], "waits for a person" in edited["proposal"]) == (None, True)
            again = client.call("edit_section", page=page.id, heading="How", text="Fast.")
            assert "+On Friday." in again["diff"]
            for names in ({"path": "deploy.md"}, {"id": page.id}):
                shown = client.call("read_page", **names)
                assert "On Friday." in shown["content"]
                assert "WITH YOUR PROPOSAL" in shown["proposal"]
            assert [row["path"] for row in client.call("search", query="Friday")["results"]] == ["deploy.md"]
            assert served(clone.folder) == before
            with agent("mcp", clone.folder, "--tier", "write", env={"HOME": str(tmp_path)}, fresh=True) as other:
                assert "Monday" in other.call("read_page", path="deploy.md")["content"]
                assert other.call("status")["changes"] == []
        assert site.writes == []
        accept_all(clone.folder, tmp_path)
        login = {"HOME": str(tmp_path), "CN_TOKEN": "secret", "CN_EMAIL": "ann@example.org"}
        with agent("mcp", clone.folder, "--tier", "write", env=login) as client:
            assert client.call("push", pages=["deploy.md"])["pushed"] == ["deploy.md"]
        assert ("<p>On Friday.</p>" in page.body, "<p>Fast.</p>" in page.body) == (True, True)
        before = served(clone.folder)
        with agent("mcp", clone.folder, "--tier", "write", "--confirm", "always", env=login) as client:
            left = client.call("edit_section", page="deploy.md", heading="How", text="Well.")
            assert "cannot ask" in str(left) or "waits for a person" in str(left)
            assert "cannot be shown" in client.protocol_error("push", pages=["deploy.md"]).error.message
        assert served(clone.folder) == before


def test_a_key_for_one_space_proposes_and_nobody_else_sees_it(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    site = Site()
    site.add("Deploy", body="<h2>When</h2><p>On Monday.</p>")
    edit = {"page": "deploy.md", "heading": "When", "text": "On Friday."}
    with served_clone(tmp_path, site) as clone:
        clone.clone()
        before, name = served(clone.folder), clone.folder.name
        keys = {
            "one": create_key("one", "--tier", "propose", "--collection", name),
            "other": create_key("other", "--tier", "propose"),
            "person": create_key("person", "--tier", "write"),
        }
        with server(clone.folder) as running:
            assert "waits for a person" in str(running.call("pages", "edit_section", edit, key=keys["one"]))
            texts = {
                who: str(running.call("pages", "read_page", {"path": "deploy.md"}, key=key))
                for who, key in keys.items()
            }
            found = {
                who: str(running.call("pages", "search", {"query": "Friday"}, key=key)) for who, key in keys.items()
            }
            done = running.rpc("pages", "tools/call", {"name": "push", "arguments": {"pages": ["x"]}}, key=keys["one"])
            assert "error" in str(done)
        assert ["Friday" in texts[who] for who in keys] == [True, False, False]
        assert ["deploy.md" in found[who] for who in keys] == [True, False, False]
        assert served(clone.folder) == before


def test_a_capture_waits_in_the_live_layer_and_its_proposer_reads_it(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "live", {"notes.md": "# Notes\n\nMine.\n"})
    manifest = write_cascade(
        tmp_path, {"own": (2, {"a.md": "# A\n"})}, {"name": "live", "level": 1, "path": "live", "live": True}
    )
    before = served(repo.path)
    command = ("mcp", "--manifest", manifest, "--tier")
    with agent(*command, "propose") as client:
        staged = client.call("log_capture", kind="gotcha", title="Port taken", sections={"body": "Use 9093."})
        waits = client.call("confirm_capture", token=staged["token"])
        assert (waits["id"], "waits for a person" in waits["proposal"]) == (staged["id"], True)
        assert client.call("log_capture", kind="gotcha", title="Port taken", sections={"body": "x"})["id"] == (
            f"{staged['id']}-2"
        )
        assert "Use 9093." in client.call("read_file", concept_id=staged["id"])["markdown"]
        assert [hit["id"] for hit in client.call("search", query="9093")["result"]] == [staged["id"]]
        assert client.call("search", query="Mine")["result"][0]["id"] == "notes"
        assert served(repo.path) == before
        with agent(*command, "write", fresh=True) as other:
            assert staged["id"] not in [row["id"] for row in other.call("list_concepts")["result"]]
        accept_all(repo.path, tmp_path)
        assert (repo.path / f"{staged['id']}.md").read_text() == staged["preview"]
        assert staged["id"] in [row["id"] for row in client.call("list_concepts")["result"]]


def test_a_capture_is_decided_on_over_rest(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    live = new_repo(tmp_path / "live", {"notes.md": "# Notes\n"}).path
    manifest = write_cascade(
        tmp_path, {"own": (2, {"a.md": "# A\n"})}, {"name": "live", "level": 1, "path": "live", "live": True}
    )
    tiers = {"agent": "propose", "other": "propose", "person": "write", "reader": "read"}
    keys = {who: create_key(who, "--tier", tier) for who, tier in tiers.items()}
    with server("--manifest", manifest) as running:

        def ask(who: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
            answer = running.ask(method, f"/api/v1{path}", body, key=keys[who])
            return answer.status, answer.json

        staged = []
        for title in ("Port taken", "Disk full"):
            values = {"kind": "gotcha", "title": title, "sections": {"body": f"{title}: restart."}}
            staged.append(running.call("cascade", "log_capture", values, key=keys["agent"])["structuredContent"])
            token = {"token": staged[-1]["token"]}
            assert "PROPOSED" in str(running.call("cascade", "confirm_capture", token, key=keys["agent"]))
            path = f"/pages/{staged[-1]['id'].replace('/', '%2F')}"
            assert [ask(who, "GET", path)[0] for who in tiers] == [200, 404, 404, 404]
        rows = [ask(who, "GET", "/proposals") for who in tiers]
        assert [(status, found.get("total")) for status, found in rows] == [(200, 1), (200, 0), (200, 1), (403, None)]
        (place,) = (f"/proposals/{row['id']}" for row in rows[0][1]["proposals"])
        assert ask("other", "GET", place)[0] == 404
        part = {"pages": [f"{staged[0]['id']}.md"]}
        assert ask("agent", "POST", f"{place}/accept", part)[0] == 403
        assert ask("person", "POST", f"{place}/accept", part)[1]["written"] == part["pages"]
        assert ask("agent", "POST", f"{place}/withdraw")[1]["state"] == "withdrawn"
        assert ask("reader", "GET", f"/pages/{staged[0]['id'].replace('/', '%2F')}")[0] == 200
    assert (live / f"{staged[0]['id']}.md").read_text() == staged[0]["preview"]
    assert not (live / f"{staged[1]['id']}.md").exists()


def test_a_live_layer_without_git_takes_no_proposals_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "live").mkdir()
    manifest = write_cascade(
        tmp_path, {"own": (2, {"a.md": "# A\n"})}, {"name": "live", "level": 1, "path": "live", "live": True}
    )
    with agent("mcp", "--manifest", manifest, "--tier", "propose") as client:
        staged = client.call("log_capture", kind="gotcha", title="Port taken", sections={"body": "Use 9093."})
        refused = client.raw("confirm_capture", token=staged["token"])
        assert (refused.is_error, "git init" in str(refused.content)) == (True, True)
    assert not list((tmp_path / "live").iterdir())


def _undated(text: bytes) -> list[bytes]:
    return [line for line in text.splitlines(keepends=True) if not line.startswith((b"created", b"updated"))]
