"""Folders that an unprivileged user may not read or write: a clear line, nothing changed, the rest served.

The tests' own user is often root, for whom permissions mean nothing, so each script runs as nobody.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.store.disk.journal import Journal, JournalIntent, JournalRecord, JournalStep
from support import GitRepo

NOBODY = 65534
PRELUDE = """\
import os, sys, encodings.idna, logging
from pathlib import Path
from commonplace.domain.addresses import Address
from commonplace.domain.errors import KnowledgeError
from commonplace.store import open_store
from commonplace.store.folder import publisher
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
base = Path(sys.argv[1])

def attempt(store, path):
    try:
        with store.transaction("Try") as transaction:
            transaction.put(Address(path), b"new")
    except KnowledgeError as error:
        return f"{type(error).__name__}: {error}"
    return "written"
"""


def as_nobody(base: Path, script: str, imports: str = "") -> str:
    """The output of a script that runs as an unprivileged user (or as the present one, if that is not root).

    The script's modules are imported before, because that user may not be able to read Python's own modules.
    """
    code = imports + PRELUDE + textwrap.dedent(script)
    done = subprocess.run(
        [sys.executable, "-c", code, base],
        env={**os.environ, "HOME": str(base)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.fixture
def base() -> Iterator[Path]:
    """A folder of nobody's, in which nobody can reach everything by default."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        folder.chmod(0o755)
        yield folder
        for path in [folder, *folder.rglob("*")]:
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)


def give(path: Path) -> None:
    """Make nobody the owner of a tree."""
    if os.geteuid() == 0:
        for each in [path, *path.rglob("*")]:
            os.chown(each, NOBODY, NOBODY, follow_symlinks=False)


def make(base: Path, *, git: bool = False) -> GitRepo:
    """A folder with documents, nobody's own."""
    repo = GitRepo(base / "kb")
    for path in ("open/a.md", "closed/b.md", "unreadable.md"):
        repo.write(path, "# Text\n")
    if git:
        repo.git("init", "--quiet", "--initial-branch=main")
        repo.git("-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "--quiet", "--allow-empty", "-mBegin")
        repo.git("add", "--all")
        repo.git("-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "--quiet", "-mFiles")
    give(base)
    return repo


def test_what_may_not_be_read_is_told_and_the_rest_is_served(base: Path) -> None:
    repo = make(base)
    (repo.path / "closed").chmod(0o000)
    (repo.path / "unreadable.md").chmod(0o000)
    nobody = as_nobody(
        base,
        """
        store = open_store(base / "kb", commit="manual", state_dir=base / "state")
        print(sorted(str(address) for address, _ in store.scan()), store.skipped())
        print(store.stat(Address("unreadable.md")).size)
        for act, path in (store.read, "unreadable.md"), (store.read, "closed/b.md"), (store.stat, "closed/b.md"):
            try:
                act(Address(path))
            except KnowledgeError as error:
                print(type(error).__name__, error)
        """,
    )
    assert nobody.splitlines() == [
        "['open/a.md', 'unreadable.md'] [('closed', 'cannot be listed: Permission denied')]",
        "7",
        "StorageError unreadable.md cannot be read: Permission denied.",
        "StorageError closed/b.md cannot be read: Permission denied.",
        "StorageError closed/b.md cannot be read: Permission denied.",
    ]


def test_a_commit_takes_no_file_for_deleted_that_may_not_be_looked_at(base: Path) -> None:
    repo = make(base, git=True)
    before = repo.git("-c", f"safe.directory={repo.path}", "rev-parse", "HEAD")
    (repo.path / "closed").chmod(0o000)
    nobody = as_nobody(
        base,
        """
        store = open_store(base / "kb", commit="manual", state_dir=base / "state")
        try:
            store.repository.commit([Address("closed/b.md")], "By hand")
        except KnowledgeError as error:
            print(type(error).__name__, error)
        """,
    )
    assert nobody == "StorageError closed/b.md cannot be read: Permission denied.\n"
    assert repo.git("-c", f"safe.directory={repo.path}", "rev-parse", "HEAD") == before


@pytest.mark.parametrize("git", [False, True])
def test_a_folder_without_write_permission_is_read_only_and_says_so(base: Path, git: bool) -> None:
    repo = make(base, git=git)
    (repo.path).chmod(0o555)
    nobody = as_nobody(
        base,
        f"""
        store = open_store(base / "kb", commit={"auto" if git else "manual"!r}, state_dir=base / "state")
        print(store.read_only_reason)
        print(attempt(store, "new.md"))
        print(store.read(Address("open/a.md")), store.recover())
        """,
    )
    assert nobody.splitlines() == [
        "its folder may not be written by this user",
        "ReadOnlyError: kb cannot be written: its folder may not be written by this user.",
        "b'# Text\\n' []",
    ]
    assert not (base / "state").exists()


def test_a_repository_whose_git_folder_may_not_be_written_is_read_only(base: Path) -> None:
    repo = make(base, git=True)
    (repo.path / ".git").chmod(0o555)
    nobody = as_nobody(
        base,
        """
        store = open_store(base / "kb", commit="auto", state_dir=base / "state")
        print(attempt(store, "new.md"))
        """,
    )
    assert nobody == "ReadOnlyError: kb cannot be written: its .git folder may not be written by this user.\n"


@pytest.mark.parametrize("git", [False, True])
def test_a_write_into_a_closed_folder_fails_whole(base: Path, git: bool) -> None:
    repo = make(base, git=git)
    (repo.path / "closed").chmod(0o555)
    nobody = as_nobody(
        base,
        f"""
        store = open_store(base / "kb", commit={"auto" if git else "manual"!r}, state_dir=base / "state")
        try:
            with store.transaction("Try") as transaction:
                transaction.put(Address("open/a.md"), b"changed")
                transaction.put(Address("made/new.md"), b"new")
                transaction.put(Address("closed/b.md"), b"changed")
        except KnowledgeError as error:
            print(type(error).__name__, error)
        print(store.read(Address("open/a.md")), sorted(os.listdir(base / "kb/open")), (base / "kb/made").exists())
        print(attempt(store, "open/a.md"), store.recover())
        """,
    )
    assert nobody.splitlines() == [
        "StorageError The system refused the write: Permission denied. Nothing was changed.",
        "b'# Text\\n' ['a.md'] False",
        "written []",
    ]
    if git:
        safe = ["-c", f"safe.directory={repo.path}"]
        assert repo.git(*safe, "log", "--format=%s").splitlines() == ["Try", "Files", "Begin"]
        assert repo.git(*safe, "status", "--porcelain") == ""
        assert repo.git(*safe, "fsck", "--strict", "--no-dangling") == ""


def test_what_a_kill_left_in_a_folder_that_is_read_only_now_is_told_and_the_rest_served(base: Path) -> None:
    repo = make(base, git=True)
    repo.write(".git/commonplace.lock", "")
    journal = Journal(repo.path / ".git/commonplace.journal")
    journal.write(JournalRecord(JournalIntent("token", (JournalStep("open/a.md", "1" * 40, "2" * 40),)), {}))
    repo.write("open/.commonplace-token-0.new", "half")
    give(base)
    (repo.path / "open").chmod(0o555)
    nobody = as_nobody(
        base,
        """
        store = open_store(base / "kb", commit="auto", state_dir=base / "state")
        print(store.recover())
        print(store.read(Address("open/a.md")))
        """,
    )
    refusal = "The system refused the repair of an interrupted write: Permission denied. Nothing was changed."
    expected = [f"an interrupted write could not be repaired: {refusal}"]
    assert nobody.splitlines() == [str(expected), "b'# Text\\n'"]


def test_a_state_folder_that_may_not_be_written_is_told(base: Path) -> None:
    make(base)
    (base / "state").mkdir()
    nobody = as_nobody(
        base,
        """
        print(attempt(open_store(base / "kb", commit="manual", state_dir=base / "state"), "new.md"))
        """,
    )
    expected = "StorageError: The writer lock cannot be created: Permission denied. Nothing was changed.\n"
    assert nobody == (expected if os.geteuid() == 0 else "written\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a folder of another user's")
def test_a_repository_of_another_user_is_read_once_the_user_has_named_it(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = make(base, git=True)
    for each in [repo.path, *repo.path.rglob("*")]:
        os.chown(each, 12345, 12345)
    script = """
        try:
            store = open_store(base / "kb", commit="manual", state_dir=base / "state")
        except KnowledgeError as error:
            print(error.code, error, error.hint)
        else:
            print(len(list(store.scan())), [c.message for c in store.history.log(None, limit=5)])
            print(attempt(store, "open/a.md"))
        """
    refused = as_nobody(base, script)
    assert refused.startswith("git The repository of kb belongs to another user.")
    assert "safe.directory" in refused
    own = base / "own"
    for value in ("/elsewhere", f"{repo.path}x", f"{repo.path}/open", "*\n\tdirectory ="):
        own.write_text(f"[safe]\n\tdirectory = {value}\n")
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
        assert as_nobody(base, script) == refused, value
    for value in (str(repo.path), "*", f"{base}/*", f"{repo.path}/"):
        own.write_text(f"[safe]\n\tdirectory = {value}\n")
        nobody = as_nobody(base, script)
        assert nobody.splitlines()[0] == "3 ['Files\\n', 'Begin\\n']"
        assert "ReadOnlyError" in nobody


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a file of another user's")
def test_the_owner_of_a_file_is_kept(base: Path) -> None:
    repo = make(base)
    os.chown(repo.path / "open/a.md", 12345, 23456)
    (repo.path / "open/a.md").chmod(0o664)
    from commonplace.domain.addresses import Address  # noqa: PLC0415
    from commonplace.store import open_store  # noqa: PLC0415

    store = open_store(repo.path, commit="manual", state_dir=base / "state")
    with store.transaction("x") as transaction:
        transaction.put(Address("open/a.md"), b"changed")
    status = (repo.path / "open/a.md").stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (12345, 23456, 0o664)


LOOKING = """\
from commonplace.embed.installer import find_model
from commonplace.embed.installer import install_model
from commonplace.faces import clients
from commonplace.settings import is_folder
from commonplace.store.discovery import diagnose
from commonplace.toolsets.projects.remote.setup import open_project_store
"""


@pytest.mark.parametrize("named", ["closed", "closed/below"])
def test_a_folder_that_may_not_be_entered_is_told_by_whoever_looks_into_it(base: Path, named: str) -> None:
    (base / "closed" / "below").mkdir(parents=True)
    give(base)
    (base / "closed").chmod(0o000)
    nobody = as_nobody(
        base,
        f"""
        folder = base / {named!r}
        print(find_model(folder))
        acts = (
            lambda: is_folder(folder / "x"),
            lambda: list(diagnose(folder, base / "state")),
            lambda: open_project_store(folder / "x", base / "state", None),
            lambda: install_model(folder / "models"),
            lambda: clients.config_change(
                "cursor", {{"kb": clients.LaunchCommand("commonplace", ())}}, folder / "mcp.json"
            ),
        )
        for act in acts:
            try:
                print(act())
            except KnowledgeError as error:
                print(type(error).__name__, error)
        """,
        LOOKING,
    )
    assert nobody.splitlines() == [
        "None",
        "StorageError The folder 'x' cannot be looked at: Permission denied.",
        f"StorageError The folder {Path(named).name!r} cannot be looked at: Permission denied.",
        "StorageError The folder of the projects cannot be created: Permission denied.",
        "StorageError The model cannot be put into the folder 'models': Permission denied.",
        "ConfigError mcp.json cannot be changed: Permission denied.",
    ]


def test_what_a_colleague_did_not_share_is_named_with_the_way_to_share_it(base: Path) -> None:
    repo = make(base, git=True)
    gitdir = repo.path / ".git"
    journal, objects = gitdir / "commonplace.journal", list((gitdir / "objects").glob("??"))
    journal.touch()
    give(base)
    journal.chmod(0o444)
    script = """
        from commonplace.store.discovery import diagnose
        store = open_store(base / "kb", commit="auto", state_dir=base / "state")
        print(attempt(store, "new.md"), (base / "kb/new.md").exists())
        for diagnostic in diagnose(base / "kb", base / "state"):
            if diagnostic.check == "permissions":
                print(diagnostic.severity, diagnostic.message, diagnostic.command)
        """
    answer, report = as_nobody(base, script).splitlines()
    assert answer.startswith("UnsharedFileError: commonplace.journal in the repository's .git folder is another user's")
    assert answer.endswith("Nothing was changed. False")
    assert "This user may not write in .git: commonplace.journal." in report
    assert f"git -C {repo.path} config core.sharedRepository group && chmod -R g=u {gitdir} && find" in report

    journal.chmod(0o644)
    for folder in objects:
        folder.chmod(0o555)
    (gitdir / "logs/refs/heads").chmod(0o555)
    repo.git("-c", f"safe.directory={repo.path}", "config", "core.sharedRepository", "all")
    answer, report = as_nobody(base, script).splitlines()
    assert f"objects/{objects[0].name}" in report or "more" in report
    assert f" chmod -R g=u {gitdir}" in report
    assert "config core.sharedRepository" not in report

    for folder in (*objects, gitdir / "logs/refs/heads"):
        folder.chmod(0o755)
    assert as_nobody(base, script).splitlines() == [
        "written True",
        "None What a write changes in .git may be written by this user. ",
    ]
