"""The whole way on the command line: login, clone, edit, status, diff, push, pull."""

from __future__ import annotations

import json
import re
from pathlib import Path

from confluence.clones import small_site
from confluence.server import serving
from spaces.places import cn


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
