"""The rule for overwriting: who has seen what, and what a conflict tells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.errors import ConflictError
from commonplace.domain.revisions import revision_of
from commonplace.services.collections import Collection
from commonplace.services.sessions import SessionMemory
from commonplace.services.writes.overwrites import (
    SeenEvidence,
    WriteRequest,
    changes_since,
    evidence_of,
    note_write,
    takes_away,
    unseen_conflict,
)
from indexed import Indexed
from support import new_repo

A = Address("a.md")
OLD, NOW = b"one\ntwo\n", b"one\nthree\n"


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    place = tmp_path_factory.mktemp("overwrites")
    new_repo(place / "base", {"a.md": OLD}).commit(**{"a.md": NOW})
    with Indexed(place) as base:
        yield base.collection


def shown(raw: bytes, *, whole: bool = True) -> SessionMemory:
    session = SessionMemory()
    session.show("base", "a.md", revision_of(raw), raw, is_whole=whole)
    return session


def receipt_only() -> SessionMemory:
    session = SessionMemory()
    session.receive_unseen("base", "a.md", revision_of(NOW))
    return session


@pytest.mark.parametrize(
    ("intent", "evidence"),
    [
        (WriteRequest(), SeenEvidence.UNSEEN),
        (WriteRequest(session=SessionMemory()), SeenEvidence.UNSEEN),
        (WriteRequest(expected=revision_of(NOW)), SeenEvidence.PASSED),
        (WriteRequest(expected=revision_of(NOW)[:7]), SeenEvidence.PASSED),
        (WriteRequest(session=shown(NOW)), SeenEvidence.SHOWN),
        (WriteRequest(session=shown(NOW, whole=False)), SeenEvidence.PASSED),
        (WriteRequest(session=shown(OLD)), SeenEvidence.UNSEEN),
        (WriteRequest(expected=revision_of(NOW), session=receipt_only()), SeenEvidence.UNSEEN),
        (WriteRequest(pinned=revision_of(NOW)), SeenEvidence.UNSEEN),
    ],
)
def test_a_writer_has_seen_what_it_was_shown_or_can_name(
    collection: Collection, intent: WriteRequest, evidence: SeenEvidence
) -> None:
    assert evidence_of(collection, A, NOW, intent) is evidence


@pytest.mark.parametrize("field", ["expected", "pinned"])
def test_another_revision_than_the_named_one_is_a_conflict(collection: Collection, field: str) -> None:
    with pytest.raises(ConflictError):
        evidence_of(collection, A, NOW, replace(WriteRequest(), **{field: revision_of(OLD)}))


@pytest.mark.parametrize("session", [None, shown(OLD), SessionMemory()])
def test_a_conflict_lists_the_lines_that_changed_from_the_session_or_the_history(
    collection: Collection, session: SessionMemory | None
) -> None:
    with pytest.raises(ConflictError) as error:
        evidence_of(collection, A, NOW, WriteRequest(expected=revision_of(OLD)[:8].upper(), session=session))
    assert any("three" in line for line in error.value.changes)


def test_changes_of_a_revision_that_nobody_knows_are_not_invented(collection: Collection) -> None:
    assert changes_since(collection, A, NOW, "f" * 40) == ()
    assert changes_since(collection, A, NOW, revision_of(NOW)) == ()
    assert changes_since(collection, A, NOW, revision_of(OLD)) != ()


@pytest.mark.parametrize(
    ("session", "says"),
    [
        (None, "by its revision only"),
        (SessionMemory(), "was not read whole"),
        (shown(OLD), "since this session read it"),
    ],
)
def test_a_refusal_says_why_the_text_counts_as_unseen(
    collection: Collection, session: SessionMemory | None, says: str
) -> None:
    error = unseen_conflict(collection, A, NOW, WriteRequest(session=session))
    assert says in str(error)
    assert error.context["current_revision"] == revision_of(NOW)
    assert bool(error.changes) is ("since" in says)


def test_what_a_session_wrote_it_has_seen_as_far_as_it_saw_the_text_before(collection: Collection) -> None:
    for before, after in {
        SeenEvidence.SHOWN: SeenEvidence.SHOWN,
        SeenEvidence.PASSED: SeenEvidence.PASSED,
        SeenEvidence.UNSEEN: SeenEvidence.UNSEEN,
    }.items():
        intent = WriteRequest(session=SessionMemory())
        note_write(collection, A, NOW, intent, before)
        assert evidence_of(collection, A, NOW, intent) is after
    note_write(collection, A, None, intent)
    assert evidence_of(collection, A, NOW, intent) is SeenEvidence.UNSEEN
    note_write(collection, A, NOW, WriteRequest())


@each_case(
    ("before", "after", "lost"),
    [
        (b"", b"x", False),
        (b"a\nb\n", b"a\nnew\nb\n", False),
        (b"a\nb\n", b"a\r\nb", False),
        (b"a\nb\n", b"b\na\n", True),
        (b"a\na\n", b"a\n", True),
        (b"a", b"", True),
        (b"a\xe2\x80\xa8b\n", b"a\n", True),
    ],
)
def test_text_is_taken_away_when_a_line_is_missing_in_order(before: bytes, after: bytes, lost: bool) -> None:
    assert takes_away(before, after) is lost
