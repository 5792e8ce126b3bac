"""A folder of a thousand real files, written by nobody who knew of this product, served to an agent."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from subprocess import DEVNULL

import pytest

from agent import Agent, agent
from forks.preloaded import started
from support import Corpora, GitRepo, eventually

pytestmark = pytest.mark.timeout(300)

PARTS = ("docs/standard-library", "docs/cpp")


@pytest.fixture(scope="module")
def folder(corpora: Corpora, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A part of the corpus as somebody's repository; `make bench` serves all of it."""
    copy = tmp_path_factory.mktemp("foreign") / "cpp-docs"
    for part in PARTS:
        shutil.copytree(corpora("cpp-docs") / part, copy / part)
    repo = GitRepo(copy)
    repo.git("init", "--quiet", "--initial-branch=main")
    repo.git("config", "user.name", "Test Writer")
    repo.git("config", "user.email", "writer@example.org")
    repo.commit("As found")
    return copy


@pytest.fixture(scope="module")
def reader(folder: Path) -> Iterator[Agent]:
    """A client on a folder that is already indexed: the time of indexing on a busy machine is not tested here."""
    assert started(["index", "--kb", str(folder)], os.environ, streams=(DEVNULL, DEVNULL, DEVNULL)).wait() == 0
    with agent("mcp", "--toolset", "kb", folder, "--tier", "write", "--commit", "auto") as connected:
        yield connected


def test_every_file_is_indexed(reader: Agent, folder: Path) -> None:
    visible = [path.relative_to(folder) for path in folder.rglob("*.md")]
    files = sum(not any(part.startswith(".") for part in path.parts) for path in visible)
    assert reader.call("kb_stats")["total_entries"] == files > 1_000


def test_a_question_finds_its_page_and_section(reader: Agent) -> None:
    found_value = reader.call("kb_search", query="how do I create a vector of a given size", limit=10)
    assert found_value["total"] > 10
    assert len(found_value["results"]) == 10
    assert any("vector" in row["file_path"] for row in found_value["results"])
    assert all(row["snippet"] for row in found_value["results"])


def test_a_page_is_read_and_its_links_lead_on(reader: Agent) -> None:
    row = reader.call("kb_search", query="vector class", limit=1)["results"][0]
    entry = reader.call("kb_get", entry_id=row["id"])["entry"]
    assert entry["title"] == row["title"]
    onward = entry["outlinks"][0]
    target = reader.call("kb_get", entry_id=onward["id"])["entry"]
    assert any(back["id"] == entry["id"] for back in target["backlinks"])


def test_a_folder_that_is_only_read_stays_as_it_was(reader: Agent, folder: Path) -> None:
    reader.call("kb_search", query="allocator")
    assert GitRepo(folder).git("status", "--porcelain", "--ignored") == ""


def test_a_write_is_one_commit_of_one_line(reader: Agent, folder: Path) -> None:
    repo = GitRepo(folder)
    row = reader.call("kb_search", query="allocator class", limit=1)["results"][0]
    before = repo.git("rev-parse", "HEAD")
    name = reader.call("kb_list")["knowledge_bases"][0]["name"]
    entry = reader.call("kb_get", entry_id=row["id"], kb_name=name)["entry"]
    reader.call("kb_update", entry_id=row["id"], kb_name=name, revision=entry["revision"], status="reviewed")
    assert repo.git("rev-list", "--count", f"{before}..HEAD") == "1"
    assert repo.git("diff", "--numstat", before, "HEAD").split("\t")[:2] == ["1", "0"]
    assert repo.git("status", "--porcelain") == ""


def test_a_change_made_elsewhere_is_found_without_a_restart(reader: Agent, folder: Path) -> None:
    (folder / "made-elsewhere.md").write_text("# Made elsewhere\n\nThe word quixotically stands here.\n")
    eventually(lambda: reader.call("kb_search", query="quixotically")["total"] == 1)
    (folder / "made-elsewhere.md").unlink()
    eventually(lambda: reader.call("kb_search", query="quixotically")["total"] == 0)


def test_a_second_start_finds_everything_as_it_was(folder: Path, reader: Agent) -> None:
    total = reader.call("kb_stats")["total_entries"]
    with agent("mcp", "--toolset", "kb", folder) as second:
        assert second.call("kb_stats")["total_entries"] == total
    assert subprocess.run(["git", "-C", folder, "fsck"], check=True, capture_output=True).returncode == 0
