"""Histories through renames, against `git log --follow` and against moves that are known."""

from __future__ import annotations

import random
import subprocess
import unicodedata
from itertools import pairwise
from pathlib import Path

import pytest

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.past import StoreWithPast
from commonplace.domain.ports import History
from commonplace.store import open_store
from commonplace.store.git.past.revision_walk import renames_of
from histories import history
from support import Amount, GitRepo, new_repo

STEPS = 60
NAMES = [f"{folder}{name}.md" for folder in ("", "in/", "in/deep/") for name in ("a", "b", "c", "Tea", "notes")]

Line = list[tuple[str, str]]
"""Number of each commit that changed a page, newest first, with the page's path in it."""


class Moves:
    """A random linear history whose moves are known.

    Args:
        seed: The same history for the same seed.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._lines = 0
        self.texts: dict[str, list[str]] = {}
        self.known: dict[str, Line] = {}
        """The history of every path that has been a page."""
        self.changed: dict[str, str] = {}
        """Number of the last commit that changed the text of the page, by path."""
        self._stream: list[str] = []
        for step in range(STEPS):
            self._step(step)

    def write(self, folder: Path) -> GitRepo:
        """The history as a repository."""
        folder.mkdir()
        stream = "".join(self._stream).encode()
        for arguments, given_content in ((["init", "-q", "-b", "main"], b""), (["fast-import", "--quiet"], stream)):
            subprocess.run(["git", *arguments], cwd=folder, check=True, input=given_content)
        repo = GitRepo(folder)
        repo.git("reset", "-q", "--hard")
        return repo

    def _step(self, step: int) -> None:
        changed: dict[str, list[str] | None] = {}
        number = str(step)
        free = [name for name in NAMES if name not in self.texts]
        page = self._random.choice(sorted(self.texts)) if self.texts else ""
        kind = self._random.choice(
            ["new", "edit", "edit", "move", "move", "move and edit", "delete"] if page else ["new"]
        )
        if kind == "new" and free:
            page = self._random.choice(free)
            changed[page] = [self._line() for _ in range(20)]
            self.known[page] = [(number, page), *self.known.get(page, [])]
            self.changed[page] = number
        elif kind == "delete":
            changed[page] = None
            self.known[page] = [(number, page), *self.known[page]]
        elif kind in {"move", "move and edit"} and free:
            target = self._random.choice(free)
            changed |= {page: None, target: self._edited(page) if kind != "move" else self.texts[page]}
            self.known[target] = [(number, target), *self.known[page]]
            self.changed[target] = self.changed[page] if kind == "move" else number
            self.known[page] = [(number, page), *self.known[page]]
        else:
            changed[page] = self._edited(page)
            self.known[page] = [(number, page), *self.known[page]]
            self.changed[page] = number
        self._commit(number, changed)

    def _line(self) -> str:
        self._lines += 1
        return f"{random.Random(self._lines).getrandbits(160):040x}"

    def _edited(self, page: str) -> list[str]:
        lines = list(self.texts[page])
        for _ in range(self._random.randrange(1, 5)):
            lines[self._random.randrange(len(lines))] = self._line()
        return lines

    def _commit(self, number: str, changed: dict[str, list[str] | None]) -> None:
        when = 1_600_000_000 + 60 * int(number)
        self._stream.append(f"commit refs/heads/main\ncommitter A <a@x> {when} +0000\ndata {len(number)}\n{number}\n")
        for path, lines in changed.items():
            if lines is None:
                self._stream.append(f"D {path}\n")
                del self.texts[path]
                continue
            text = "\n".join(lines) + "\n"
            self._stream.append(f"M 100644 inline {path}\ndata {len(text)}\n{text}\n")
            self.texts[path] = lines


def line(past: History, path: str) -> Line:
    """The commits of a page, by their messages, with its path in each."""
    commits = past.log(Address(path), limit=500)
    return [(commit.message.strip(), commit.addresses[0].path) for commit in commits]


def git_line(repo: GitRepo, path: str) -> tuple[Line, bool]:
    """The same from `git log --follow`, and whether Git takes one of the commits for a copy."""
    shown = repo.git("log", "--follow", "--name-status", "--format=\x01%s", "--", path)
    found_line: Line = []
    copies = False
    for entry in filter(None, shown.split("\x01")):
        subject, _, status = entry.strip().partition("\n")
        fields = status.strip().split("\t")
        copies |= fields[0].startswith("C")
        found_line.append((subject, fields[-1]))
    return found_line, copies


@pytest.mark.parametrize("dated", [False, True], ids=["cold", "dates known"])
def test_a_history_follows_every_known_move_as_git_does(tmp_path: Path, amount: Amount, *, dated: bool) -> None:
    for seed in range(amount(6, 200)):
        _assert_history_as_in_git(tmp_path / str(seed), seed, dated=dated)


def _assert_history_as_in_git(folder: Path, seed: int, *, dated: bool) -> None:
    moves = Moves(seed)
    repo = moves.write(folder)
    past = history(repo.path)
    spans = past.touched() if dated else {}
    store = open_store(repo.path, commit="manual", state_dir=folder / ".git/state")
    assert isinstance(store, StoreWithPast)
    assert store.past is not None
    assert not dated or store.past.store(past.head()).history.touched() == spans
    compared = 0
    for path in moves.texts:
        expected = moves.known[path]
        assert line(past, path) == expected, seed
        from_git, copies = git_line(repo, path)
        if not copies:
            assert from_git == expected, seed
            compared += 1
        versions = [content for _, content in past.versions(Address(path))]
        commits = past.log(Address(path), limit=500)
        for (_, there), commit, content in zip(expected, commits, versions, strict=True):
            if content:
                assert past.read(Address(there), commit.id) == content
                at = past.address_at(Address(path), commit.id)
                assert at in {Address(there), Address(path)}, "a file of the name itself goes first"
        if dated:
            span = spans[Address(path)]
            assert (span.first.message.strip(), span.last.message.strip()) == (expected[-1][0], expected[0][0])
            assert span.changed.message.strip() == moves.changed[path], (seed, path)
    assert compared or not moves.texts


PAGE = "".join(f"Line {number} of the page.\n" for number in range(20))


def moved(repo: GitRepo, old: str, new: str, message: str = "Move", text: str = "") -> None:
    """Commit a move, with another text if one is given."""
    (repo.path / new).parent.mkdir(parents=True, exist_ok=True)
    repo.git("mv", old, new)
    if text:
        repo.write(new, text)
    repo.git("add", "-A")
    repo.git("commit", "-qm", message)


@pytest.fixture
def base(tmp_path: Path) -> GitRepo:
    made = new_repo(tmp_path / "base", {"a.md": PAGE})
    made.commit("Edit", **{"a.md": f"{PAGE}More.\n"})
    return made


def messages(repo: GitRepo, path: str) -> list[tuple[str, str]]:
    """The history of a page read cold and with dates known, which are equal, and so are its paths at each commit."""
    cold, warm = history(repo.path), history(repo.path)
    warm.touched()
    assert line(cold, path) == line(warm, path)
    for commit in repo.git("rev-list", "HEAD").split():
        assert cold.address_at(Address(path), commit) == warm.address_at(Address(path), commit)
        assert cold.address_at(Address("never.md"), commit) is warm.address_at(Address("never.md"), commit) is None
    return line(cold, path)


OLD = [("Edit", "a.md"), ("Begin", "a.md")]


def test_fifty_renames_in_a_row_and_back(base: GitRepo) -> None:
    names = ["a.md", *(f"n{number % 7}.md" for number in range(50)), "a.md"]
    for number, (old, new) in enumerate(pairwise(names)):
        moved(base, old, new, f"Move {number}")
    found_messages = messages(base, "a.md")
    assert found_messages == [*((f"Move {n}", names[n + 1]) for n in reversed(range(51))), *OLD]


def test_a_rename_onto_a_name_with_history_leaves_that_history(base: GitRepo) -> None:
    base.commit("Other", **{"b.md": "Another page of this name.\n"})
    base.git("rm", "-q", "b.md")
    base.git("commit", "-qm", "Remove")
    moved(base, "a.md", "b.md")
    assert messages(base, "b.md") == [("Move", "b.md"), *OLD]
    past, other = history(base.path), base.git("rev-parse", "HEAD~2")
    assert past.read(Address("b.md"), other) == b"Another page of this name.\n", "the file of this name at that commit"
    assert past.read(Address("b.md"), base.git("rev-parse", "HEAD~3")).endswith(b"More.\n"), "else the page itself"


def test_a_new_page_of_a_deleted_ones_name_is_no_rename(base: GitRepo) -> None:
    base.git("rm", "-q", "a.md")
    base.git("commit", "-qm", "Remove")
    base.commit("Again", **{"a.md": "Quite another text.\n"})
    assert messages(base, "a.md") == [("Again", "a.md"), ("Remove", "a.md"), *OLD]


def test_a_copy_begins_a_history_and_the_original_has_its_own(base: GitRepo) -> None:
    base.commit("Copy", **{"copy.md": f"{PAGE}More.\n"})
    assert messages(base, "copy.md") == [("Copy", "copy.md")]
    assert messages(base, "a.md") == OLD


def test_a_split_page_continues_in_the_greater_part(base: GitRepo) -> None:
    lines = PAGE.splitlines(keepends=True)
    base.git("rm", "-q", "a.md")
    base.commit("Split", **{"one.md": "".join(lines[:14]), "two.md": "".join(lines[14:])})
    assert messages(base, "one.md") == [("Split", "one.md"), *OLD]
    assert messages(base, "two.md") == [("Split", "two.md")]


def test_a_merge_of_two_renames_follows_each_branch(base: GitRepo) -> None:
    base.commit("Second", **{"x.md": PAGE.replace("Line", "Word")})
    base.git("switch", "-qc", "side")
    moved(base, "x.md", "y.md", "Move x")
    base.commit("Edit a on the side", **{"a.md": f"{PAGE}More.\nSide.\n"})
    base.git("switch", "-q", "main")
    moved(base, "a.md", "b.md", "Move a", f"Begin.\n{PAGE}More.\n")
    base.git("merge", "-q", "--no-edit", "side")
    assert (base.path / "b.md").read_text() == f"Begin.\n{PAGE}More.\nSide.\n"
    found_messages = messages(base, "b.md")
    assert [found_message for found_message in found_messages if "Merge" not in found_message[0]] == [
        *sorted([("Move a", "b.md"), ("Edit a on the side", "a.md")], key=found_messages.index),
        *OLD,
    ]
    assert messages(base, "y.md") == [("Move x", "y.md"), ("Second", "x.md")]


def test_a_picture_has_a_history_too(base: GitRepo) -> None:
    base.commit("Picture", **{"a.png": PAGE})
    moved(base, "a.png", "b.png")
    assert messages(base, "b.png") == [("Move", "b.png"), ("Picture", "a.png")]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tea.md", "Tea.md"),
        (unicodedata.normalize("NFC", "Grüße.md"), unicodedata.normalize("NFD", "Grüße.md")),
        ("a b.md", "in/a => b.md"),
    ],
)
def test_renames_of_case_and_normal_form(tmp_path: Path, old: str, new: str) -> None:
    repo = new_repo(tmp_path / "base", {old: PAGE})
    moved(repo, old, new)
    assert messages(repo, new) == [("Move", new), ("Begin", old)]


def test_the_history_of_a_page_ends_where_it_was_ignored(base: GitRepo) -> None:
    moved(base, "a.md", "private/a.md", "Hide")
    base.write("private/a.md", f"{PAGE}Secret.\n")
    base.git("commit", "-qam", "Secret")
    moved(base, "private/a.md", "public.md", "Publish", PAGE)
    assert [element for element, _ in messages(base, "public.md")] == ["Publish", "Secret", "Hide", "Edit", "Begin"]
    base.write(".commonplaceignore", "private/\n")
    assert messages(base, "public.md") == [("Publish", "public.md")]


@each_case(
    ("removed", "added", "expected"),
    [
        ({}, {"b": "x"}, {}),
        ({"a": ""}, {"b": ""}, {"b": "a"}),
        ({"in/t": "same", "u/t": "same"}, {"v/t": "same"}, {"v/t": "in/t"}),
        ({"1/x": "s", "1/y": "s"}, {"2/y": "s", "2/x": "s"}, {"2/x": "1/x", "2/y": "1/y"}),
        ({"a": "1\n2\n3\n4\n"}, {"b": "1\n2\n"}, {"b": "a"}),
        ({"a": "1\n2\n3\n4\n"}, {"b": "1\n"}, {}),
        ({"a": "1\r\n2\r\n"}, {"b": "1\n2\n"}, {"b": "a"}),
        ({"a": PAGE, "c": PAGE[:300]}, {"b": PAGE[:290]}, {"b": "c"}),
    ],
)
def test_removed_and_added_files_pair_by_gits_rule(
    removed: dict[str, str], added: dict[str, str], expected: dict[str, str]
) -> None:
    blobs = {text.encode().ljust(20): text.encode() for text in (*removed.values(), *added.values())}
    old, new = ({path.encode(): text.encode().ljust(20) for path, text in side.items()} for side in (removed, added))
    renames = renames_of(old, new, blobs.get)
    assert {target.decode(): source.decode() for target, source in renames.items()} == expected
