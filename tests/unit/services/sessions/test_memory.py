"""A session's record of the documents that it was shown."""

from __future__ import annotations

from commonplace.services import sessions
from commonplace.services.sessions import SessionMemories, SessionMemory, ShownDocument

OLD, NEW = "1" * 40, "2" * 40


def test_each_session_and_each_scope_has_its_own_memory() -> None:
    memories = SessionMemories()
    memories.of("a").show("kb", "n.md", OLD, b"text\n")
    assert _revision(memories.of("a"), "n.md") == OLD
    assert memories.of("a").seen("other", "n.md") is None
    assert memories.of("b").seen("kb", "n.md") is None
    memories.of("a").forget("kb", "n.md")
    assert memories.of("a").seen("kb", "n.md") is None


def test_parts_of_one_revision_that_cover_a_text_show_it_whole() -> None:
    session = SessionMemory()
    session.show_part("kb", "n.md", OLD, b"0123456789", (0, 4, 10))
    session.show_part("kb", "n.md", OLD, b"0123456789", (6, 10, 10))
    assert session.seen("kb", "n.md") is None, "the middle was not shown"
    session.show_part("kb", "n.md", OLD, b"0123456789", (4, 8, 10))
    session.show_part("kb", "n.md", NEW, b"0123456789", (8, 10, 10))
    assert session.seen("kb", "n.md") is None, "its end was shown of another revision"
    for start in (0, 5):
        session.show_part("kb", "n.md", NEW, b"0123456789", (start, start + 5, 10))
    assert _revision(session, "n.md") == NEW


def test_an_older_revision_shown_in_part_does_not_hide_the_one_shown_whole() -> None:
    session = SessionMemory()
    session.show("kb", "n.md", NEW, b"0123456789")
    session.show_part("kb", "n.md", OLD, b"0123456789", (0, 4, 10))
    assert _revision(session, "n.md") == NEW


def test_the_lines_that_changed_are_told_without_keeping_the_text() -> None:
    session = SessionMemory()
    session.show("kb", "n.md", OLD, b"one\ntwo\nthree\nfour\n")
    seen = session.seen("kb", "n.md")
    assert seen is not None
    assert seen.changes(b"one\nthree\nfour\nfive\n") == ("line 2 removed", "line 4 added: five")
    assert seen.changes(b"one\ntwo\nthree\nfour\n") == ()
    assert len(seen.changes(b"".join(b"%d\n" % number for number in range(100)))) == 20


def test_the_oldest_documents_are_forgotten_first_and_the_marks_of_lines_before_them() -> None:
    session = SessionMemory()
    for number in range(sessions.MAX_DOCUMENTS + 1):
        session.show("kb", f"{number}.md", OLD, b"line\n" * 100)
    assert session.seen("kb", "0.md") is None
    assert _of(session, "1.md").marks is None
    assert _of(session, "1.md").changes(b"new\n") == ()
    marked = [n for n in range(1, sessions.MAX_DOCUMENTS + 1) if _of(session, f"{n}.md").marks is not None]
    assert len(marked) * 100 == sessions.MAX_MARKED
    assert marked[-1] == sessions.MAX_DOCUMENTS


def test_a_revision_from_a_receipt_is_unseen_until_its_document_is_shown() -> None:
    session = SessionMemory()
    session.receive_unseen("kb", "n.md", NEW)
    assert session.is_unseen("kb", "n.md", NEW)
    assert not session.is_unseen("kb", "n.md", OLD)
    session.show("kb", "n.md", NEW, b"text\n")
    assert not session.is_unseen("kb", "n.md", NEW)
    for number in range(sessions.MAX_DOCUMENTS + 1):
        session.receive_unseen("kb", f"{number}.md", OLD)
    assert not session.is_unseen("kb", "0.md", OLD), "the oldest are forgotten; their text is kept when it is replaced"
    assert session.is_unseen("kb", "1.md", OLD)


def test_the_session_that_called_longest_ago_is_forgotten_first() -> None:
    memories = SessionMemories()
    for number in range(sessions.MAX_SESSIONS):
        memories.of(str(number)).show("kb", "n.md", OLD, b"text\n")
    memories.of("0")
    memories.of("one more")
    assert memories.of("0").seen("kb", "n.md") is not None
    assert memories.of("1").seen("kb", "n.md") is None


def _of(session: SessionMemory, name: str) -> ShownDocument:
    seen = session.seen("kb", name)
    assert seen is not None
    return seen


def _revision(session: SessionMemory, name: str) -> str:
    return _of(session, name).revision
