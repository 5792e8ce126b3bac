"""A store of projects under stress: parallel writers, kills, damage, missing rights, a full disk."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from knowledge import clean, create, failure, index, projects, repository, subjects
from support import Amount, trust
from wire import wire

AS_NOBODY = (
    "import os, sys, pkgutil, importlib; os.environ['HOME'] = '/nonexistent'\n"
    "import commonplace, anyio._backends._asyncio, encodings.idna, encodings.utf_8_sig\n"
    "names = [m.name for m in pkgutil.walk_packages(commonplace.__path__, 'commonplace.')]\n"
    "[importlib.import_module(name) for name in names if not name.endswith('__main__')]\n"
    "os.setgid(65534); os.setuid(65534)\n"
    "sys.exit(commonplace.main.main(sys.argv[1:]))"
)
"""The program as another user. Everything is loaded before: that user may not be able to read the installation."""


@pytest.fixture
def home(tmp_path: Path, cache_dir: Path) -> Path:
    assert cache_dir.is_dir()
    return tmp_path / "home"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MB; skips where none may be mounted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("may not mount a file system here")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.fixture
def shown_to_all() -> Iterator[Path]:
    """A folder that every user may search; pytest's own may be its user's alone."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_twenty_parallel_additions_are_twenty_chapters(home: Path) -> None:
    with projects(home) as client:
        create(client, chapters=[])
        where = {"project_id": "app", "filename": "auth"}
        with ThreadPoolExecutor(20) as pool:
            done = list(
                pool.map(
                    lambda n: client.call("add_chapter", **where, chapter_title=f"Chapter {n}", content="text"),
                    range(20),
                )
            )
        assert len(done) == 20
        titles = {chapter["title"] for chapter in client.call("list_chapters", **where)["chapters"]}
    assert titles == {f"Chapter {n}" for n in range(20)}
    assert sum("Added chapter" in subject for subject in subjects(home)) == 20
    clean(home)


def test_two_servers_make_thirty_projects_each(home: Path) -> None:
    def work(name: str) -> None:
        with wire("mcp", home, "--toolset", "projects") as server:
            server.initialize()
            for number in range(30):
                answer = server.call("update_project_main", project_id=f"{name} {number}", content="x")
                assert answer is not None
                assert not answer.get("isError"), answer

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, ["one", "two"]))
    assert set(index(home)) == {f"{name} {number}" for name in ("one", "two") for number in range(30)}
    assert sum("Updated main.md" in subject for subject in subjects(home)) == 60
    clean(home)


def test_no_acknowledged_write_is_lost_by_a_kill(home: Path, amount: Amount) -> None:
    chance = random.Random(7)
    acknowledged: list[str] = []
    for turn in range(amount(4, 100)):
        with wire("mcp", home, "--toolset", "projects") as server:
            server.initialize()
            assert server.call("list_projects") is not None
            killer = threading.Timer(chance.uniform(0.05, 0.5), server.process.kill)
            killer.start()
            for step in range(1000):
                project_id = f"p {turn} {step}"
                try:
                    answer = server.call("update_project_main", project_id=project_id, content="x")
                except BrokenPipeError:
                    break
                if answer is None:
                    break
                acknowledged.append(project_id)
            killer.join()
    with projects(home) as client:
        project_ids = {row["project_id"] for row in client.call("list_projects")["projects"]}
        client.call("update_project_main", project_id="after", content="no lock is left")
    assert acknowledged
    assert set(acknowledged) <= project_ids
    clean(home)


def test_a_damaged_index_is_rebuilt_with_the_ids_that_it_had(home: Path) -> None:
    with projects(home) as client:
        for project_id in ("My App", "日本語"):
            client.call("update_project_main", project_id=project_id, content=project_id)
        (home / "index.json").write_text('{"projects": {"My')
        shutil.copytree(home / "projects/my-app", home / "projects/by-hand")
        rows = client.call("list_projects")["projects"]
        assert [row["project_id"] for row in rows] == ["My App", "by-hand", "日本語"]
        assert client.call("get_project_main", project_id="My App")["content"] == "My App"
        assert "Rebuilt index.json" in subjects(home)[0]
        (home / "index.json").write_text("[]")
        client.call("update_project_main", project_id="new", content="x")
        (home / "index.json").unlink()
        client.call("update_project_main", project_id="newer", content="x")
    assert set(index(home)) == {"My App", "by-hand", "日本語", "new", "newer"}


def test_a_damaged_repository_refuses_writes_with_a_code_and_reads_go_on(home: Path) -> None:
    with projects(home) as client:
        create(client)
        branch = home / ".git/refs/heads/main"
        tip = branch.read_text()
        branch.write_text("no commit\n")
        assert failure(client, "update_project_main", project_id="app", content="x") == "GIT_ERROR"
        assert failure(client, "delete_project", project_id="app") == "PROJECT_DELETE_FAILED"
        assert client.call("get_knowledge_file", project_id="app", filename="auth")["success"]
        branch.write_text(tip)
        client.call("update_project_main", project_id="app", content="again")
    clean(home)


def test_a_project_folder_deleted_by_hand(home: Path) -> None:
    with projects(home) as client:
        create(client)
        shutil.rmtree(home / "projects/app")
        assert client.call("get_project_main", project_id="app")["exists"] is False
        assert failure(client, "get_knowledge_file", project_id="app", filename="auth") == "DOCUMENT_NOT_FOUND"
        assert client.call("list_projects")["projects"][0]["file_count"] == 0
        create(client)
        shutil.rmtree(home / "projects/app")
        client.call("delete_project", project_id="app")
        assert index(home) == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to be root to become somebody else")
@pytest.mark.usefixtures("cache_dir")
def test_a_store_that_may_not_be_written(shown_to_all: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = shown_to_all / "home"
    trust(home, monkeypatch)
    with projects(home) as client:
        create(client)
        create(client, "closed")
    (home / "projects/closed/knowledge").chmod(0o700)
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ]  # fmt: skip
    calls = [
        ("get_project_main", {"project_id": "app"}),
        ("search_knowledge", {"project_id": "app", "query": "tokens"}),
        ("update_project_main", {"project_id": "app", "content": "x"}),
        ("search_knowledge", {"project_id": "closed", "query": "tokens"}),
        ("list_knowledge_files", {"project_id": "closed"}),
    ]
    for number, (name, arguments) in enumerate(calls, 2):
        lines.append(
            {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        )
    with subprocess.Popen(
        [sys.executable, "-c", AS_NOBODY, "mcp", str(home), "--toolset", "projects"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.writelines(json.dumps(line) + "\n" for line in lines)
        process.stdin.flush()
        answers = {}
        while len(answers) < 6:
            answer = json.loads(process.stdout.readline())
            answers[answer.get("id")] = answer
        process.stdin.close()
    assert "isError" not in answers[2]["result"] or not answers[2]["result"]["isError"]
    assert answers[3]["result"]["structuredContent"]["total_documents"] == 1
    refused = json.loads(answers[4]["result"]["content"][0]["text"])
    assert refused["code"] == "ACCESS_DENIED"
    assert str(home) not in refused["error"]
    codes = [json.loads(answers[number]["result"]["content"][0]["text"])["code"] for number in (5, 6)]
    assert codes == ["SEARCH_ERROR", "FILE_SYSTEM_ERROR"]
    clean(home)


def test_a_full_disk_leaves_everything_as_it_was(small_disk: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    home = small_disk / "home"
    with projects(home) as client:
        create(client)
        before = {path: path.read_bytes() for path in (home / "projects").rglob("*") if path.is_file()}
        head = repository(home).git("rev-parse", "HEAD")
        noise = random.Random(1).randbytes(1_500_000).hex()
        codes = {failure(client, "update_project_main", project_id="big", content=noise) for _ in range(3)}
        assert codes == {"FILE_SYSTEM_ERROR"}
        assert {path: path.read_bytes() for path in (home / "projects").rglob("*") if path.is_file()} == before
        assert repository(home).git("rev-parse", "HEAD") == head
        assert list(index(home)) == ["app"]
        client.call("update_project_main", project_id="small", content="fits")
    clean(home)


def test_a_lock_held_by_a_dead_process_is_free(home: Path) -> None:
    with projects(home) as client:
        create(client)
    script = (
        "import fcntl, os, sys; d = os.open(sys.argv[1], os.O_RDWR); fcntl.flock(d, fcntl.LOCK_EX); "
        "print('held', flush=True); os.kill(os.getpid(), 9)"
    )
    lock = home / ".git/commonplace.lock"
    subprocess.run([sys.executable, "-c", script, str(lock)], check=False, capture_output=True)
    (home / ".git/index.lock").touch()
    with projects(home) as client:
        create(client, filename="second")
    (home / ".git/index.lock").unlink()
    assert subjects(home)[0].endswith("Created second.md")
