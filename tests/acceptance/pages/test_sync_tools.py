"""The tools that edit a cloned space and push to its site, over stdio, with the official client."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent import agent
from confluence.clones import served_clone
from confluence.site import Site
from deployments.deployment import DEPLOYMENT
from spaces.tree import write_space

pytestmark = pytest.mark.skipif(DEPLOYMENT != "folder", reason="a clone is a folder with its own Git")
MACRO = '<ac:structured-macro ac:name="toc" />'


def test_a_section_is_edited_shown_and_pushed_if_it_is_named(tmp_path: Path) -> None:
    site = Site()
    deploy = site.add("Deploy", body=f"<h2>When</h2><p>On&nbsp;Monday.</p><h2>How</h2>{MACRO}<p>Slowly.</p>")
    other = site.add("Other", body="<h2>What</h2><p>One.</p>")
    with served_clone(tmp_path, site) as clone:
        clone.clone()
        login = {"HOME": str(tmp_path), "CN_TOKEN": "secret", "CN_EMAIL": "ann@example.org"}
        with agent("mcp", clone.folder, "--tier", "write", env=login, module="commonplace.cn") as client:
            tools = client.tools()
            assert list(tools) == ["search", "read_page", "status", "diff", "edit_section", "push"]
            hints = {name: tool.annotations.read_only_hint for name, tool in tools.items() if tool.annotations}
            assert [name for name, reads in hints.items() if not reads] == ["edit_section", "push"]
            edited = client.call("edit_section", page="deploy.md", heading="When", text="On Friday.")
            assert (edited["path"], edited["refusal"]) == ("deploy.md", None)
            assert "\n-On&nbsp;Monday.\n+On Friday.\n" in edited["diff"]
            client.call("edit_section", page=other.id, heading="What", text="Two.")
            assert [row["path"] for row in client.call("status")["changes"]] == ["deploy.md", "other.md"]
            assert [row["path"] for row in client.call("diff", pages=[other.id])["diffs"]] == ["other.md"]
            for arguments in ({}, {"pages": []}):
                assert "Invalid params" in client.protocol_error("push", **arguments).error.message
            assert client.call("push", pages=["deploy.md"], dry_run=True)["pushed"] == ["deploy.md"]
            assert site.writes == []
            assert client.call("push", pages=["deploy.md"]) == {
                "pushed": ["deploy.md"],
                "refused": [],
                "dryRun": False,
            }
            assert site.writes == [("PUT", deploy.id)]
            assert "<p>On Friday.</p>" in deploy.body
            lost = client.call("edit_section", page="deploy.md", heading="How", text="Fast.")
            assert "--allow-loss" in lost["refusal"]
            assert client.call("push", pages=["deploy.md"])["refused"] == [
                {"path": "deploy.md", "error": lost["refusal"]}
            ]
            assert (
                "no section 'Why'"
                in client.protocol_error("edit_section", page="deploy.md", heading="Why", text="").error.message
            )
            assert "no page" in client.protocol_error("push", pages=["nowhere.md"]).error.message
            assert client.call("search", query="Fast")["results"][0]["path"] == "deploy.md"
        assert site.writes == [("PUT", deploy.id)]


def test_without_the_tier_a_login_or_a_clone_nothing_is_pushed(tmp_path: Path) -> None:
    with served_clone(tmp_path) as clone:
        clone.clone()
        clone.edit("runbooks/deploy.md", "alpha", "omega")
        home = {"HOME": str(tmp_path)}
        with agent("mcp", clone.folder, env=home, module="commonplace.cn") as client:
            assert list(client.tools()) == ["search", "read_page"]
            refused = client.protocol_error("push", pages=["runbooks/deploy.md"]).error.message
            assert "push needs the tier write" in refused
        with agent("mcp", clone.folder, "--tier", "write", env=home, module="commonplace.cn") as client:
            assert "cn login" in client.protocol_error("push", pages=["runbooks/deploy.md"]).error.message
        assert clone.site.writes == []
    space = write_space(tmp_path / "older")
    with agent("mcp", space.root, "--tier", "write", env=home, module="commonplace.cn") as client:
        assert "cn clone" in client.protocol_error("status").error.message
