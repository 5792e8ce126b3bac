"""The replacement of the command in other tests (loaded once, forked for each process) behaves like the command."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agent import Mode, agent
from forks.preloaded import preloaded
from serving import served
from shell import COMMAND, Shell
from support import GitRepo
from wire import wire

LINES = [
    ["search", "tea", "--json"],
    ["search", "--limit", "many"],
    ["read", "nowhere"],
    ["check"],
    ["list", "--help"],
    ["write", "new/page", "-"],
    ["nothing"],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("folder")
    (folder / "tea.md").write_text("# Tea\n\nSee [[nowhere]].\n")
    return folder


@pytest.mark.parametrize("line", LINES, ids=" ".join)
@pytest.mark.sampled(6)
def test_a_forked_command_does_what_one_in_a_new_process_does(folder: Path, line: list[str]) -> None:
    forked = Shell(folder)(*line, stdin="# New\n")
    (folder / "new/page.md").unlink(missing_ok=True)
    fresh = Shell(folder, fresh=True)(*line, stdin="# New\n")
    (folder / "new/page.md").unlink(missing_ok=True)
    assert (forked.code, forked.stdout, forked.stderr) == (fresh.code, fresh.stdout, fresh.stderr)


def test_an_environment_that_may_matter_while_loading_needs_a_new_process(folder: Path) -> None:
    line = [*COMMAND, "list"]
    usual = dict(os.environ)
    assert preloaded().run(line, folder, usual, b"", 60) is not None
    assert preloaded().run(line, folder, {**usual, "PYTHONUTF8": "0"}, b"", 60) is None


def test_a_forked_command_reads_the_configuration_of_its_own_home(tmp_path: Path) -> None:
    repo = GitRepo(tmp_path / "repo")
    repo.path.mkdir()
    repo.git("init", "--quiet")
    homes = {name: tmp_path / name for name in ("forked", "fresh", "unset")}
    for name, home in homes.items():
        (home / ".config/commonplace").mkdir(parents=True)
        (home / ".config/commonplace/config.toml").write_text(f'commit = "auto"\nnonsense_{name} = 1\n')
        (home / ".gitconfig").write_text(f"[user]\n\tname = By {name}\n\temail = {name}@example.org\n")
    for name in ("forked", "fresh"):
        shell = Shell(repo.path, {"HOME": str(homes[name])}, fresh=name == "fresh")
        done = shell("write", name, "-", stdin="# New\n")
        (homes[name] / ".config/commonplace/config.toml").write_text('commit = "auto"\n')
        assert (done.code, f"nonsense_{name}" in done.stderr) == (2, True), done
        shell.ok("write", name, "-", stdin="# New\n")
    assert repo.git("log", "--format=%an").splitlines() == ["By fresh", "By forked"]


def told(folder: Path, mode: Mode, log: Path, *, fresh: bool) -> list[Any]:
    """Everything that a server sends to its client, without its exit code."""
    with agent("mcp", "--toolset", "kb", folder, "--tier", "write", mode=mode, log=log, fresh=fresh) as client:
        tools = {name: tool.model_dump() for name, tool in client.tools().items()}
        found_results = client.call("kb_search", query="tea")["results"]
        wrong = client.refusal("kb_get", entry_id="nowhere")
        about = client.client.server_info
    return [tools, found_results, wrong, about, log.read_text()]


@pytest.mark.soak
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_forked_server_tells_its_client_what_one_in_a_new_process_tells(
    folder: Path, tmp_path: Path, mode: Mode
) -> None:
    assert told(folder, mode, tmp_path / "log", fresh=False) == told(folder, mode, tmp_path / "log", fresh=True)


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 0), (signal.SIGKILL, -9)])
@pytest.mark.sampled(6)
def test_a_server_ends_at_a_signal_forked_or_not(folder: Path, number: signal.Signals, code: int, fresh: bool) -> None:
    with wire("mcp", "--toolset", "kb", folder, fresh=fresh) as server:
        server.initialize()
        assert server.process.poll() is None
        server.process.send_signal(number)
        assert server.process.wait(60) == code
        assert server.receive() is None


@pytest.mark.soak
@pytest.mark.parametrize("fresh", [False, True])
def test_a_server_over_http_answers_forked_or_not(folder: Path, fresh: bool) -> None:
    with served(folder, fresh=fresh) as server:
        assert "# Tea" in server.page("GET", "tea").json["content"]
        assert server.stop() == 0


def test_nothing_is_left_of_a_server_whose_stand_in_is_killed(folder: Path) -> None:
    line = preloaded().stand_in(os.environ)
    assert line is not None
    with subprocess.Popen([*line, "mcp", str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.kill()
        assert process.stdout is not None
        assert process.stdout.read() == b"", "the server held its end as long as it ran"


def test_a_stand_in_passes_signals_on_and_ends_as_the_server_does(folder: Path) -> None:
    line = preloaded().stand_in(os.environ)
    assert line is not None
    command = [*line, "serve", ".", "--port", "0", "--keys", "none.json"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "none.json has none. Run: commonplace keys create" in process.stderr.readline()
        assert process.stderr.readline() == f"Opening {folder}\n", "before what takes time is loaded"
        assert process.stderr.readline().startswith("Serving on http://")
        process.terminate()
        assert process.wait(60) == 0
