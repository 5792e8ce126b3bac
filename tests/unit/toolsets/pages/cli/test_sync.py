"""The whole way on the command line: login, clone, edit, status, diff, push, pull."""

from __future__ import annotations

import json
import re
from pathlib import Path

from confluence.clones import small_site
from confluence.server import serving
from spaces.places import cn


def test_a_dry_run_changes_nothing_and_a_push_says_what_is_left(tmp_path: Path) -> None:
    folder = tmp_path / "eng"
    with serving(small_site()) as server:
        environment = {"CN_TOKEN": "secret", "CN_EMAIL": "ann@example.org", "CN_SITE": server.url}
        cn(tmp_path, "clone", "ENG", env=environment)
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts}
        (tmp_path / "x.txt").write_text("x")
        deploy = "runbooks/deploy.md"
        for arguments, shown in (
            (("new", "Fresh", "--parent", "runbooks/README.md"), "runbooks/fresh.md\n"),
            (("label", deploy, "new", "--", "-ops"), "new, runbook\n"),
            (("attach", deploy, str(tmp_path / "x.txt")), "[x.txt](../attachments/runbooks/deploy/x.txt)\n"),
            (("pull", "--comments"), "Nothing changed\n"),
        ):
            dry = (*arguments[:2], "--dry-run", *arguments[2:])
            assert cn(folder, *dry, env=environment).text == shown
        after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts}
        assert (after, server.site.writes) == (before, [])
        for path in (folder / deploy, folder / "README.md", folder / "drawer/inside.md"):
            path.write_text(path.read_text() + "\nMore.\n")
        page = next(page for page in server.site.pages.values() if page.title == "Deploy")
        server.site.edit(page, page.body.replace("gamma", "theirs"))
        dry = cn(folder, "push", "--dry-run", env=environment)
        assert dry.stderr.splitlines()[:2] == [
            "would push README.md: text (2 left)",
            "would push drawer/inside.md: text (1 left)",
        ]
        assert (dry.code, "Run 'cn pull'" in dry.stderr, server.site.writes) == (8, True, [])
        done = cn(folder, "push", env=environment)
        assert (done.code, "pushed README.md: text (2 left)" in done.stderr) == (8, True)


def test_the_whole_way(tmp_path: Path) -> None:
    folder = tmp_path / "eng"
    with serving(small_site()) as server:
        environment = {"CN_TOKEN": "secret", "CN_EMAIL": "ann@example.org", "CN_SITE": server.url}
        assert cn(tmp_path, "clone", "ENG", "--dry-run", env=environment).text == "eng: 6 new\n"
        assert not folder.exists()
        assert cn(tmp_path, "clone", "ENG", env=environment).text == "eng: 6 new\n"
        assert cn(tmp_path, "clone", "NO", env=environment).code == 5
        assert cn(folder, "status").text == "Nothing changed.\n"
        page = folder / "runbooks" / "deploy.md"
        page.write_text(page.read_text().replace("alpha", "omega"))
        assert cn(folder, "label", "runbooks/deploy.md", "new").text == "new, ops, runbook\n"
        assert cn(folder, "status").text == "runbooks/deploy.md: text, +new\n"
        assert "\n-alpha\n+omega\n" in cn(folder, "diff").text
        assert cn(folder, "push", "nowhere.md", env=environment).code == 7
        done = cn(folder, "push", "--json", env=environment)
        assert json.loads(done.text) == {"pushed": ["runbooks/deploy.md"], "refused": [], "dryRun": False}
        assert cn(folder, "open", "runbooks/deploy.md", "--dry-run").text.startswith(server.url)
        site = server.site
        deploy = next(page for page in site.pages.values() if page.title == "Deploy")
        site.edit(deploy, deploy.body.replace("omega", "theirs"))
        page.write_text(page.read_text().replace("omega", "mine"))
        pulled = cn(folder, "pull", "--json", env=environment)
        assert (pulled.code, json.loads(pulled.text)["conflicts"]) == (8, ["runbooks/deploy.md"])
        refused = cn(folder, "push", env=environment)
        assert (refused.code, "deploy.md.remote: bring it into the page, and set `version: 3`" in refused.stderr) == (
            8,
            True,
        )
        assert cn(folder, "push", "runbooks", env=environment).code == 7
        blocks = folder / "runbooks" / "blocks.md"
        blocks.write_text(re.sub(r"\[[^]]*\]\(confluence:[^)]*\)", "", blocks.read_text()))
        lost = cn(folder, "push", "runbooks/blocks.md", env=environment)
        assert (lost.code, "--allow-loss" in lost.stderr) == (6, True), lost
        assert "secret" not in "".join(path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file())
        assert server.violations == []
