"""Data of an older version (key, settings and a client's entry) is used by this one. Each has its own index."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import pytest

from release.environments import first_answer, outside
from serving import served
from shell import Shell
from support import ROOT

OLDER = "6671b77b93ca831d5799a86019a6666e827eda0a"
"""A commit whose index has another format."""
START = "import sys; from commonplace.main import main; sys.exit(main())"


def older_versions() -> list[str]:
    """Every released version, and the older commit."""
    listed = ["git", "tag", "--list", "v*"]
    tags = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=False)
    return [*tags.stdout.split(), OLDER]


@dataclass(frozen=True, slots=True)
class Version:
    """The program of one version, for a user with a home."""

    source: Path
    home: Path

    def __call__(self, *arguments: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command that must end with 0."""
        environment = outside(self.home) | {"PYTHONPATH": str(self.source)}
        done = subprocess.run(
            [sys.executable, "-c", START, *arguments], cwd=self.home, input=stdin, env=environment,
            capture_output=True, text=True, check=False, timeout=100,
        )  # fmt: skip
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done


def source_of(version: str, folder: Path) -> Path:
    """The sources of a version, unpacked."""
    packed = subprocess.run(["git", "archive", version, "src"], cwd=ROOT, capture_output=True, check=False)
    if packed.returncode:
        pytest.skip(f"needs the history back to {version[:12]}")
    with tarfile.open(fileobj=BytesIO(packed.stdout)) as tar:
        tar.extractall(folder, filter="data")
    return folder / "src"


@pytest.mark.parametrize("version", older_versions())
def test_what_an_older_version_left_is_used_and_the_older_one_still_works_afterwards(
    version: str, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    notes = home / "notes"
    notes.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", notes], check=True)
    (notes / "black.md").write_text("Black tea: see [[tea]].\n")
    settings = home / ".config" / "commonplace" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('commit = "manual"\nrate_limit = 900\n')
    older = Version(source_of(version, tmp_path / "older"), home)
    newer = Version(ROOT / "src", home)

    older("write", "tea", "-C", notes, stdin="Green tea wants water of 80 degrees.\n")
    key = older("keys", "create", "laptop").stdout.strip()
    older("connect", "cursor", "-C", notes, "--yes")
    assert "80 degrees" in older("search", "green tea", "-C", notes).stdout

    completed = newer("search", "green tea", "-C", notes)
    assert "80 degrees" in completed.stdout
    assert completed.stderr == "", "an upgrade is no reason for a warning"
    checked = newer("doctor", "-C", notes).stdout
    assert "rate_limit: ok: 900" in checked
    assert "serves ~/notes" in checked
    entry = json.loads((home / ".cursor" / "mcp.json").read_text())["mcpServers"]["notes"]
    entry["command"] = str(Path(sys.executable).with_name("commonplace"))
    assert "tea.md" in first_answer(entry, home, "green tea")
    # The folders of this home are named from here on: what finds them has been tried.
    folders = {"XDG_STATE_HOME": str(home / ".local" / "state"), "XDG_CACHE_HOME": str(home / ".cache")}
    shell = Shell(notes, folders)
    assert "laptop" in shell.ok("keys", "list").text
    assert "black.md" in shell.ok("links", "tea", "-C", notes).text
    with served(notes, env=folders) as server:
        assert server.ask("GET", "/api/v1/search?q=green+tea").status == 401
        assert server.ask("GET", "/api/v1/search?q=green+tea", key=key).status == 200

    assert "80 degrees" in older("search", "green tea", "-C", notes).stdout, "going back is safe"
    assert "80 degrees" in shell.ok("search", "green tea", "-C", notes).text
