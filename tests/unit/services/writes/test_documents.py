"""Writes of documents: what is acknowledged is on disk and in the index, and what is refused changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace as changed
from pathlib import Path

import pytest

from committing import committing
from commonplace.domain.addresses import Address
from commonplace.domain.documents import Document
from commonplace.domain.errors import (
    ALREADY_WRITTEN,
    AlreadyExistsError,
    ConflictError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    TooLargeError,
)
from commonplace.domain.revisions import revision_of
from commonplace.services import writes
from commonplace.services.collections import Collection
from commonplace.services.extensions import Extensions
from commonplace.services.sessions import SessionMemory
from commonplace.services.writes import WriteReceipt, WriteRequest, documents
from indexed import Indexed
from support import new_repo

A = Address("a.md")
TEXT = b"---\nid: a\n---\n# A\n\nOne.\r\n\n## Part\n\nTwo 2.\n"


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Indexed]:
    with Indexed(tmp_path, {"a.md": TEXT}) as indexed:
        yield indexed


def stored(base: Indexed, path: str = "a.md") -> bytes:
    return (base.folder / path).read_bytes()


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", "# 文 🍵\r\n".encode()])
def test_a_new_document_is_on_disk_and_in_the_index_byte_for_byte(base: Indexed, content: bytes) -> None:
    receipt = writes.create(base.collection, Address("in/new.md"), content)
    assert stored(base, "in/new.md") == content
    assert (receipt.created, receipt.revision, receipt.commit) == (True, revision_of(content), "")
    record = base.index.record(Address("in/new.md"))
    assert record is not None
    assert record.revision == receipt.revision


@pytest.mark.parametrize("path", ["a.md", "A.md"])
def test_nothing_is_created_over_another_document_or_beside_its_twin(base: Indexed, path: str) -> None:
    with pytest.raises(AlreadyExistsError, match="'a'") as error:
        writes.create(base.collection, Address(path), b"other")
    assert error.value.hint != ALREADY_WRITTEN
    with pytest.raises(AlreadyExistsError) as error:
        writes.create(base.collection, Address(path), TEXT)
    assert error.value.hint == ALREADY_WRITTEN
    assert [path.name for path in base.folder.iterdir()] == ["a.md"]


def test_a_document_may_have_the_largest_size_and_no_more(base: Indexed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_DOCUMENT_BYTES", 10)
    writes.create(base.collection, Address("b.md"), b"x" * 10)
    for call in (
        lambda: writes.create(base.collection, Address("c.md"), b"x" * 11),
        lambda: writes.replace(base.collection, A, b"x" * 11),
        lambda: writes.append(base.collection, A, "more"),
    ):
        with pytest.raises(TooLargeError, match="the limit is 10"):
            call()
    assert stored(base) == TEXT


def test_of_several_new_documents_those_that_can_be_are_written_in_one_commit(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", {"a.md": "# A\n"})
    with Indexed(tmp_path) as base:
        collection = changed(base.collection, store=committing(base.folder))
        drafts = [
            (Address("b.md"), b"# B\n"),
            (A, b"# Other\n"),
            (Address("B.md"), b"# Twin\n"),
            (Address("c.md"), b"# C\n"),
        ]
        receipts = writes.create_all(collection, drafts)
        kinds = [type(receipt) for receipt in receipts]
        assert kinds[:2] + kinds[3:] == [WriteReceipt, AlreadyExistsError, WriteReceipt]
        assert len({receipt.commit for receipt in receipts if isinstance(receipt, WriteReceipt)}) == 1
        assert repo.git("log", "--format=%s").splitlines() == ["Create: 4 documents", "Begin"]
        assert writes.create_all(collection, []) == []
    assert repo.git("status", "--porcelain", "a.md", "b.md", "c.md") == ""


def test_a_change_names_the_bytes_that_it_replaces_and_leaves_the_others(base: Indexed) -> None:
    writes.replace_once(base.collection, A, "One.", "Eins.")
    writes.edit_section(base.collection, A, "A > Part", "Zwei.")
    assert stored(base) == TEXT.replace(b"One.", b"Eins.").replace(b"Two 2.", b"Zwei.")
    writes.append(base.collection, A, "End.")
    assert stored(base).endswith(b"\n\nEnd.\n")
    with pytest.raises(InvalidInputError):
        writes.replace_once(base.collection, A, "not there", "x")


def test_a_failing_change_and_a_refusing_check_write_nothing(base: Indexed) -> None:
    def refuse(_: Document) -> None:
        raise InvalidInputError("Not so.")

    with pytest.raises(InvalidInputError, match=r"Not so\."):
        writes.edit(base.collection, A, lambda _: b"new", accept=refuse)
    with pytest.raises(InvalidInputError):
        writes.delete(base.collection, A, accept=refuse)
    with pytest.raises(NotFoundError):
        writes.edit_section(base.collection, A, "None", "x")
    assert stored(base) == TEXT


def test_a_missing_document_names_the_nearest(base: Indexed) -> None:
    for call in (
        lambda: writes.append(base.collection, Address("aa.md"), "x"),
        lambda: writes.delete(base.collection, Address("aa.md")),
    ):
        with pytest.raises(NotFoundError) as error:
            call()
        assert error.value.context["nearest"] == ["a"]
    assert not (base.folder / "aa.md").exists()


def test_a_write_at_another_revision_is_a_conflict_unless_it_changes_nothing(base: Indexed) -> None:
    old = WriteRequest(expected=revision_of(b"before"))
    for call in (
        lambda: writes.replace(base.collection, A, b"new", old),
        lambda: writes.delete(base.collection, A, old),
    ):
        with pytest.raises(ConflictError) as error:
            call()
        assert error.value.context["current_revision"] == revision_of(TEXT)
    assert writes.replace(base.collection, A, TEXT, old).unchanged
    assert not writes.replace(
        base.collection, A, b"new", WriteRequest(expected=revision_of(TEXT)[:7].upper())
    ).unchanged


def test_a_text_that_the_writer_has_not_seen_is_kept_or_the_write_is_refused(base: Indexed) -> None:
    with pytest.raises(ConflictError):
        writes.replace(base.collection, A, b"new\n", WriteRequest(unseen="refuse"))
    with pytest.raises(ConflictError):
        writes.delete(base.collection, A, WriteRequest(unseen="refuse"))
    receipt = writes.replace(base.collection, A, b"new\n")
    assert receipt.retained is not None
    assert receipt.retained.revision == revision_of(TEXT)
    seen = WriteRequest(session=SessionMemory(), unseen="refuse")
    assert seen.session is not None
    seen.session.show("base", "a.md", revision_of(b"new\n"), b"new\n")
    assert writes.replace(base.collection, A, b"newer\n", seen).retained is None
    assert writes.replace(base.collection, A, b"newest\n", seen).retained is None, "its own write is seen"
    assert writes.delete(base.collection, A, seen).retained is not None


def test_files_of_the_product_are_put_as_one_step_and_their_old_bytes_stay(base: Indexed) -> None:
    documents.put_all(base.collection, [])
    documents.put_all(base.collection, [(A, b"mine"), (Address("log.md"), b"log")])
    assert (stored(base), stored(base, "log.md")) == (b"mine", b"log")
    trash = base.store.trash
    assert trash is not None
    assert [item.revision for item in trash.items()] == [revision_of(TEXT)]


def test_a_hook_before_indexing_sees_every_written_document_and_no_deleted_one(base: Indexed) -> None:
    ids: list[object] = []
    extensions = Extensions(hooks={"before_index": (lambda entry, *_: ids.append(entry["id"]),)})
    collection: Collection = changed(base.collection, extensions=extensions)
    writes.create_all(collection, [(Address("b.md"), b"# B\n"), (Address("c.md"), b"# C\n")])
    writes.delete(collection, Address("b.md"))
    assert ids == ["b", "c"]


def test_the_error_of_the_store_reaches_the_writer(base: Indexed) -> None:
    with pytest.raises(KnowledgeError):
        writes.create(base.collection, Address(f"{'x' * 300}.md"), b"x")
    assert [path.name for path in base.folder.iterdir()] == ["a.md"]
