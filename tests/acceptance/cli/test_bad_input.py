"""Every command on a folder in which everything is wrong, as a user for whom permissions mean something.

Each mistake is one clear line and the exit code that the help names; nothing is lost, and the rest is served.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support import SOAK, GitRepo, new_repo

NOBODY = 65534
PAGES: dict[str, str | bytes] = {
    "a.md": "# A\n\nTea, see [[b]] and [[big]].\n", "b.md": "# B\n\n[[a]]\n", "locked/p.md": "# P\n",
    "shut.md": "# Shut\n", "bad.md": b"# Bad\n\ncaf\xe9 \xff tea\n",
}  # fmt: skip
BIG = "# Big\n\n" + "word and tea " * (4_000_000 if SOAK else 1_400_000)
"""More than may be written; in a soak run 52 MB."""
ALL = (
    ["list"], ["search", "tea"], ["check"], ["status"], ["doctor"], ["links", "--broken"], ["links", "--orphans"],
    ["log"], ["index"],
)  # fmt: skip
"""Commands about all pages."""
OF_A_PAGE = (
    ["read", "PAGE", "--lines", "1-3"], ["links", "PAGE"], ["related", "PAGE"], ["log", "PAGE"], ["diff", "PAGE"],
    ["restore", "PAGE", "--at", "FIRST"], ["write", "PAGE", "--append"],
    ["write", "PAGE", "--delete", "--force", "--dry-run"],
)  # fmt: skip
NO_PAGE = (3, "There is no document")
NOT_READ = (11, "cannot be read: Permission denied.")
DONE = (0, "")
WRONG: dict[str, dict[str, tuple[int, str]]] = {
    "nowhere": {"": NO_PAGE, "restore": (3, "is not in the commit")},
    "loop": {"": NO_PAGE, "restore": (3, "is not in the commit")},
    "pipe": {"": NO_PAGE, "restore": (3, "is not in the commit")},
    "round/a": {"": NO_PAGE, "restore": (3, "is not in the commit")},
    "shut": {"": NOT_READ, "log": DONE},
    "locked/p": {"": NOT_READ, "log": DONE},
    "bad": {"": DONE, "write": (4, "The document is not UTF-8 and is never changed.")},
    "big": {"": DONE, "write": (4, "the limit is 16,777,216"), "restore": (3, "is not in the commit")},
}
"""Expected end of each command by page: exit code, or exit code and message; "" is every other command."""


@dataclass(frozen=True, slots=True)
class Bad:
    """A folder in which everything is wrong, and where the commands keep what is theirs."""

    place: Path
    repo: GitRepo
    first: str

    def run(self, commands: list[list[str]]) -> list[tuple[list[str], int, str, str]]:
        """Exit code and output of each command, run as nobody. No command fails internally or names its location."""
        own = {f"XDG_{name}_HOME": str(self.place / "own" / name) for name in ("CACHE", "STATE", "DATA", "CONFIG")}
        program = [
            sys.executable,
            str(Path(__file__).with_name("unprivileged.py")),
            self.repo.path,
            self.place / "warm",
        ]
        done = subprocess.run(
            program,
            input=json.dumps(commands), capture_output=True, text=True, check=False, timeout=110,
            env={**os.environ, **own, "HOME": str(self.place / "own"), "COMMONPLACE_COMMIT": "manual"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        codes = [(words, *rest) for words, rest in zip(commands, json.loads(done.stdout), strict=True)]
        for words, code, out, err in codes:
            assert code in {0, 1, 3, 4, 6, 10, 11}, (words, code, out, err)
            assert "Traceback" not in err, words
            assert str(self.place) not in err.replace(str(self.place / "own"), ""), words
        return codes


@pytest.fixture(scope="module")
def bad() -> Iterator[Bad]:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name).resolve()
        place.chmod(0o755)
        repo = new_repo(place / "kb", PAGES)
        new_repo(place / "warm", {"a.md": "# A\n"})
        repo.write("big.md", BIG)
        (repo.path / "loop.md").symlink_to("loop.md")
        (repo.path / "round").symlink_to(".")
        os.mkfifo(repo.path / "pipe.md")
        (place / "own").mkdir()
        if os.geteuid() == 0:
            for path in (place / "own", repo.path, *repo.path.rglob("*")):
                os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        first = repo.git("-c", f"safe.directory={repo.path}", "rev-parse", "HEAD")
        (repo.path / "locked").chmod(0)
        (repo.path / "shut.md").chmod(0)
        yield Bad(place, repo, first)
        for path in (repo.path, *(path for path in repo.path.rglob("*") if path.is_dir() and not path.is_symlink())):
            path.chmod(0o755)


@pytest.mark.usefixtures("amount")  # how much of a page is too much
def test_every_command_says_what_is_wrong_with_a_page_and_serves_the_rest(bad: Bad) -> None:
    requested_texts = [
        [{"PAGE": page, "FIRST": bad.first}.get(word, word) for word in words] for page in WRONG for words in OF_A_PAGE
    ]
    rows = bad.run([["index"], *requested_texts])
    assert "locked: cannot be listed: Permission denied" in rows[0][3]
    for words, code, _, err in rows[1:]:
        expected = WRONG[words[1]]
        verb = words[0] if "--dry-run" not in words else "delete"
        assert (code, err) == (expected.get(verb, expected[""])[0], err), words
        assert expected.get(verb, expected[""])[1] in err, (words, err)
        if code:
            assert err.startswith("Error: "), words
    assert (bad.repo.path / "bad.md").read_bytes() == PAGES["bad.md"]
    assert (bad.repo.path / "big.md").stat().st_size == len(BIG)
    nearest = next(err for words, _, _, err in rows if words == ["links", "nowhere"])
    assert "Hint: " in nearest


@pytest.mark.usefixtures("amount")
@pytest.mark.soak
def test_every_command_about_all_pages_lists_the_rest_of_a_read_only_folder_without_a_cache(bad: Bad) -> None:
    (bad.repo.path / "big.md").unlink()  # its size is the other test's
    folders = [bad.repo.path, *(path for path in bad.repo.path.rglob("*") if path.is_dir() and not path.is_symlink())]
    st_modes = {path: path.stat().st_mode for path in folders}
    for path in folders:
        path.chmod(st_modes[path] & 0o555)
    shutil.rmtree(bad.place / "own" / "CACHE", ignore_errors=True)
    try:
        rows = bad.run([*ALL, ["read", "a"], ["write", "a", "--append"], ["write", "new"]])
    finally:
        for path in folders:
            path.chmod(st_modes[path])
    codes = {" ".join(words): code for words, code, _, _ in rows}
    said = {" ".join(words): out + err for words, _, out, err in rows}
    assert {name for name, code in codes.items() if code} == {
        "check",
        "write a --append",
        "write new",
    }
    assert codes["write a --append"] == codes["write new"] == 6
    assert "may not be written by this user" in said["write a --append"]
    assert "a.md" in said["search tea"]
    assert "bad.md" in said["list"]
    assert "UTF-8" in said["check"]
    assert said["read a"] == PAGES["a.md"]


@pytest.mark.usefixtures("amount")
def test_a_store_of_projects_with_a_locked_folder_is_served_and_nothing_in_it_is_committed_as_gone(bad: Bad) -> None:
    store = new_repo(bad.place / "store", {"projects/app/main.md": "# App\n", "projects/other/main.md": "# Other\n"})
    for path in (store.path, *store.path.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    locked = store.path / "projects" / "app"
    locked.chmod(0)
    at = ["-C", str(store.path)]
    rows = bad.run(
        [["list"], *(["projects", *words, *at] for words in (["list"], ["show", "--project", "app"], ["sync"]))]
    )
    locked.chmod(0o755)
    _, listed, shown, synced = rows
    assert (listed[1], "other" in listed[2]) == (0, True)
    assert (shown[1], "cannot be read: Permission denied" in shown[3]) == (11, True)
    assert (synced[1], "Permission denied" in synced[3]) == (11, True)
    own = f"safe.directory={store.path}"
    assert store.git("-c", own, "ls-tree", "-r", "--name-only", "HEAD", "projects/app") == "projects/app/main.md"
