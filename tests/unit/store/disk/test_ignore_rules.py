"""Ignore files: the patterns against those of Git itself, and what counts where."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import InvalidInputError, StorageError
from commonplace.store import open_store
from commonplace.store.disk.folder import Folder, FolderScan
from commonplace.store.disk.ignore_rules import IgnoreRules, parse_patterns
from support import GitRepo, new_repo, no_more_files

WORDS = ("a", "b", "notes", "draft", "x.md", "y.md", "old x.md")
PATTERNS = (
    *("*.md", "draft", "draft/", "/draft", "notes/*.md", "**/x.md", "notes/**", "a/**/x.md", "!x.md", "!/notes/x.md"),
    *("?.md", "[xy].md", "[!x].md", "[^x].md", "# no", "", "  ", "x.md  ", r"old\ x.md", r"\!x.md", "a*", "**", "/*"),
    *("notes/", "!notes/", "b/draft", "*/x.md", "/a/b", "**/draft/**", "a/", "!a/x.md", "***", "n*t*s", "x.md/"),
)


def gits_answer(repo: GitRepo, paths: list[str]) -> set[str]:
    """Paths that the git command ignores."""
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin"],
        cwd=repo.path, input="\n".join(paths), capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    return set(done.stdout.splitlines())


@pytest.mark.parametrize("seed", range(40))
def test_patterns_mean_what_they_mean_to_git(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    repo = new_repo(tmp_path / "repo")
    paths: list[str] = []
    for _ in range(40):
        folders = [chance.choice(WORDS[:4]) for _ in range(chance.randint(0, 3))]
        paths.append("/".join([*folders, chance.choice(WORDS[4:])]))
        repo.write(paths[-1], "# A\n")
    for place in ("", *(f"{chance.choice(WORDS[:4])}/" for _ in range(2))):
        if place == "" or (repo.path / place).is_dir():
            repo.write(f"{place}.gitignore", "\n".join(chance.choices(PATTERNS, k=chance.randint(1, 5))) + "\n")
    rules = IgnoreRules(repo.path.resolve())
    ignored = gits_answer(repo, paths)
    assert {path for path in paths if rules.hides(Address(path))} == ignored
    assert {address.path for address, _ in FolderScan(Folder(repo.path), rules.now())} == set(paths) - ignored


def served(folder: Path) -> set[str]:
    return {address.path for address, _ in open_store(folder, commit="manual", state_dir=folder).scan()}


def test_the_own_ignore_file_has_the_last_word_and_holds_without_git(tmp_path: Path) -> None:
    for path in ("keep.md", "build/page.md", "drafts/one.md", "drafts/two.md", "a/build/deep.md"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("# A\n")
    (tmp_path / ".gitignore").write_text("drafts/\nbuild/\n")
    assert len(served(tmp_path)) == 5, "without Git its ignore files mean nothing"
    (tmp_path / ".commonplaceignore").write_text("/build/\n*two*\n")
    assert served(tmp_path) == {"keep.md", "drafts/one.md", "a/build/deep.md"}
    GitRepo(tmp_path).git("init", "--quiet")
    assert served(tmp_path) == {"keep.md"}
    (tmp_path / ".commonplaceignore").write_text("!drafts/\n*two*\n")
    assert served(tmp_path) == {"keep.md", "drafts/one.md"}


def test_a_folder_of_a_repository_heeds_what_stands_above_it_unless_that_leaves_it_out_whole(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "repo")
    for path in ("docs/a.md", "docs/build/b.md", "docs/x/tmp.md", "private/c.md"):
        repo.write(path, "# A\n")
    repo.write(".gitignore", "docs/build/\n/private\ntmp.md\n")
    assert served(repo.path / "docs") == {"a.md"}
    assert served(repo.path / "private") == {"c.md"}
    repo.write(".git/info/exclude", "docs/a.md\n")
    assert served(repo.path / "docs") == set()


def test_what_git_tracks_stays_whatever_its_ignore_files_say(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "repo", {"docs/build/how.md": "# How", "docs/a.md": "# A"})
    repo.write(".gitignore", "build/\n")
    repo.write("docs/build/made.md", "# Made")
    repo.write("build/out.md", "# Out")
    assert served(repo.path) == {"docs/a.md", "docs/build/how.md"}
    assert served(repo.path / "docs") == {"a.md", "build/how.md"}
    repo.git("add", "--force", "build/out.md")
    assert served(repo.path) == {"docs/a.md", "docs/build/how.md", "build/out.md"}
    repo.write(".commonplaceignore", "how.md\n")
    assert served(repo.path) == {"docs/a.md", "build/out.md"}


def test_what_is_left_out_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / ".commonplaceignore").write_text("drafts/\n")
    store = open_store(tmp_path, commit="manual", state_dir=tmp_path / "state")
    with (
        pytest.raises(InvalidInputError, match=r"drafts/new\.md is ignored by an ignore file"),
        store.transaction("Write") as transaction,
    ):
        transaction.put(Address("drafts/new.md"), b"# New\n")
    assert not (tmp_path / "drafts").exists()
    assert store.stat(Address("drafts/new.md")) is None


def test_an_ignore_file_that_cannot_be_opened_for_now_shows_nothing_that_it_hides(tmp_path: Path) -> None:
    (tmp_path / ".commonplaceignore").write_text("drafts/\n")
    rules = IgnoreRules(tmp_path.resolve())
    with no_more_files(), pytest.raises(StorageError, match=r"\.commonplaceignore cannot be read \(Too many open"):
        rules.hides(Address("drafts/new.md"))
    assert rules.hides(Address("drafts/new.md"))
    (tmp_path / ".commonplaceignore").write_text("/other/\n")
    with no_more_files(), pytest.raises(StorageError, match="so it is unknown which files are ignored"):
        rules.now().at("")
    assert not rules.hides(Address("drafts/new.md"))


@pytest.mark.parametrize("kind", ["folder", "pipe", "loop"])
def test_what_only_bears_the_name_of_an_ignore_file_says_nothing(tmp_path: Path, kind: str) -> None:
    (tmp_path / "keep.md").write_text("# A\n")
    named = tmp_path / ".commonplaceignore"
    {"folder": named.mkdir, "pipe": lambda: os.mkfifo(named), "loop": lambda: named.symlink_to(named)}[kind]()
    assert served(tmp_path) == {"keep.md"}


def test_a_long_pattern_is_matched_in_no_time() -> None:
    (pattern,) = parse_patterns(f"{'*a' * 60}b\n")
    assert not pattern.fits(["a" * 250], is_folder=False)
    (deep,) = parse_patterns("/".join(["**", "a"] * 40) + "/b\n")
    assert not deep.fits(["a"] * 400, is_folder=False)
    assert deep.name_below(["a"] * 400) == ["b"]


def test_rules_are_combined_by_folder_and_hold_for_one_listing(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "repo", {f"a/b/c/{number}.md": "x" for number in range(20)})
    repo.write(".gitignore", "**/" * 30 + "none\n/a/*/c/1?.md\n!14.md\n")
    served = repo.path / "a" / "b"
    (served / ".commonplaceignore").write_text("2.md\n")
    rules = IgnoreRules(served.resolve())
    expected = {f"c/{number}.md" for number in range(20)} - {f"c/{number}.md" for number in (2, *range(10, 20))} | {
        "c/14.md"
    }
    assert {address.path for address, _ in FolderScan(Folder(served.resolve()), rules.now())} == expected
    now = rules.now()
    assert now.at("c") is now.at("c") is rules.now().at("c"), "unchanged files are not combined again"
    (served / ".commonplaceignore").write_text("!2.md\n")
    assert now.hides(Address("c/2.md"))
    assert not rules.hides(Address("c/2.md"))
