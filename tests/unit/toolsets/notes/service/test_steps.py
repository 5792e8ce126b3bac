"""Several writes as one: all of them or none, and none over text that its writer has not seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    TooLargeError,
)
from commonplace.domain.revisions import revision_of
from commonplace.services.collections import Collection
from commonplace.services.writes.documents import MAX_DOCUMENT_BYTES
from commonplace.services.writes.overwrites import WriteRequest
from commonplace.toolsets.notes.rules.page_edits import PageChange
from commonplace.toolsets.notes.service.steps import (
    DeleteStep,
    EditStep,
    MoveStep,
    Step,
    StepsReceipt,
    WriteStep,
    default_message,
    run_steps,
)
from indexed import Indexed
from support import GitRepo, new_repo

A, B, NEW = Address("a.md"), Address("b.md"), Address("in/new.md")
FILES = {"a.md": "# A\n\nSee [[b]].\n", "b.md": "# B\n\nOne.\n"}


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    return new_repo(tmp_path / "base", FILES)


@pytest.fixture
def base(repo: GitRepo, tmp_path: Path) -> Iterator[Indexed]:
    del repo
    with Indexed(tmp_path) as made:
        yield made


@pytest.fixture
def collection(base: Indexed) -> Collection:
    return replace(base.collection, store=base.store.committing())


def run(collection: Collection, *steps: Step, message: str = "") -> StepsReceipt:
    return run_steps(collection, steps, WriteRequest(message=message, unseen="refuse"))


def revision(path: str) -> str:
    return revision_of(FILES[path].encode())


def moved(old: str, new: str) -> MoveStep:
    return MoveStep(old, new, ((Address(old), Address(new)),))


def appended(text: str) -> PageChange:
    return PageChange(kind="append", text=text)


def test_all_steps_are_one_commit_and_are_found_at_once(collection: Collection, base: Indexed, repo: GitRepo) -> None:
    receipt = run(
        collection,
        WriteStep(NEW, "# New\n\nwalrus\n"),
        EditStep(A, (appended("More.\n"),)),
        DeleteStep(B, revision("b.md")),
        message="Three",
    )
    assert receipt.commit == repo.git("rev-parse", "HEAD")
    assert repo.git("log", "--format=%s").splitlines() == ["Three", "Begin"]
    assert repo.git("status", "--porcelain") == ""
    assert [(element.before is None, element.after is None) for element in receipt.results] == [
        (True, False),
        (False, False),
        (False, True),
    ]
    assert [element.revision for element in receipt.results][2] == ""
    assert base.found("walrus") == ["in/new.md"]


def test_a_step_that_fails_undoes_those_before_and_is_named(
    collection: Collection, base: Indexed, repo: GitRepo
) -> None:
    with pytest.raises(NotFoundError, match=r"^Step 2 of 2") as failed:
        run(collection, WriteStep(NEW, "x\n"), EditStep(Address("none.md"), (appended("x"),)))
    assert failed.value.context["step"] == 2
    assert not (base.folder / "in").exists()
    assert repo.git("rev-list", "--count", "HEAD") == "1"
    with pytest.raises(NotFoundError) as alone:
        run(collection, DeleteStep(Address("none.md")))
    assert not str(alone.value).startswith("Step")


def test_a_page_is_replaced_or_deleted_only_by_who_has_seen_it(collection: Collection, base: Indexed) -> None:
    for step in (WriteStep(A, "blind\n"), DeleteStep(A), WriteStep(A, "blind\n", "1" * 40)):
        with pytest.raises(ConflictError):
            run(collection, step)
    assert (base.folder / "a.md").read_text() == FILES["a.md"]
    assert not run(collection, WriteStep(A, "seen\n", revision("a.md"))).results[0].unchanged
    assert (base.folder / "a.md").read_text() == "seen\n"


def test_the_text_that_a_page_has_is_no_change_and_no_commit(collection: Collection, repo: GitRepo) -> None:
    receipt = run(collection, WriteStep(A, FILES["a.md"]))
    assert receipt.results[0].unchanged
    assert receipt.commit == ""
    assert repo.git("rev-list", "--count", "HEAD") == "1"


def test_an_appended_text_that_is_there_already_is_appended_only_on_request(
    collection: Collection, base: Indexed
) -> None:
    run(collection, EditStep(B, (appended("Two.\n"),)))
    again = run(collection, EditStep(B, (appended("Two.\n"),)))
    assert again.results[0].unchanged
    run(collection, EditStep(B, (appended("Two.\n"),), again=True))
    assert (base.folder / "b.md").read_text().count("Two.") == 2


def test_a_move_rewrites_links_and_a_later_step_writes_under_the_new_path(
    collection: Collection, base: Indexed, repo: GitRepo
) -> None:
    receipt = run(collection, moved("b.md", "in/c.md"), EditStep(Address("in/c.md"), (appended("Two.\n"),)))
    assert receipt.results[0].relinked == (A,)
    assert (base.folder / "in/c.md").read_text() == "# B\n\nOne.\n\nTwo.\n"
    assert "[[in/c]]" in (base.folder / "a.md").read_text() or "[[c]]" in (base.folder / "a.md").read_text()
    assert [record.address for record in base.index.orphans()] == [A]
    assert repo.git("rev-list", "--count", "HEAD") == "2"


def test_what_an_earlier_step_wrote_is_not_moved(collection: Collection) -> None:
    with pytest.raises(InvalidInputError, match=r"earlier step writes b\.md") as refused:
        run(collection, EditStep(B, (appended("x\n"),)), moved("b.md", "c.md"))
    assert "Move first" in refused.value.hint


def test_a_page_beside_its_twin_and_one_that_is_too_large_are_refused(collection: Collection) -> None:
    with pytest.raises(AlreadyExistsError, match="in case or Unicode form"):
        run(collection, WriteStep(Address("A.md"), "x\n"))
    with pytest.raises(TooLargeError):
        run(collection, WriteStep(NEW, "x" * (MAX_DOCUMENT_BYTES + 1)))


@each_case(
    ("steps", "message"),
    [
        ((WriteStep(A, ""),), "Write: a"),
        ((EditStep(A, ()),), "Update: a"),
        ((DeleteStep(A),), "Delete: a"),
        ((moved("a.md", "b.md"),), "Rename: a.md -> b.md"),
        ((DeleteStep(A), DeleteStep(B)), "Change: 2 steps"),
    ],
)
def test_a_commit_without_a_message_says_what_was_done(steps: tuple[Step, ...], message: str) -> None:
    assert default_message(steps) == message


def test_a_page_deleted_by_an_earlier_step_is_not_there_for_a_later_one(collection: Collection) -> None:
    with pytest.raises(KnowledgeError):
        run(collection, DeleteStep(B, revision("b.md")), EditStep(B, (appended("x"),)))
    receipt = run(collection, DeleteStep(B, revision("b.md")), WriteStep(B, "again\n"))
    assert receipt.results[1].before is None
