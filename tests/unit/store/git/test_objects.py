"""Objects as Git itself would write them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from commonplace.store.disk.durable import Unsynced
from commonplace.store.git import objects as git_objects
from commonplace.store.git.objects import (
    EMPTY_TREE,
    MODE_EXECUTABLE,
    MODE_FILE,
    MODE_LINK,
    NewObjects,
    TreeEntry,
    changed_tree,
    discard_unplaced,
    format_tree,
    in_order,
    parse_tree,
)
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.trees import TreeCache
from support import GitRepo, MakeRepo

BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    """Names whose order differs between folders and files."""
    return git_repo("repo", {"a.md": "", "a/x.md": "", "a0": "", "b/c/d.md": "", "b/c.md": "", "b.md": ""})


def opened(repo: GitRepo) -> GitRepository:
    """The repository."""
    return GitRepository(repo.path / ".git", repo.path)


def begin(repo: GitRepo) -> NewObjects:
    """A transaction's objects."""
    repository = opened(repo)
    return NewObjects(repository.objects, "token", repository.has_object)


def settle(objects: NewObjects) -> None:
    """Write and place."""
    with Unsynced() as unsynced:
        objects.write(unsynced)
        unsynced.sync()
    objects.place()


def left(repo: GitRepo) -> list[Path]:
    """Temporary objects."""
    return list((repo.path / ".git/objects").glob("tmp*"))


@pytest.mark.parametrize("content", [b"", b"text\n", bytes(range(256)) * 1000])
def test_a_blob_is_what_git_reads(repo: GitRepo, content: bytes, tmp_path: Path) -> None:
    objects = begin(repo)
    identifier = objects.add("blob", content)
    settle(objects)
    (tmp_path / "file").write_bytes(content)
    assert repo.git("hash-object", "--no-filters", str(tmp_path / "file")) == identifier
    assert opened(repo).content(identifier) == content
    assert left(repo) == []
    repo.git("fsck", "--strict")


def test_what_is_there_already_is_not_written_again(repo: GitRepo) -> None:
    objects = begin(repo)
    objects.add("blob", b"")
    with Unsynced() as unsynced:
        objects.write(unsynced)
    assert left(repo) == []


def test_unplaced_objects_are_removed_by_their_token(repo: GitRepo) -> None:
    objects = begin(repo)
    objects.add("blob", b"one")
    objects.add("blob", b"two")
    with Unsynced() as unsynced:
        objects.write(unsynced)
    assert len(left(repo)) == 2
    discard_unplaced(repo.path / ".git/objects", "other")
    assert len(left(repo)) == 2
    discard_unplaced(repo.path / ".git/objects", "token")
    assert left(repo) == []


def test_discarded_objects_leave_nothing(repo: GitRepo) -> None:
    objects = begin(repo)
    identifier = objects.add("blob", b"one")
    with Unsynced() as unsynced:
        objects.write(unsynced)
    objects.discard()
    assert left(repo) == []
    assert not opened(repo).has_object(identifier)


def packs(repo: GitRepo) -> set[str]:
    """Kinds of files of packs."""
    return {file.suffix for file in (repo.path / ".git/objects/pack").iterdir()}


CONTENTS = [b"", *(bytes(range(256)) * size + b"%d" % size for size in (0, 1, 8, 9, 40, 3000)), b"a" * 5_000_000]


def test_many_objects_are_one_pack_that_git_reads(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_objects, "MIN_PACKED", 4)
    objects = begin(repo)
    identifiers = [objects.add("blob", content) for content in CONTENTS]
    known = TreeCache(opened(repo).content, 1000)
    tree = changed_tree(objects, known, "", {"x.md": TreeEntry(MODE_FILE, identifiers[1])})
    settle(objects)
    assert (left(repo), packs(repo)) == ([], {".pack", ".idx"})
    for identifier, content in zip(identifiers, CONTENTS, strict=True):
        assert opened(repo).content(identifier) == content
        assert int(repo.git("cat-file", "-s", identifier)) == len(content)
    assert repo.git("cat-file", "-t", tree) == "tree"
    (index,) = (repo.path / ".git/objects/pack").glob("*.idx")
    assert len(repo.git("verify-pack", "-v", str(index)).splitlines()) > len(CONTENTS)
    repo.git("fsck", "--full", "--strict")


@pytest.mark.parametrize("placed", [0, 1])
def test_a_pack_without_its_index_is_removed_with_it(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch, placed: int
) -> None:
    monkeypatch.setattr(git_objects, "MIN_PACKED", 1)
    objects = begin(repo)
    objects.add("blob", b"one")
    with Unsynced() as unsynced:
        objects.write(unsynced)
    folder = repo.path / ".git/objects"
    for file in sorted(left(repo), reverse=True)[-1:] if placed else []:  # killed between its two names
        file.rename(folder / "pack" / file.name.rpartition("_")[2])
    assert packs(repo) == ({".pack"} if placed else set())
    discard_unplaced(folder, "token")
    assert (left(repo), packs(repo)) == ([], set())


def test_every_tree_is_parsed_and_formatted_to_the_same_bytes(repo: GitRepo) -> None:
    repository = opened(repo)
    for line in repo.git("ls-tree", "-r", "-d", "HEAD").splitlines():
        raw = repository.content(line.split()[2])
        tree = parse_tree(raw)
        assert format_tree(tree) == raw
        assert format_tree(in_order(dict(reversed(tree.items())))) == raw


def changed(repo: GitRepo, base: str, changes: dict[str, TreeEntry | None]) -> str:
    """The tree after some changes, written."""
    objects, repository = begin(repo), opened(repo)
    tree = changed_tree(objects, TreeCache(repository.content, 1000), base, changes)
    settle(objects)
    return tree


def test_a_tree_changes_only_in_the_given_paths(repo: GitRepo) -> None:
    before = set(repo.git("ls-tree", "-r", "HEAD").splitlines())
    base = repo.git("rev-parse", "HEAD^{tree}")
    tree = changed(
        repo,
        base,
        {
            "b/c/new.md": TreeEntry(MODE_EXECUTABLE, BLOB),
            "a/x.md": None,
            "日本/語.md": TreeEntry(MODE_FILE, BLOB),
            "l": TreeEntry(MODE_LINK, BLOB),
        },
    )
    repo.git("config", "core.quotePath", "false")
    after = set(repo.git("ls-tree", "-r", tree).splitlines())
    assert after - before == {
        f"100755 blob {BLOB}\tb/c/new.md",
        f"100644 blob {BLOB}\t日本/語.md",
        f"120000 blob {BLOB}\tl",
    }
    assert before - after == {f"100644 blob {BLOB}\ta/x.md"}
    repo.git("fsck", "--strict")


def test_a_tree_without_differences_is_the_same_tree(repo: GitRepo) -> None:
    base = repo.git("rev-parse", "HEAD^{tree}")
    same: list[dict[str, TreeEntry | None]] = [
        {},
        {"a.md": TreeEntry(MODE_FILE, BLOB)},
        {"none.md": None, "none/none.md": None, "a.md/none.md": None},
    ]
    for changes in same:
        assert changed(repo, base, changes) == base


def test_files_and_folders_take_each_others_names(repo: GitRepo) -> None:
    base = repo.git("rev-parse", "HEAD^{tree}")
    tree = changed(repo, base, {"a": TreeEntry(MODE_FILE, BLOB), "b.md/inner.md": TreeEntry(MODE_FILE, BLOB)})
    names = repo.git("ls-tree", "-r", "--name-only", tree).splitlines()
    assert names == ["a", "a.md", "a0", "b.md/inner.md", "b/c.md", "b/c/d.md"]
    emptied = changed(
        repo,
        base,
        {"a": TreeEntry(MODE_FILE, BLOB), "a/x.md": None, "b.md": None, "b.md/y": TreeEntry(MODE_FILE, BLOB)},
    )
    names = repo.git("ls-tree", "-r", "--name-only", emptied).splitlines()
    assert names == ["a", "a.md", "a0", "b.md/y", "b/c.md", "b/c/d.md"]
    repo.git("fsck", "--strict")


def test_removing_everything_leaves_the_empty_tree(repo: GitRepo) -> None:
    base = repo.git("rev-parse", "HEAD^{tree}")
    names = repo.git("ls-tree", "-r", "--name-only", base).splitlines()
    assert changed(repo, base, dict.fromkeys(names)) == EMPTY_TREE
    assert changed(repo, "", {}) == EMPTY_TREE


def test_random_changes_give_the_trees_that_git_gives(git_repo: MakeRepo) -> None:
    repo = git_repo("random")
    chance, tree = random.Random(5), ""
    for _ in range(20):
        names = {"/".join(chance.choices(["a", "a.b", "a-b", "a0", "é"], k=chance.randrange(1, 4))) for _ in range(4)}
        flat = {name for name in names if not any(other.startswith(f"{name}/") for other in names)}
        tree = changed(repo, tree, {name: chance.choice([TreeEntry(MODE_FILE, BLOB), None]) for name in flat})
        repo.git("read-tree", tree)
        assert repo.git("write-tree", "--missing-ok") == tree


@pytest.mark.parametrize("count", [1, 7, 130])
def test_new_entries_come_to_their_places_as_git_orders_them(repo: GitRepo, count: int) -> None:
    names = ["a", "a.md", "a-b", "a0", "z.md", *(f"n{number}.md" for number in range(count))]
    changes: dict[str, TreeEntry | None] = {name: TreeEntry(MODE_FILE, BLOB) for name in names[1:]}
    changes["a/inner.md"] = TreeEntry(MODE_FILE, BLOB)
    tree = changed(repo, "", changes)
    assert repo.git("fsck", "--strict", "--no-dangling", tree) == ""
    turned: dict[str, TreeEntry | None] = {"a/inner.md": None, "a": TreeEntry(MODE_FILE, BLOB), "a0": None}
    tree = changed(repo, tree, {**turned, "a0/x.md": TreeEntry(MODE_FILE, BLOB)})
    assert repo.git("fsck", "--strict", "--no-dangling", tree) == ""
    assert repo.git("ls-tree", "--name-only", tree).splitlines() == sorted(names)
