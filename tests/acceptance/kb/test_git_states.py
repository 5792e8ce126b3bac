"""Git as people have it: linked work trees, submodules, merges, converted line ends, LFS, sparse checkouts.

One server of the toolset `kb` that commits each write serves a repository in each state.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp_types import Implementation

from agent import Agent, agent
from shell import Shell
from support import GitRepo, eventually, new_repo

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + 64 * "a" + "\nsize 12345\n"
PAGE = "---\ntitle: Page\ntype: note\n---\n\nText of the page about {}.\n"


@dataclass(frozen=True, slots=True)
class Desk:
    """The server and the repositories that it serves, by name."""

    agent: Agent
    repos: dict[str, GitRepo]

    def write(self, name: str, text: str) -> Any:
        """Read a repository's page and replace its body."""
        self.agent.call("kb_get", entry_id="in/page", kb_name=name)
        return self.agent.call("kb_update", entry_id="in/page", kb_name=name, body=text)

    def refused(self, name: str, entry: str = "in/page") -> str:
        """The error of a write to a page that was read but may not be written."""
        self.agent.call("kb_get", entry_id=entry, kb_name=name)
        return self.agent.refusal("kb_update", entry_id=entry, kb_name=name, body="x")["error"]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("desk")
    files = {"in/page.md": PAGE.format("herons"), "out/other.md": PAGE.format("egrets")}
    repos = {name: new_repo(folder / name, files) for name in ("main", "outer", "crlf", "lfs", "sparse", "busy")}
    repos["main"].git("worktree", "add", "--quiet", "../linked", "-b", "side")
    repos["linked"] = GitRepo(folder / "linked")
    allowed = ("-c", "protocol.file.allow=always")
    repos["outer"].git(*allowed, "submodule", "--quiet", "add", str(repos["main"].path), "sub")
    repos["outer"].git("commit", "--quiet", "-m", "Add")
    repos["sub"] = GitRepo(repos["outer"].path / "sub")
    repos["crlf"].git("config", "core.autocrlf", "true")
    (repos["crlf"].path / "in/page.md").unlink()
    repos["crlf"].git("checkout", "--", "in/page.md")
    repos["lfs"].commit("Point", **{"in/page.md": POINTER, ".gitattributes": "in/*.md filter=lfs\n"})
    repos["lfs"].git("config", "filter.lfs.clean", "cat")
    repos["sparse"].git("sparse-checkout", "set", "in")
    with agent(
        "mcp", "--toolset", "kb", *(repo.path for repo in repos.values()), "--tier", "admin", "--commit", "auto"
    ) as client:
        yield Desk(client, repos)


def test_a_linked_work_tree_is_written_on_its_own_branch(desk: Desk) -> None:
    main, linked = desk.repos["main"], desk.repos["linked"]
    before = main.git("rev-parse", "main")
    desk.write("linked", "Written in the linked tree.\n")
    assert "Written in the linked tree." in linked.git("show", "side:in/page.md")
    assert main.git("rev-parse", "main") == before
    desk.write("main", "Written in the main tree.\n")
    assert main.git("rev-parse", "main~1") == before
    for repo in (main, linked):
        assert repo.git("status", "--porcelain") == ""
    main.git("fsck", "--strict")


def test_a_submodule_is_read_and_says_that_it_is_not_written(desk: Desk) -> None:
    found_results = desk.agent.call("kb_search", query="herons", kb_name="sub")["results"]
    assert [hit["id"] for hit in found_results] == ["in/page"]
    assert "submodule" in desk.refused("sub")
    assert desk.agent.call("kb_get", entry_id="sub/in/page", kb_name="outer")["entry"]["body"]
    assert "sub is a submodule" in desk.refused("outer", "sub/in/page")
    assert desk.repos["outer"].git("status", "--porcelain", "--ignore-submodules=untracked") == ""


def test_converted_line_ends_stay_as_the_work_tree_has_them(desk: Desk) -> None:
    repo = desk.repos["crlf"]
    assert repo.git("status", "--porcelain") == ""
    desk.agent.call("kb_update", entry_id="in/page", kb_name="crlf", importance=7)
    written = (repo.path / "in/page.md").read_bytes()
    assert b"importance: 7\r\n" in written
    assert written.count(b"\n") == written.count(b"\r\n")
    assert b"\r" not in repo.git("cat-file", "blob", "HEAD:in/page.md").encode()
    assert repo.git("status", "--porcelain") == ""
    assert repo.git("show", "--stat", "--format=", "HEAD").splitlines()[0].endswith("| 1 +")


def test_a_pointer_of_lfs_is_told_and_never_committed_over(desk: Desk) -> None:
    done = Shell(desk.repos["lfs"].path)("check", "--json")
    assert "lfs_pointer" in {finding["rule"] for finding in done.json["findings"]}
    assert "pointer of Git LFS" in desk.refused("lfs")
    assert (desk.repos["lfs"].path / "in/page.md").read_text() == POINTER
    desk.agent.call("kb_get", entry_id="out/other", kb_name="lfs")
    desk.agent.call("kb_update", entry_id="out/other", kb_name="lfs", body="Not of LFS.\n")


def test_what_a_sparse_checkout_leaves_out_stays_in_the_repository(desk: Desk) -> None:
    repo = desk.repos["sparse"]
    desk.write("sparse", "Inside.\n")
    refused = Shell(repo.path)("write", "out/other", stdin="# Not seen\n")
    assert refused.code == 6
    assert "this sparse checkout leaves it out" in refused.stderr
    assert repo.git("ls-tree", "-r", "--name-only", "HEAD").splitlines() == ["in/page.md", "out/other.md"]
    assert repo.git("status", "--porcelain") == ""


@pytest.mark.parametrize(("operation", "said"), [("merge", "a merge is in progress"), ("rebase", "git rebase --abort")])
def test_an_operation_in_progress_is_said_and_read_through(desk: Desk, operation: str, said: str) -> None:
    repo = desk.repos["busy"]
    repo.git("switch", "--quiet", "main")
    start = repo.git("rev-parse", "HEAD")
    repo.git("branch", "--force", "other")
    repo.commit("Mine", **{"in/page.md": PAGE.format(f"mine {operation}")})
    repo.git("switch", "--quiet", "other")
    repo.commit("Other", **{"in/page.md": PAGE.format(f"other {operation}")})
    with pytest.raises(AssertionError, match="ended with 1"):
        repo.git(operation, "main")
    eventually(lambda: said in desk.refused("busy"))
    eventually(lambda: "<<<<<<<" in desk.agent.call("kb_get", entry_id="in/page", kb_name="busy")["entry"]["body"])
    status = Shell(repo.path)("status")
    assert said in status.text
    repo.git(operation, "--abort")
    desk.write("busy", "After it.\n")
    assert repo.git("status", "--porcelain") == ""
    assert repo.git("rev-list", "--count", f"{start}..other") == "2"


def test_an_answer_names_the_commit_and_the_index_that_it_came_from(desk: Desk) -> None:
    repo = desk.repos["main"]

    def sources(result: Any) -> dict[str, Any]:
        return {element["collection"]: element for element in result.meta["commonplace/sources"]}

    desk.agent.call("kb_get", entry_id="in/page", kb_name="main")
    before = sources(desk.agent.raw("kb_search", query="tree", kb_name="main"))
    assert set(before) == set(desk.repos)
    assert before["main"]["commit"] == repo.git("rev-parse", "HEAD")
    written = desk.agent.raw("kb_update", entry_id="in/page", kb_name="main", body="Once more.\n")
    after = sources(written)
    assert after["main"]["commit"] == repo.git("rev-parse", "HEAD") != before["main"]["commit"]
    assert after["main"]["generation"] > before["main"]["generation"]
    assert after["outer"] == before["outer"]


def test_status_tells_where_a_folder_and_its_index_stand(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "notes", {"a.md": "# A\n", "b.md": "# B\n"})
    shell = Shell(repo.path)
    repo.write("b.md", "# B\n\nchanged\n")
    eventually(lambda: generation_of(shell) == generation_of(shell))  # dates are read from the history beside it
    [row] = shell("status", "--json").json["collections"]
    generation = row.pop("generation")
    assert row == {
        "collection": "notes",
        "commit": repo.git("rev-parse", "HEAD"),
        "message": "Begin",
        "uncommitted": ["b.md"],
        "documents": 2,
        "read_only": "",
        "docs_trees": [],
        "left_out": {},
        "canvases": 0,
    }
    assert generation_of(shell) == generation
    repo.write("c.md", "# C\n")
    shown = shell("status").text
    assert "notes: commit " in shown
    assert "Begin" in shown
    assert "    not committed: c.md" in shown
    assert generation_of(shell) > generation


def generation_of(shell: Shell) -> int:
    """The generation of the only collection's index."""
    return shell("status", "--json").json["collections"][0]["generation"]


def rewritten(file: Path, content: bytes) -> None:
    """Change a file in a way that no watcher is told of: through memory, as other machines' writes come."""
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as mapped:
        mapped[: len(content)] = content
        mapped.flush()


def test_a_sweep_finds_what_no_watcher_tells(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nthe heron\n")
    with agent("mcp", "--toolset", "kb", folder, env={"COMMONPLACE_SWEEP": "1"}) as client:
        assert client.call("kb_search", query="heron")["count"] == 1
        rewritten(folder / "a.md", b"# A\n\nthe egret\n")
        eventually(lambda: client.call("kb_search", query="egret")["count"] == 1)


PROVENANCE = ("Commonplace-Client: Some Agent 2", "Commonplace-Session: [0-9a-f]{16}")


@pytest.mark.parametrize("credit", ["", "none", "co-author", "author"])
def test_commits_name_the_program_that_asked_as_it_is_set(tmp_path: Path, credit: str) -> None:
    repo = new_repo(tmp_path / "notes", {"a.md": PAGE.format("herons")})
    program = Implementation(name="some-agent", title="Some <Agent>", version="2")
    served = ("mcp", repo.path, "--toolset", "kb", "--tier", "write", "--commit", "auto")
    setting = {"COMMONPLACE_COMMIT_CLIENT": credit} if credit else {}
    with agent(*served, env=setting, client_info=program) as client:
        client.call("kb_get", entry_id="a", kb_name="notes")
        client.call("kb_update", entry_id="a", kb_name="notes", body="New.\n")
    named = "Some Agent <some-agent@localhost>"
    author, committer, *trailers = repo.git(
        "log", "-1", "--format=%an <%ae>%n%cn <%ce>%n%(trailers:key=Co-authored-by,valueonly)"
    ).splitlines()
    person = "Test Writer <writer@example.org>"
    assert committer == person
    assert author == (named if credit == "author" else person)
    assert [line for line in trailers if line] == ([named] if credit in {"", "co-author"} else [])
    stated = repo.git("log", "-1", "--format=%(trailers:key=Commonplace-Client)%(trailers:key=Commonplace-Session)")
    assert re.fullmatch("" if credit == "none" else r"\s*".join(PROVENANCE), stated.strip()), stated
