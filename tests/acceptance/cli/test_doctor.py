"""`commonplace doctor`: one machine on which everything is wrong at once, and what mends it."""

from __future__ import annotations

import os
import shlex
import socket
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shell import COMMAND, Shell
from support import GitRepo, new_repo

PAGES = {f"page-{number}.md": f"# Page {number}\n\nTea.\n" for number in range(4)}


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which another program listens that never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    return new_repo(tmp_path / "notes", PAGES)


def by_check(findings: Any) -> dict[str, Any]:
    return {finding["check"]: finding for finding in findings}


@pytest.mark.soak
def test_every_finding_comes_with_what_mends_it(repo: GitRepo, cache_dir: Path, tmp_path: Path, taken: int) -> None:
    config = tmp_path / "home" / "config.toml"
    config.parent.mkdir()
    config.write_text(f'tier = "write"\nport = {taken}\napi_key = "quite-secret"\n')
    config.chmod(0o644)
    shell = Shell(
        repo.path, {"COMMONPLACE_CONFIG": str(config), "HOME": str(config.parent), "COMMONPLACE_COMMIT": "auto"}
    )
    shell.ok("index")
    (database,) = cache_dir.rglob("catalogue.sqlite3")
    with sqlite3.connect(database) as connection:  # as after a disk that lost a write
        connection.execute("UPDATE files SET revision = ? WHERE path = 'page-2.md'", ("0" * 40,))
    connection.close()
    lock = repo.write(".git/index.lock", "")
    os.utime(lock, (0, 0))
    repo.write(
        ".vscode/mcp.json", '{"servers": {"old": {"command": "/gone/commonplace", "args": ["mcp", "/nowhere"]}}}'
    )

    done = shell("doctor", "--json")
    assert done.code == 1
    values = by_check(done.json["findings"])
    assert {name for name, element in values.items() if element["severity"] != "info"} == {
        "lock", "index", "setting", "port", "client",
    }  # fmt: skip
    assert done.json["count"] == 5
    assert "quite-secret" not in done.text
    assert "page-2.md" in values["index"]["message"]
    assert "index.lock" in values["lock"]["message"]
    assert values["fsync"]["severity"] == "info"
    messages = {value["subject"]: value["message"] for value in done.json["looked_at"] if value["check"] == "setting"}
    assert messages["tier"] == "write, given by tier in config.toml."
    assert messages["commit"] == "auto, given by COMMONPLACE_COMMIT."

    for name in ("lock", "index", "setting", "client", "fsync", "identity"):
        if name in values:
            program = f"{Path(COMMAND[0]).parent}{os.pathsep}{os.environ['PATH']}"
            environment = {
                **os.environ,
                **shell.environment,
                "PATH": program,
                "GIT_CONFIG_GLOBAL": str(config.parent / "git"),
            }
            subprocess.run(
                ["sh", "-c", values[name]["command"]], cwd=repo.path, env=environment, check=True, timeout=60
            )
    mended = Shell(repo.path, {**shell.environment, "COMMONPLACE_PORT": "0"})("doctor", "--quiet")
    assert (mended.code, mended.text, mended.stderr) == (0, "", "Nothing is wrong.\n")


def test_a_person_sees_each_check_on_a_line_with_its_command_below(repo: GitRepo, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    blocked = tmp_path / "file"
    blocked.write_text("")
    shell = Shell(repo.path, {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(blocked), "COMMONPLACE_PORT": "0"})
    (tmp_path / "more").mkdir()
    done = shell("doctor", "-C", repo.path, "-C", tmp_path / "more")
    assert done.code == 1
    assert done.stderr.count("the cache folder cannot be used") == 1, "said once"
    assert "notes: ok: The index matches the files: 4 pages. [index]" in done.lines, "from another place"
    (line,) = (line for line in done.lines if line.startswith("cache_dir: warning: "))
    assert line.endswith(" [permissions]")
    at = next(number for number, line in enumerate(done.lines) if line.endswith("[fsync]"))
    assert shlex.split(done.lines[at + 2]) == ["$", "git", "-C", str(repo.path), "config", "core.fsync", "committed"]
    assert "clients: ok: No client that is known here has an entry for commonplace. [client]" in done.lines
