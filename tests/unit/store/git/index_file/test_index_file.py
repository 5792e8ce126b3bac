"""The index as Git itself writes and reads it, changed by us."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from commonplace.store.git.index_file import (
    DamagedIndexError,
    IndexEntry,
    UnsupportedIndexError,
    empty_index,
    parse_index,
)
from support import GitRepo, MakeRepo

BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
ENTRY = IndexEntry(BLOB, 0o100644, None)


def index_of(repo: GitRepo) -> Path:
    """The path of Git's index file."""
    return repo.path / ".git/index"


def listed(repo: GitRepo) -> list[str]:
    """Entries of the index in Git's order."""
    return [line for line in repo.git("ls-files", "--stage", "-z").split("\0") if line]


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    """Folders, odd names, names that begin alike, and one too long for the flags to tell."""
    names = ["a.md", "a/b.md", "a0.md", "ab.md", "Z.md", "日本.md", "x y.md", "d/e/f/g.md", "d/e.md"]
    long = "/".join(["n" * 200] * 21)
    repo = git_repo("repo", {name: name for name in names} | {"empty.md": ""})
    repo.git("update-index", "--add", "--cacheinfo", f"100644,{BLOB},{long}")
    return repo


def test_an_index_that_nothing_is_changed_in_keeps_every_entry(repo: GitRepo) -> None:
    before = listed(repo)
    index_of(repo).write_bytes(parse_index(index_of(repo).read_bytes()).changed({}).raw)
    assert listed(repo) == before
    repo.git("fsck", "--strict")


@pytest.mark.parametrize(
    "name", ["0.md", "a.md", "a/a.md", "aa.md", "zz.md", "d/e/f/g.md", "d/x/y.md", "n" * 4095, "語.md"]
)
def test_entries_are_put_where_git_looks_for_them(repo: GitRepo, name: str) -> None:
    index = parse_index(index_of(repo).read_bytes()).changed({name: ENTRY})
    index_of(repo).write_bytes(index.raw)
    assert index.id_of(name) == BLOB
    lines = listed(repo)
    assert f"100644 {BLOB} 0\t{name}" in lines
    assert lines == sorted(lines, key=lambda line: line.partition("\t")[2].encode())
    assert parse_index(index.raw) == index


def test_many_random_changes_give_what_git_gives(repo: GitRepo) -> None:
    """The same additions and removals by us in one index and by Git in another."""
    chance = random.Random(7)
    for _ in range(15):
        names = {f"{chance.choice('abcd')}/{chance.choice('pq')}{chance.randrange(9)}.md" for _ in range(6)}
        changes = {name: chance.choice([ENTRY, ENTRY, None]) for name in names}
        ours = parse_index(index_of(repo).read_bytes()).changed(changes)
        lines = [f"{'0 ' + '0' * 40 if entry is None else f'100644 {BLOB}'}\t{name}" for name, entry in changes.items()]
        for line in lines:
            mode_and_id, _, name = line.partition("\t")
            if mode_and_id.startswith("0 "):
                repo.git("update-index", "--force-remove", name)
            else:
                repo.git("update-index", "--add", "--replace", "--cacheinfo", f"100644,{BLOB},{name}")
        theirs = listed(repo)
        index_of(repo).write_bytes(ours.raw)
        assert listed(repo) == theirs


def test_cached_trees_of_changed_folders_are_forgotten_and_others_kept(repo: GitRepo) -> None:
    repo.git("rm", "--quiet", "--cached", "-r", "n" * 200)
    repo.commit("Make cached trees")
    repo.git("status")
    before = parse_index(index_of(repo).read_bytes())
    assert b"TREE" in before.extensions
    after = before.changed({"d/e/f/new.md": ENTRY})
    index_of(repo).write_bytes(after.raw)
    assert len(before.extensions[b"TREE"]) - len(after.extensions[b"TREE"]) in range(60, 85), "four ids are gone"
    tree = repo.git("write-tree")
    assert f"{BLOB}\td/e/f/new.md" in repo.git("ls-tree", "-r", tree)
    repo.git("fsck", "--strict")


def test_a_file_takes_the_place_of_a_folder_and_a_folder_that_of_a_file(repo: GitRepo) -> None:
    index = parse_index(index_of(repo).read_bytes()).changed({"d": ENTRY, "a.md/x.md": ENTRY})
    index_of(repo).write_bytes(index.raw)
    names = [line.partition("\t")[2] for line in listed(repo)]
    assert "d" in names
    assert "a.md/x.md" in names
    assert not {"d/e.md", "d/e/f/g.md", "a.md"} & set(names)
    repo.git("write-tree", "--missing-ok")


def test_a_conflict_is_settled_by_a_new_entry(repo: GitRepo) -> None:
    stages = "".join(f"100644 {BLOB} {stage}\ta.md\n" for stage in (1, 2, 3))
    (repo.path / "info").write_text(f"0 {'0' * 40}\ta.md\n{stages}")
    repo.git("-c", "alias.feed=!git update-index --index-info < info", "feed")
    conflicted = parse_index(index_of(repo).read_bytes())
    assert conflicted.id_of("a.md") == ""
    index_of(repo).write_bytes(conflicted.changed({"a.md": ENTRY}).raw)
    assert [line for line in listed(repo) if line.endswith("\ta.md")] == [f"100644 {BLOB} 0\ta.md"]


def test_git_need_not_read_a_file_whose_facts_are_told(repo: GitRepo) -> None:
    file = repo.write("a.md", "other")
    blob = repo.git("hash-object", "-w", "a.md")
    entry = IndexEntry(blob, 0o100644, file.lstat())
    index_of(repo).write_bytes(parse_index(index_of(repo).read_bytes()).changed({"a.md": entry}).raw)
    git = repo.git("ls-files", "--debug", "a.md")
    assert f"size: {len('other')}" in git
    assert f"ino: {file.stat().st_ino}" in git
    assert repo.git("diff-files", "--name-only", "a.md") == ""


def test_an_empty_index_is_one(git_repo: MakeRepo) -> None:
    repo = git_repo("empty")
    index_of(repo).write_bytes(empty_index().changed({"a.md": ENTRY}).raw)
    assert listed(repo) == [f"100644 {BLOB} 0\ta.md"]
    assert parse_index(empty_index().raw) == empty_index()


def test_damage_is_noticed_wherever_it_is(repo: GitRepo) -> None:
    raw = index_of(repo).read_bytes()
    chance = random.Random(3)
    for _ in range(200):
        at = chance.randrange(12, len(raw))
        damaged = raw[:at] + bytes([raw[at] ^ (1 + chance.randrange(255))]) + raw[at + 1 :]
        with pytest.raises(DamagedIndexError):
            parse_index(damaged)
    for cut in (13, 40, len(raw) // 2, len(raw) - 1):
        with pytest.raises(DamagedIndexError):
            parse_index(raw[:cut])


def test_an_index_without_a_checksum_is_read(repo: GitRepo) -> None:
    raw = index_of(repo).read_bytes()
    assert parse_index(raw[:-20] + bytes(20)).offsets == parse_index(raw).offsets


@pytest.mark.parametrize("kind", ["version 4", "split", "no index"])
def test_other_kinds_are_left_to_others(repo: GitRepo, kind: str) -> None:
    if kind == "version 4":
        repo.git("update-index", "--index-version", "4")
    elif kind == "split":
        repo.git("update-index", "--split-index")
    else:
        index_of(repo).write_bytes(b"something else entirely")
    with pytest.raises(UnsupportedIndexError):
        parse_index(index_of(repo).read_bytes())
