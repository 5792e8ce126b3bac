"""Recognition of project stores. Nothing but a store's own files is ever committed or pushed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from agent import Agent, agent
from knowledge import create, projects, repository, subjects
from remotes import canary
from shell import Shell
from support import GitRepo, eventually, new_repo

CANARY = "TOKEN=canary-of-this-test\n"


@pytest.fixture
def origin(tmp_path: Path, cache_dir: Path) -> GitRepo:
    assert cache_dir.is_dir()
    bare = GitRepo(tmp_path / "origin.git")
    bare.path.mkdir()
    bare.git("init", "--quiet", "--bare", "--initial-branch=main")
    return bare


@pytest.fixture
def code(tmp_path: Path, origin: GitRepo) -> GitRepo:
    """Somebody's program on the branch `feature`, with a secret that is not committed."""
    repo = new_repo(tmp_path / "code", {"src/app.py": "print()\n", "README.md": "# App\n"})
    repo.git("checkout", "--quiet", "-b", "feature")
    repo.git("remote", "add", "origin", str(origin.path))
    repo.git("push", "--quiet", "origin", "main")
    repo.write("secret.env", CANARY)
    repo.write("README.md", "# App, edited\n")
    return repo


def refused(client: Agent) -> dict[str, str]:
    """The error of a tool that would write."""
    shown = client.refusal("update_project_main", project_id="app", content="x")
    return {"code": shown["code"], "error": shown["error"], "hint": shown["context"]["hint"]}


def everything(repo: GitRepo) -> list[str]:
    """All objects, references and files of a repository, as text."""
    state = [repo.git("for-each-ref"), repo.git("count-objects", "-v")]
    if (repo.path / ".git").exists():
        state.append(repo.git("status", "--porcelain", "--ignored"))
    return [*state, *sorted(path.name for path in repo.path.iterdir() if path.name != canary.NAME)]


def test_a_code_repository_is_refused_and_nothing_in_it_is_written_committed_or_pushed(
    code: GitRepo, origin: GitRepo, tmp_path: Path
) -> None:
    before, published = everything(code), everything(origin)
    log = tmp_path / "stderr"
    with projects(code.path, log=log) as client:
        client.refusal("list_projects")
        reported_values = refused(client)
        client.refusal("sync_storage")
    assert "is not a project store" in reported_values["error"]
    assert "--adopt" in reported_values["hint"]
    assert log.read_text().startswith("'code' is not a project store"), "at once"
    assert everything(code) == before
    assert everything(origin) == published
    done = Shell(tmp_path)("projects", "sync", "-C", code.path, "--json")
    assert (done.code, done.error["code"], "--adopt" in done.error["hint"]) == (2, "config", True)
    assert everything(code) == before


@pytest.mark.parametrize("environment", [True, False])
def test_a_code_repository_named_by_the_environment_is_refused(code: GitRepo, *, environment: bool) -> None:
    before = everything(code)
    env = {"KNOWLEDGE_MCP_HOME" if environment else "COMMONPLACE_KB": str(code.path)}
    with agent("mcp", "--toolset", "projects", env=env) as client:
        refused(client)
    assert everything(code) == before


@pytest.mark.parametrize("client", ["claude-code", "vscode"])
def test_the_entry_of_a_client_names_the_store_and_never_the_current_folder(
    code: GitRepo, tmp_path: Path, client: str
) -> None:
    row = ("connect", client, "--toolset", "projects", "--yes", "--json")
    usual = Shell(code.path, {"HOME": str(tmp_path)}).ok(*row).json
    named = Shell(code.path, {"KNOWLEDGE_MCP_HOME": str(tmp_path / "known")}).ok(*row).json
    chosen = Shell(code.path).ok(*row, "-C", tmp_path / "chosen").json
    for done, store in (
        (usual, tmp_path / ".knowledge-mcp"),
        (named, tmp_path / "known"),
        (chosen, tmp_path / "chosen"),
    ):
        ((server, entry),) = next(iter(done["entry"].values())).items()
        assert entry["args"] == ["mcp", str(store), "--toolset", "projects"]
        assert server == store.name.strip(".")
    assert Shell(code.path)(*row, "-C", tmp_path, "-C", code.path).code == 2


def _reference(home: Path) -> None:
    """A store as the older server leaves it after its first start."""
    repo = GitRepo(home)
    home.mkdir()
    repo.git("init", "--quiet", "--initial-branch=main")
    repo.write("README.md", "# Knowledge MCP Storage\n\nThis directory contains project knowledge.\n")
    repo.write(".gitignore", "# Activity logs\nactivity.log\n\n*.tmp\n")
    repo.git("add", "README.md")
    who = ["-c", "user.name=Knowledge MCP Server", "-c", "user.email=knowledge-mcp@localhost"]
    repo.git(*who, "commit", "--quiet", "--message", "Initial commit")


def _by_hand(home: Path) -> None:
    repo = new_repo(home, {"index.json": '{"projects": {"My App": "my-app"}}', "notes.txt": "beside"})
    repo.commit("More", **{"projects/my-app/main.md": "# Main\n"})


def _by_hand_without_git(home: Path) -> None:
    _by_hand(home)
    shutil.rmtree(home / ".git")


def _without_index(home: Path) -> None:
    (home / "projects/my-app/knowledge").mkdir(parents=True)


def _begun_here(home: Path) -> None:
    """Begun by an earlier version, which committed what lay beside the store, too; its index.json is lost."""
    repo = GitRepo(home)
    home.mkdir()
    repo.git("init", "--quiet", "--initial-branch=main")
    repo.write("beside.txt", "beside\n")
    repo.git("add", "--all")
    who = ["-c", "user.name=Knowledge MCP Server", "-c", "user.email=knowledge-mcp@localhost"]
    repo.git(*who, "commit", "--quiet", "--message", "Initialize knowledge storage")


def _damaged_index(home: Path) -> None:
    _begun_here(home)
    GitRepo(home).write("index.json", '{"projects": {"a": ')


def _empty_repository(home: Path) -> None:
    home.mkdir()
    GitRepo(home).git("init", "--quiet", "--initial-branch=trunk")


def _nothing(home: Path) -> None:
    assert not home.exists()


def _empty(home: Path) -> None:
    home.mkdir()


def _litter(home: Path) -> None:
    home.mkdir()
    (home / ".DS_Store").write_bytes(b"x")


@pytest.mark.parametrize(
    "make",
    [
        _reference,
        _by_hand,
        _by_hand_without_git,
        _without_index,
        _begun_here,
        _damaged_index,
        _empty_repository,
        _litter,
        _empty,
        _nothing,
    ],
)
@pytest.mark.sampled(6)
def test_a_store_opens_whoever_made_it_and_however_few_marks_it_bears(
    tmp_path: Path, make: Callable[[Path], object]
) -> None:
    home = tmp_path / "home"
    make(home)
    for content in ("first", "second"):
        with projects(home) as client:
            client.call("update_project_main", project_id="My App", content=content)
            assert client.call("get_project_main", project_id="My App")["content"] == content
    assert subjects(home)[0] == "Update knowledge for My App: Updated main.md"


def _only_projects_of_code(home: Path) -> None:
    (home / "projects/web/src").mkdir(parents=True)
    (home / "projects/web/src/app.js").write_text("1")


def _only_another_index(home: Path) -> None:
    new_repo(home, {"index.json": '{"pages": []}', "page.html": "<p>"})


def _index_without_its_projects(home: Path) -> None:
    new_repo(home, {"index.json": '{"projects": {"web": "web"}}', "projects/web/package.json": "{}", "a.js": "1"})


def _polluted(home: Path) -> None:
    """A program into which an earlier version committed a file; that makes no store of it."""
    repo = new_repo(home, {"app.py": "print()\n"})
    repo.write("notes.txt", "x")
    repo.git("add", "--all")
    who = ["-c", "user.name=Knowledge MCP Server", "-c", "user.email=knowledge-mcp@localhost"]
    repo.git(*who, "commit", "--quiet", "--message", "Sync storage: 1 files updated")


def _emptied(home: Path) -> None:
    """A work tree from which everything is deleted, and its commits are not."""
    repo = new_repo(home, {"app.py": "print()\n"})
    (repo.path / "app.py").unlink()


def _notes(home: Path) -> None:
    home.mkdir()
    (home / "notes.md").write_text("# Notes\n")


@pytest.mark.parametrize(
    "make",
    [_only_projects_of_code, _only_another_index, _index_without_its_projects, _polluted, _emptied, _notes],
)
def test_a_folder_that_looks_like_half_a_store_is_refused_and_left_as_it_is(
    tmp_path: Path, make: Callable[[Path], object]
) -> None:
    home = tmp_path / "home"
    make(home)
    canary.plant([home])
    before = sorted((str(path), path.lstat().st_mtime_ns) for path in home.rglob("*"))
    with projects(home) as client:
        refused(client)
    assert sorted((str(path), path.lstat().st_mtime_ns) for path in home.rglob("*")) == before


def test_an_adopted_repository_stays_a_store_and_gets_nothing_but_the_stores_own_files(
    code: GitRepo, origin: GitRepo
) -> None:
    with agent("mcp", code.path, "--toolset", "projects", "--adopt") as client:
        client.call("update_project_main", project_id="app", content="# Main\n")
    with projects(code.path) as client:
        create(client)
        (code.path / "projects/app/knowledge/hand.md").write_text("# By hand\n")
        (code.path / "src/other.py").write_text(CANARY)
        assert client.call("get_storage_status")["status_details"] == "?? projects/app/knowledge/hand.md"
        assert client.call("sync_storage")["files_committed"] == 1
        eventually(lambda: client.call("get_storage_status")["remote_status"] == "origin/main (up to date)")
    changed = set(code.git("diff", "--name-only", "main", "HEAD").splitlines())
    assert changed == {
        "index.json",
        "projects/app/main.md",
        "projects/app/knowledge/auth.md",
        "projects/app/knowledge/hand.md",
    }
    assert origin.git("rev-parse", "main") == code.git("rev-parse", "feature")
    status = set(code.git("status", "--porcelain").splitlines())
    assert status == {" M README.md", "?? secret.env", "?? src/other.py"}


def test_an_adopted_store_without_projects_opens_again(tmp_path: Path) -> None:
    code = new_repo(tmp_path / "code", {"app.py": "print()\n"})
    shell = Shell(tmp_path)
    assert shell("projects", "list", "-C", code.path).code == 2
    shell.ok("projects", "list", "-C", code.path, "--adopt")
    shell.ok("projects", "list", "-C", code.path)
    assert subjects(code.path) == ["Adopt as knowledge storage", "Begin"]
    assert json.loads((code.path / "index.json").read_text()) == {"projects": {}}


def test_a_folder_of_notes_can_be_adopted_and_its_notes_are_not_committed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    _notes(home)
    with agent("mcp", home, "--toolset", "projects", "--adopt") as client:
        client.call("update_project_main", project_id="app", content="x")
    names = repository(home).git("log", "--all", "--name-only", "--format=").split()
    assert sorted(set(names)) == [".gitignore", "index.json", "projects/app/main.md"]
    assert (home / "notes.md").read_text() == "# Notes\n"


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (_only_another_index, "its index.json is not a list of projects"),
        (_only_projects_of_code, "which is not a project"),
    ],
)
def test_what_would_be_taken_for_projects_is_not_adopted(
    tmp_path: Path, make: Callable[[Path], object], reason: str
) -> None:
    home = tmp_path / "home"
    make(home)
    done = Shell(tmp_path)("projects", "list", "--adopt", "-C", home, "--json")
    assert (done.code, reason in done.error["message"]) == (2, True)
    assert not (home / "projects/app").exists()


def test_commits_that_nobody_pushed_are_not_published_by_adopting(code: GitRepo, origin: GitRepo) -> None:
    code.git("commit", "--quiet", "--all", "--message", "Not to be published yet")
    before = everything(origin)
    with agent("mcp", code.path, "--toolset", "projects", "--adopt") as client:
        assert "1 commits of its current branch" in refused(client)["error"]
    assert everything(origin) == before
    assert subjects(code.path)[0] == "Not to be published yet"


def test_changes_beside_the_store_are_never_replaced_by_what_the_remote_has(
    code: GitRepo, origin: GitRepo, tmp_path: Path
) -> None:
    with agent("mcp", code.path, "--toolset", "projects", "--adopt") as client:
        client.call("update_project_main", project_id="app", content="x")
    other = GitRepo(tmp_path / "other")
    other.path.mkdir()
    other.git("clone", "--quiet", "--branch", "main", str(origin.path), ".")
    other.git("config", "user.name", "Other")
    other.git("config", "user.email", "other@example.org")
    other.commit("Theirs", **{"README.md": "# Theirs\n"})
    other.git("push", "--quiet", "origin", "main")
    with projects(code.path) as client:
        reported_value = client.call("sync_storage")
        assert reported_value["pushed"] is False
        assert "README.md" in reported_value["push_error"]
        assert (code.path / "README.md").read_text() == "# App, edited\n"
        code.git("checkout", "--", "README.md")
        assert client.call("sync_storage")["pushed"] is True
    assert (code.path / "README.md").read_text() == "# Theirs\n"
