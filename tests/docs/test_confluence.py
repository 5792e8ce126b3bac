"""The commands of the README and of docs/confluence.md, word for word, against a site on loopback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from confluence.server import serving
from confluence.site import Site
from support import ROOT

PAGE = (ROOT / "docs" / "confluence.md").read_text(encoding="utf-8")


@pytest.mark.soak
def test_the_commands_lead_from_a_login_to_a_pushed_word(tmp_path: Path, cache_dir: Path) -> None:
    site = Site()
    runbooks = site.add("Runbooks", body="<p>How we work.</p>")
    body = '<p class="x">Bo deploys&nbsp;every Monday.</p><ac:structured-macro ac:name="toc" />'
    deploy = site.add("Deploy", runbooks.id, body)
    (tmp_path / "token").write_text("secret\n")
    match = re.search(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    assert match
    assert match[0] in (ROOT / "README.md").read_text(encoding="utf-8")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    keyring = "keyring.backends.fail.Keyring"
    environment = os.environ | {
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(cache_dir),
        "PATH": path,
        "PYTHON_KEYRING_BACKEND": keyring,
    }
    with serving(site) as server:
        script = "set -e\n" + match[1].replace("https://acme.atlassian.net", server.url)
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        assert done.returncode == 0, done.stderr
        assert server.violations == []
    assert deploy.body == site.store(body.replace("Monday", "Friday"))
    assert site.writes == [("PUT", deploy.id)]
    assert "runbooks/deploy.md" in done.stdout.partition("Found")[2]
    assert "\n-Bo deploys&nbsp;every Monday.\n+Bo deploys&nbsp;every Friday.\n" in done.stdout
    assert done.stdout.endswith("Nothing changed\n")
    folder = tmp_path / "spaces" / "eng"
    assert "mcpServers" in json.loads((folder / ".mcp.json").read_text())
    kept = [name for name in tmp_path.rglob("*") if name.is_file() and b"secret" in name.read_bytes()]
    assert {name.name for name in kept} == {"token", "credentials.json"}
