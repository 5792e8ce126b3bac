"""Undo of commits: exactly their changes are gone, and what cannot be told apart is refused."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import AlreadyExistsError, InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.revisions import revision_of
from commonplace.services import writes
from commonplace.services.undo import RecordedForUndo, UndoConflictError, undo
from proposing import ProposedBase
from support import Amount

LINES = 12
A = Address("a.md")


def head(base: ProposedBase) -> str:
    return base.repo.git("rev-parse", "HEAD").strip()


def edit(base: ProposedBase, page: str, old: str, new: str) -> str:
    """The commit of an edit."""
    writes.replace_once(base.collection, Address(page), old, new)
    return head(base)


def test_one_write_is_taken_back_and_later_ones_stay(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, {"a.md": "# A\n\none\ntwo\nthree\n"}) as base:
        edit(base, "a.md", "one", "ONE")
        second = edit(base, "a.md", "two", "TWO")
        edit(base, "a.md", "three", "THREE")
        receipt = undo(base.collection, [second[:9]])
        assert base.texts() == {"a.md": b"# A\n\nONE\ntwo\nTHREE\n"}
        assert (receipt.undone, receipt.written, receipt.commit) == ((second,), (A,), head(base))
        assert base.repo.git("log", "-1", "--format=%B").splitlines()[:3] == [
            "Undo: Update: a",
            "",
            f"Undoes: {second}",
        ]
        assert base.repo.git("status", "--short") == ""
        again = undo(base.collection, [second])
        assert (again.commit, again.written) == ("", ())
        undo(base.collection, [receipt.commit])
        assert base.texts() == {"a.md": b"# A\n\nONE\nTWO\nTHREE\n"}


def test_an_undo_names_only_the_commits_of_which_it_takes_something_back(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, {"a.md": "# A\n\none\n", "b.md": "# B\n\none\n"}) as base:
        first = edit(base, "a.md", "one", "ONE")
        second = edit(base, "b.md", "one", "ONE")
        edit(base, "b.md", "ONE", "one")
        receipt = undo(base.collection, [first, second])
        assert (receipt.undone, receipt.written) == ((first,), (A,))
        message = base.repo.git("log", "-1", "--format=%B")
        assert f"Undoes: {first}" in message
        assert second not in message
        again = undo(base.collection, [second])
        assert (again.commit, again.undone, again.written) == ("", (), ())


def test_one_page_is_taken_back_though_the_text_of_another_is_not_kept(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, {"a.md": "# A\n\none\n", "b.md": "# B\n"}) as base:
        old, other = (revision_of(base.texts()[name]) for name in ("a.md", "b.md"))
        edit(base, "a.md", "one", "ONE")
        writes_made = [{A: (old, revision_of(base.texts()["a.md"]))}, {Address("b.md"): ("0" * 40, other)}]
        with pytest.raises(NotFoundError, match=r"b\.md at that time is not kept any more"):
            undo(base.collection, [], recorded=RecordedForUndo(loose=writes_made))
        undo(base.collection, [], pages=["a.md"], recorded=RecordedForUndo(loose=writes_made))
        assert base.texts() == {"a.md": b"# A\n\none\n", "b.md": b"# B\n"}


def test_a_place_that_was_changed_since_is_a_conflict_with_its_sides(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, {"a.md": "# A\n\none\n\ntwo\n", "b.md": "# B\n\nbeta\n"}) as base:
        with base.store.transaction("Both") as transaction:
            transaction.put(A, b"# A\n\nONE\n\ntwo\n")
            transaction.put(Address("b.md"), b"# B\n\nBETA\n")
        base.index.sync()
        both = head(base)
        edit(base, "a.md", "ONE", "One")
        before = base.served()
        with pytest.raises(UndoConflictError, match=r"a\.md:3") as caught:
            undo(base.collection, [both])
        assert caught.value.changes == ("a.md:3", "  undone: ONE", "  without it: one", "  now: One")
        assert base.served() == before
        undo(base.collection, [both], pages=["b"])
        assert base.texts() == {"a.md": b"# A\n\nOne\n\ntwo\n", "b.md": b"# B\n\nbeta\n"}
        with pytest.raises(NotFoundError, match=r"did not change c\.md"):
            undo(base.collection, [both], pages=["c.md"])


def test_a_conflict_that_is_none_of_lines_says_what_became_of_the_page(tmp_path: Path) -> None:
    page = Address("n.md")
    with ProposedBase(tmp_path, {"a.md": "# A\n\none\n"}) as base:
        writes.create(base.collection, page, b"# N\n\none\n")
        made = head(base)
        changed = edit(base, "n.md", "one", "ONE")
        for commit, later, sentence in (
            (made, None, "n.md was changed since it was created."),
            (changed, lambda: writes.delete(base.collection, page), "n.md was deleted since."),
            ("HEAD", lambda: writes.create(base.collection, page, b"# Other\n"), "n.md was created anew since."),
        ):
            named = head(base) if commit == "HEAD" else commit
            if later:
                later()
            with pytest.raises(UndoConflictError) as caught:
                undo(base.collection, [named])
            assert str(caught.value) == f"{sentence} Nothing was written."


def test_pages_that_were_made_deleted_and_moved(tmp_path: Path) -> None:
    pages: dict[str, str | bytes] = {"a.md": "# A\n\n[b](b.md)\n", "b.md": "# B\n\n[a](a.md)\n", "c.md": "# C\n"}
    with ProposedBase(tmp_path, pages) as base:
        start = base.texts()
        commits: list[str] = []
        for write in (
            lambda: writes.create(base.collection, Address("new.md"), b"# New\n\n[c](c.md)\n"),
            lambda: writes.rename(base.collection, Address("b.md"), Address("sub/b.md")),
            lambda: writes.rename(base.collection, Address("sub/b.md"), Address("deep/er/b.md")),
            lambda: writes.delete(base.collection, Address("c.md")),
        ):
            write()
            commits.append(head(base))
        writes.append(base.collection, A, "See [[b]] and [it](deep/er/b.md)\n")
        writes.append(base.collection, Address("deep/er/b.md"), "More [a](../../a.md)\n")
        undo(base.collection, commits)
        assert base.texts() == start | {
            "a.md": b"# A\n\n[b](b.md)\n\nSee [[b]] and [it](b.md)\n",
            "b.md": b"# B\n\n[a](a.md)\n\nMore [a](a.md)\n",
        }


def test_a_file_that_others_moved_since_stays_there(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, {"a.md": "# A\n\none\n"}) as base:
        edit(base, "a.md", "one", "ONE")
        writes.rename(base.collection, A, Address("b.md"))
        moved = head(base)
        writes.rename(base.collection, Address("b.md"), Address("c.md"))
        undo(base.collection, [moved])
        assert list(base.texts()) == ["c.md"]
        writes.rename(base.collection, Address("c.md"), Address("d.md"))
        moved = head(base)
        writes.create(base.collection, Address("c.md"), b"# C\n")
        with pytest.raises(AlreadyExistsError):
            undo(base.collection, [moved])


def test_what_cannot_be_undone_is_said(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, {"a.md": "# A\n"}) as base:
        for commit in ("0" * 40, "HEAD", "--all", head(base)[:6], ""):
            with pytest.raises((NotFoundError, InvalidInputError)):
                undo(base.collection, [commit])
        with pytest.raises(InvalidInputError, match="Which commit"):
            undo(base.collection, [])
        base.repo.git("checkout", "-q", "-b", "side")
        edit(base, "a.md", "# A", "# AA")
        base.repo.git("checkout", "-q", "-")
        base.repo.git("merge", "-q", "--no-ff", "-m", "Bring in", "side")
        with pytest.raises(InvalidInputError, match="is a merge"):
            undo(base.collection, [head(base)])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.sampled(6)
def test_a_session_of_writes_over_many_pages_among_others(tmp_path: Path, amount: Amount, seed: int) -> None:
    """The same writes of others in a second base, without the session, leave the same bytes."""
    chance = random.Random(seed)
    many = amount(1, 5)
    names = [f"p{number:02}.md" for number in range(5 * many)]
    files: dict[str, str | bytes] = {
        name: "".join([f"# {name}\n\n", *(f"line {line} of {name}\n" for line in range(LINES))]) for name in names
    }
    free = {name: list(range(LINES)) for name in names}
    for lines in free.values():
        chance.shuffle(lines)
    order = ["own"] * (8 * many) + ["other"] * (12 * many)
    chance.shuffle(order)
    first_pages = iter(names)
    with ProposedBase(tmp_path / "first", files) as first, ProposedBase(tmp_path / "second", files) as second:
        own: list[str] = []
        for number, who in enumerate(order):
            name = next(first_pages, "") if who == "own" else ""
            name = name or chance.choice([other_name for other_name in names if free[other_name]])
            line = free[name].pop()
            old, new = f"line {line} of {name}\n", f"line {line} by {who} {number}\n"
            # A line that is cut never follows one behind which others insert: the order would be a guess.
            kind = chance.choice(["change", {0: "cut", 1: "insert"}.get(line % 4, "change")])
            text = {"change": new, "insert": old + new, "cut": ""}[kind]
            edit(first, name, old, text)
            if who == "own":
                own.append(head(first))
            else:
                edit(second, name, old, text)
        assert first.texts() != second.texts()
        receipt = undo(first.collection, own)
        assert len(receipt.undone) == 8 * many
        assert len(receipt.written) == 5 * many
        assert first.texts() == second.texts()
        assert first.repo.git("rev-list", "--count", "HEAD").strip() == str(20 * many + 2)


def test_a_folder_without_git_says_so(tmp_path: Path) -> None:
    from commonplace.index import open_index  # noqa: PLC0415 - used here only
    from commonplace.services.collections import Collection  # noqa: PLC0415
    from commonplace.store import open_store  # noqa: PLC0415

    (tmp_path / "plain").mkdir()
    store = open_store(tmp_path / "plain", commit="manual", state_dir=tmp_path / "state")
    index = open_index(store, tmp_path / "cache")
    with pytest.raises(KnowledgeError, match="Git"):
        undo(Collection("plain", store, index), ["1234567"])
    index.close()
